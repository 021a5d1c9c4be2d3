"""Compiled sets: on disk and in memory, in segments and versions that change."""
