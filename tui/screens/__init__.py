"""Screens: they put widgets together, route their messages and run the keys' actions."""
