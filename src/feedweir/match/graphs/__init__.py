"""Parts of graph patterns, all found together in the triples of a batch."""
