"""Text that every format can contain: legal characters, HTML as plain text, dates in the two usual formats."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime

import nh3

from feedweir.text.html import text_of
from feedweir.text.markup_bounds import is_too_complex
from feedweir.text.xml_characters import legal

# XML 1.0 has no way to write these, not even escaped; lone surrogates have no UTF-8 form either.
_BLOCK_END = re.compile(r"(?i)</(?:p|div|li|h[1-6]|tr|blockquote|figcaption|dd|dt|pre)>|<br\b[^<>]*+>")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")


def legal_values(values: Iterable[str]) -> list[str]:
    """The values that are not empty, without illegal characters."""
    return [value for value in map(legal, values) if value]


def plain_text(markup: str) -> str:
    """The visible text of the HTML, as one line."""
    spaced = _BLOCK_END.sub(lambda match: match[0] + " ", legal(markup))
    if is_too_complex(spaced):
        return legal(text_of(spaced))
    # A character reference may name what the text could not contain.
    return " ".join(legal(html.unescape(nh3.clean(spaced, tags=set()))).split())


def excerpt(markup: str, length: int) -> str:
    """The beginning of the HTML's text, cut between words where possible."""
    text = plain_text(markup)
    if len(text) <= length:
        return text
    head = text[: length + 1].rpartition(" ")[0]
    # Scripts without spaces, and very long words, are cut where they are.
    return (head if len(head) > length // 2 else text[:length]).rstrip(" ,;:–—-") + "…"


def language_tag(language: str) -> str:
    """The language if it is formed like a tag, otherwise nothing: a wrong tag is worse than none."""
    tag = language.strip().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else ""


def rfc3339(time: datetime) -> str:
    """`2026-03-01T12:00:00Z`, with a fraction only where there is one."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def rfc822(time: datetime) -> str:
    """`Sun, 01 Mar 2026 12:00:00 GMT`."""
    return format_datetime(time.astimezone(UTC).replace(microsecond=0), usegmt=True)
