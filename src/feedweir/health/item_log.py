"""The log of hand-overs: at debug, each line says what was handed over, with the ids by which to follow it.

`feedweir run --log-level debug` and `grep item=4294967297` show an item's way through every process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

_LOGGER = "feedweir.items"
_log = logging.getLogger(_LOGGER)


def is_followed() -> bool:
    """Whether hand-overs are logged: where putting a line together takes a loop, ask first."""
    return _log.isEnabledFor(logging.DEBUG)


def hand_over(event: str, **ids: object) -> None:
    """Log an event with its ids, as `event name=value …`; handlers find them in the record's `event` and `ids`."""
    if _log.isEnabledFor(logging.DEBUG):
        text = " ".join(f"{name}={_text(value)}" for name, value in ids.items() if value not in (None, ""))
        _log.debug("%s %s", event, text, extra={"event": event, "ids": ids})


def _text(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"' if " " in value else value
    if isinstance(value, Iterable):
        return ",".join(map(str, value))
    return str(value)
