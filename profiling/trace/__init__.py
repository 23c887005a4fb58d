"""File to columns: the only package that knows the field names of a trace file."""
