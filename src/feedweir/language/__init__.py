"""Text to checked tree and back: RoSeS statements, search boxes, XSCL, graph patterns."""
