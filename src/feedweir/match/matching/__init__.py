"""A batch of items against indexes: what is true of each item, the queries that this finds, answers in parts."""
