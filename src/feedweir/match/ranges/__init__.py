"""Numbers, times and texts between bounds: found by the nodes of segment trees, verified by their bounds."""
