"""One installation: its catalog, its logs and its engine, composed; everything a door needs, and no door."""
