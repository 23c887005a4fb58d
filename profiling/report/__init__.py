"""The same facts as text and as JSON."""
