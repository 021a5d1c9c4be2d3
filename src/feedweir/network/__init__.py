"""A planned network of sites that feed each other."""
