"""The seam to the web: what a channel posts, and how an answer is judged. Whoever has sockets implements `Poster`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

from feedweir.errors import DeliveryError

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Post:
    """One request. No redirect is followed: a receiver that moved must be told to us."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` by lower-case name; `body` is only as much as a person would read."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Poster(Protocol):
    """Sends requests to addresses that it permits; raises DeliveryError when no answer came."""

    async def __call__(self, post: Post) -> Answer: ...


def check(answer: Answer, now: datetime) -> None:
    """Nothing for a success (any 2xx); else the DeliveryError that says whether to try again, and when."""
    if 200 <= answer.status < 300:
        return
    detail = " ".join(answer.body[:_EXCERPT].decode("utf-8", "replace").split())
    raise DeliveryError(
        f"the receiver answered HTTP {answer.status}" + (f": {detail}" if detail else ""),
        is_final=is_final(answer.status),
        is_gone=answer.status == 410,
        retry_after_s=retry_after_s(answer.headers.get("retry-after", ""), now),
        hint="give the address it moved to" if 300 <= answer.status < 400 else "",
    )


def is_final(status: int) -> bool:
    """Whether the same request can never succeed: refusals, but for those that ask for patience or for a login.

    A receiver whose keys or routes are being mended (401, 403, 404) is tried again for as long as any other failure.
    """
    return 300 <= status < 500 and status not in (401, 403, 404, 408, 409, 421, 423, 425, 429)


def retry_after_s(value: str, now: datetime) -> float | None:
    """A Retry-After header, in seconds from now."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
