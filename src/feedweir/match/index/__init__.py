"""From queries to the arrays of an index."""
