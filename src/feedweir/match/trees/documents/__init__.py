"""XML documents as arrays: nodes, label paths, the values of nodes."""
