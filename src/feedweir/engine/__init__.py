"""The rooms composed in one process: statements, batches, previews, explanations."""
