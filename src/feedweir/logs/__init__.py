"""The logs of an installation: immutable files, written whole, checked when opened, read by every room above."""
