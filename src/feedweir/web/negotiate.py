"""Decisions about a request's headers: which representation, which encoding, whether it is news. All pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def weights(header: str) -> dict[str, float]:
    """`text/html, */*;q=0.1` as a mapping; what cannot be read is left out."""
    found: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if name:
            found[name] = _quality(parameters)
    return found


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0


def preferred(accept: str, offered: Sequence[str]) -> str:
    """The offered media type that the client likes best; the first of equals, and the first if it likes none.

    A reader that accepts nothing we have is better served by a page than by a refusal.
    """
    liked = weights(accept)
    return max(offered, key=lambda media_type: _liking(media_type, liked)) if liked else offered[0]


def _liking(media_type: str, liked: dict[str, float]) -> float:
    for pattern in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        if pattern in liked:
            return liked[pattern]
    return 0.0


def takes_gzip(accept_encoding: str) -> bool:
    liked = weights(accept_encoding)
    return liked.get("gzip", liked.get("*", 0.0)) > 0.0


def is_unchanged(
    if_none_match: str | None, if_modified_since: str | None, etags: Sequence[str], modified: datetime | None
) -> bool:
    """Whether the client has it already. Tags outrank dates (RFC 9110, 13.1.3); dates count whole seconds."""
    if if_none_match is not None:
        tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
        return "*" in tags or not tags.isdisjoint(etags)
    since = http_date(if_modified_since)
    return since is not None and modified is not None and modified.replace(microsecond=0) <= since


def http_date(text: str | None) -> datetime | None:
    """The time that a header names; None for none and for nonsense."""
    try:
        time = parsedate_to_datetime(text) if text else None
    except (ValueError, OverflowError):
        return None
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def settled(modified: datetime | None, now: datetime) -> datetime | None:
    """The time as Last-Modified, or None while its second is not over.

    Another change within that second would carry the same date, and clients that compare dates would miss it.
    """
    if modified is None or modified.replace(microsecond=0) >= now.replace(microsecond=0):
        return None
    return modified


def is_same_site(origin: str | None, host: str | None, fetch_site: str | None) -> bool:
    """Whether a request that changes things comes from us or from a program, not from a stranger's page."""
    if fetch_site is not None and fetch_site not in ("same-origin", "none"):
        return False
    return origin is None or origin.partition("://")[2] == host
