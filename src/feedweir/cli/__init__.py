"""The command line: `feedweir COMMAND`."""

from feedweir.cli.main import main

__all__ = ["main"]
