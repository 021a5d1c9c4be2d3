"""Decisions about a request's headers: representation, encoding, whether the content has changed. All pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def weights(header: str) -> dict[str, float]:
    """`text/html, */*;q=0.1` as a mapping."""
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
                quality = float(value)
            except ValueError:
                return 0.0
            # Also for `nan`, which is not greater than zero.
            return min(quality, 1.0) if quality > 0.0 else 0.0
    return 1.0


def preferred(accept: str, offered: Sequence[str]) -> str:
    """The offered media type that the client prefers; the first of equals, and the first if it accepts none.

    A client that accepts nothing we offer is better served with a page than with an error.
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
    """Whether the client has this content. Tags precede dates (RFC 9110, 13.1.3), which are in whole seconds."""
    if if_none_match is not None:
        tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
        return "*" in tags or not tags.isdisjoint(etags)
    since = http_date(if_modified_since)
    return since is not None and modified is not None and modified.replace(microsecond=0) <= since


def http_date(text: str | None) -> datetime | None:
    """The time in a header; None if there is none or it is invalid."""
    try:
        time = parsedate_to_datetime(text) if text else None
    except (ValueError, OverflowError):
        return None
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def settled(modified: datetime | None, now: datetime) -> datetime | None:
    """The time for Last-Modified; None until its second is over.

    Another change in the same second would have the same date, and clients that compare dates would miss it.
    """
    if modified is None or modified.replace(microsecond=0) >= now.replace(microsecond=0):
        return None
    return modified


def is_same_site(origin: str | None, host: str | None, fetch_site: str | None) -> bool:
    """Whether a request comes from our own pages or from a program, not from a page of another site."""
    if fetch_site is not None and fetch_site not in ("same-origin", "none"):
        return False
    return origin is None or origin.partition("://")[2] == host
