"""The pages that people read in a browser."""
