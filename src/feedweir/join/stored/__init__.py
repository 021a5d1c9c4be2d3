"""Feeds with joins in files: compiled once, opened by every process, changed at the cost of the change."""
