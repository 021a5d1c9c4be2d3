"""Hides the secrets in addresses before anyone sees them: user names, passwords, and keys in query strings.

Feeds that are somebody's own carry such secrets in their addresses; they are between us and the publisher. A parameter
is taken for a secret by its name: long values alone tell nothing, since many public addresses have them.
"""

from __future__ import annotations

import re

HIDDEN = "***"

_CREDENTIALS = re.compile(r"""(https?://)[^/?#\s'"<>]*@""", re.IGNORECASE)
_PARAMETER = re.compile(r"""([?&#](?:amp;)?)([^\s?&#=;'"<>]{1,64})=([^\s&#;'"<>]+)""")
_SECRET_NAME = re.compile(
    r"""(?:auth(?!or)|token|secret|passw|passphrase|pwd|signature|credential|hmac|jwt|session)"""
    r"""|(?:key|^sig|^pass|^sid|^code)$"""
)
_SEPARATORS = re.compile(r"%[0-9a-f]{2}|[^a-z0-9]")


def without_secrets(text: str) -> str:
    """An address, or a text with addresses in it, as others may see it."""
    if "@" in text:
        text = _CREDENTIALS.sub(r"\1", text)
    return _PARAMETER.sub(_shown, text) if "=" in text else text


def _shown(parameter: re.Match[str]) -> str:
    before, name, _ = parameter.groups()
    is_secret = _SECRET_NAME.search(_SEPARATORS.sub("", name.lower()))
    return f"{before}{name}={HIDDEN}" if is_secret else parameter[0]
