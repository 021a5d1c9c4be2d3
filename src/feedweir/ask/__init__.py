"""Questions about feeds and items: previews, searches, matches, plans, and why an item is or is not in a feed."""
