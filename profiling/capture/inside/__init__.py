"""What runs in the user's process: standard library and torch only, loaded by file path."""
