"""Reads GPU kernel names: who made the kernel, what it computes, and how."""
