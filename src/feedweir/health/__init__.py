"""Loops that run beside the pipeline, and what stands still."""
