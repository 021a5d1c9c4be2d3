"""Benchmarks: `python -m benchmarks NAME --json` is their one door."""
