"""What runs in the Python of the user's script, where torch is."""
