"""The HTTP door: feeds, pages, health and metrics."""
