"""Regular expressions as atoms."""
