"""Relations to meaning: summaries, and what follows from them."""
