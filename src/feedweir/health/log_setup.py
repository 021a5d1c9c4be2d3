"""Where log lines go and which are written: the same in every process of an installation."""

from __future__ import annotations

import logging
from functools import lru_cache

from feedweir.text.redact import without_secrets

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class SafeFormatter(logging.Formatter):
    """Log lines in which addresses hold no secrets, whoever wrote them."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def log_to_stderr(level: str) -> None:
    """Write log lines to standard error: ours from a level on, those of libraries from `info` on."""
    logging.getLogger("feedweir").setLevel(level.upper())
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter(_FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


@lru_cache(maxsize=1)
def log_in_worker(level: str) -> None:
    """The same in a process that runs tasks: once, when its first task passes the level. Empty leaves it alone."""
    if level:
        log_to_stderr(level)
