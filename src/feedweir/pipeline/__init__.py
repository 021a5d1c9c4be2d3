"""A batch, from landed documents to a published manifest: tasks, what was seen, compaction, retention, repair."""
