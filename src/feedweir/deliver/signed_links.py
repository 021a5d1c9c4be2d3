"""Signed links for one subscription, without a login: to unsubscribe with one click, or to see the log."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal

_SIGNATURE_LENGTH = 32


Purpose = Literal["unsubscribe", "log"]


def new_link_secret() -> str:
    """A secret that signs links; made once for an installation."""
    return secrets.token_urlsafe(32)


def unsubscribe_token(secret: str, subscription: int) -> str:
    """The token of the link that ends a subscription; nobody without the secret can make one."""
    return link_token(secret, subscription, "unsubscribe")


def link_token(secret: str, subscription: int, purpose: Purpose) -> str:
    return f"{subscription}-{_signature(secret, subscription, purpose)}"


def subscription_of(secret: str, token: str, purpose: Purpose = "unsubscribe") -> int | None:
    """The subscription that a token is for; None if we did not sign it for this purpose."""
    number, _, signature = token.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    expected = _signature(secret, int(number), purpose)
    given = signature.encode("utf-8", "replace")
    return int(number) if hmac.compare_digest(expected.encode(), given) else None


def _signature(secret: str, subscription: int, purpose: Purpose) -> str:
    message = f"{purpose}:{subscription}".encode()
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()[:_SIGNATURE_LENGTH]
