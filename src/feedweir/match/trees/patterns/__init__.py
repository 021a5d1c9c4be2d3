"""Tree patterns as arrays: shared steps, routes, atoms, groups."""
