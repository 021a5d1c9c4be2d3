"""Feedweir: standing queries over everything that is published."""

__version__ = "0.1.0"
