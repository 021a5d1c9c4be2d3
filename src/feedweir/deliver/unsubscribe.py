"""Links that end one subscription and no other, without a login: one-click, as mail programs ask for."""

from __future__ import annotations

import hashlib
import hmac

_SIGNATURE_LENGTH = 32


def unsubscribe_token(secret: str, subscription: int) -> str:
    """The token of a subscription's link; nobody without the secret can make one."""
    return f"{subscription}-{_signature(secret, subscription)}"


def subscription_of(secret: str, token: str) -> int | None:
    """The subscription that a token ends; None for a token that is not ours."""
    number, _, signature = token.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    expected = _signature(secret, int(number))
    given = signature.encode("utf-8", "replace")
    return int(number) if hmac.compare_digest(expected.encode(), given) else None


def _signature(secret: str, subscription: int) -> str:
    message = f"unsubscribe:{subscription}".encode()
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()[:_SIGNATURE_LENGTH]
