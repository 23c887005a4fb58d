"""One module a family of kernel names; each reads what its grammar states."""
