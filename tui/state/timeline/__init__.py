"""The time-line: lanes of slices over time, and what each cell of a window shows."""
