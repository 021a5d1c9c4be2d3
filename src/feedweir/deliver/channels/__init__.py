"""One file for each way to a reader."""
