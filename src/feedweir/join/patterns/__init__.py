"""Pattern joins: tree patterns of two documents that are joined by value, evaluated by templates."""
