"""What a predicate means for one item, in plain Python, and why an item did or did not match."""
