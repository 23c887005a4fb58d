"""What changed between two traces of one program: matching their kernels, and what that says."""
