"""What the screens show, as plain objects over numpy arrays: no Textual, no file."""
