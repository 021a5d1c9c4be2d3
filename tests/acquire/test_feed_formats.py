"""A format is a file and a row: the one that CONTRIBUTING.md adds is read like all others."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedweir.acquire.parse.entries import FeedText
from feedweir.acquire.parse.feed_formats import DEFAULT_LIMITS, FORMATS, FeedFormat, read_feed
from feedweir.acquire.parse.parser import ParsedDocument, parsed
from feedweir.errors import DocumentError
from feedweir.items.model import Document

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
TWTXT = b"2024-05-01T12:00:00Z\tHello <world>\n# a comment\n2024-04-30\tthe day before\n"


def added_format() -> FeedFormat:
    """What the worked example defines."""
    (code,) = re.findall(r"```python\n(\"\"\"twtxt.*?)```", CONTRIBUTING.read_text("utf-8"), re.DOTALL)
    defined: dict[str, Any] = {}
    exec(code, defined)
    return FeedFormat(defined["is_twtxt"], defined["read_twtxt"])


def read(body: bytes, media_type: str = "text/plain") -> ParsedDocument:
    document = Document(
        number=1, source="s", url="https://a.org/", media_type=media_type, arrived=NOON, body=body
    )
    formats = (added_format(), *FORMATS)
    feed = read_feed(body, media_type=media_type, url=document.url, limits=DEFAULT_LIMITS, formats=formats)
    return parsed(document, feed)


def test_the_format_of_the_worked_example_is_read() -> None:
    found = read(TWTXT)
    assert [(item.identity, item.published, item.content) for item in found.items] == [
        ("2024-04-30", datetime(2024, 4, 30, tzinfo=UTC), "the day before"),
        ("2024-05-01T12:00:00Z", NOON, "Hello &lt;world&gt;"),
    ]
    assert found.description.link == "https://a.org/"


@pytest.mark.parametrize(
    ("body", "media_type"),
    [(TWTXT, ""), (b"# nothing but a comment", "text/plain"), (b"2024\tno date", "text/plain")],
)
def test_what_is_not_written_in_it_is_left_to_the_others(body: bytes, media_type: str) -> None:
    with pytest.raises(DocumentError):
        read(body, media_type)


def test_other_formats_are_read_as_before() -> None:
    assert [
        item.title for item in read(b"<rss><channel><item><title>x</title></item></channel></rss>").items
    ] == ["x"]
    assert [item.title for item in read(b'{"items": [{"id": 1, "title": "y"}]}').items] == ["y"]


@pytest.mark.parametrize("text", [b"", b"<rss/>", b"{}", b"anything"])
def test_something_reads_every_document(text: bytes) -> None:
    assert any(is_written(FeedText(text=text, max_items=1)) for is_written, _ in FORMATS)
