"""Widgets: they draw state objects and post messages, and know neither files nor each other."""
