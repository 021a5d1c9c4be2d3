"""Characters that XML allows."""

from __future__ import annotations

import re

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal(text: str) -> str:
    """The text without characters that XML does not allow."""
    return _ILLEGAL.sub("", text)
