"""Items that belong together within a window."""
