"""Items that belong together within a window: inter-document joins by templates, and annotation joins."""
