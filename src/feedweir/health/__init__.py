"""Loops that run beside the pipeline, and the detection of stalled work."""
