"""Annotation joins and stories: items that are joined with the items of a window."""
