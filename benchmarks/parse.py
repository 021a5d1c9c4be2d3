"""Parsing against feedparser on the same documents: documents per second, and items that only feedparser finds."""

from __future__ import annotations

import argparse
import json
import random
import tarfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from pathlib import Path
from typing import Any

import feedparser
import pyarrow as pa

from feedweir.acquire.parse.parser import parse_batch
from feedweir.items.schema import DOCUMENT_SCHEMA, items_of
from feedweir.text.dates import date_of

NOW = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = [
    "market",
    "rain",
    "city",
    "vote",
    "storm",
    "price",
    "health",
    "court",
    "river",
    "school",
    "energy",
    "train",
    "music",
    "ocean",
    "report",
    "garden",
    "law",
    "robot",
    "winter",
    "summer",
    "bridge",
    "coffee",
    "election",
    "island",
    "paper",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=Path, help="a tar.gz of documents; else documents are generated")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="how long each parser is measured, at most"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    bodies = (
        _from_archive(options.documents) if options.documents else generated(2000 if options.full else 200)
    )
    ours = _batch(bodies)
    parse_batch(ours)
    seconds, rounds = _timed(lambda: parse_batch(ours), options.seconds)
    rate = len(bodies) * rounds / seconds
    result = parse_batch(ours)
    # feedparser knows no JSON: the comparison is on the documents that both can read
    shared = [body for body in bodies if not body.lstrip().startswith(b"{")]
    both = _batch(shared)
    shared_seconds, shared_rounds = _timed(lambda: parse_batch(both), options.seconds)
    their_seconds, their_rounds = _timed(lambda: [feedparser.parse(body) for body in shared], options.seconds)
    their_rate = len(shared) * their_rounds / their_seconds
    plain = _batch([rss(random.Random(1), 50, is_plain=True) for _ in range(100)])
    plain_seconds, plain_rounds = _timed(lambda: parse_batch(plain), options.seconds / 2)
    return {
        "documents": len(bodies),
        "items": result.items.num_rows,
        "failures": len(result.failures),
        "documents_per_s": round(rate, 1),
        "feedparser_documents_per_s": round(their_rate, 1),
        "speedup": round(len(shared) * shared_rounds / shared_seconds / their_rate, 2),
        "items_per_s": round(result.items.num_rows * rounds / seconds, 1),
        "plain_item_us": round(plain_seconds / plain_rounds / 5000 * 1e6, 1),
        "lost": sum(lost(body) for body in bodies),
    }


def _timed(work: Callable[[], object], limit_s: float) -> tuple[float, int]:
    """(processor seconds, rounds): whole rounds until the time is used up, one at least."""
    start, rounds = time.process_time(), 0
    while rounds == 0 or (time.process_time() - start) * (rounds + 1) / rounds < limit_s:
        work()
        rounds += 1
    return time.process_time() - start, rounds


def lost(body: bytes) -> int:
    """How many entries of a well-formed document feedparser finds, by guid, link or title, that we do not."""
    theirs = feedparser.parse(body)
    if theirs.bozo:
        return 0
    ours = list(items_of(parse_batch(_batch([body])).items))
    known = {
        name for item in ours for name in (item.identity.partition(" ")[0], item.link, item.title) if name
    }
    names = [(entry.get("id"), entry.get("link"), entry.get("title")) for entry in theirs.entries]
    strangers = sum(1 for entry in names if any(entry) and not known.intersection(filter(None, entry)))
    return max(strangers, len(theirs.entries) - len(ours) - _repetitions(names))


def _repetitions(names: list[tuple[Any, ...]]) -> int:
    return len(names) - len(set(names))


def _batch(bodies: list[bytes]) -> pa.RecordBatch:
    rows = [
        {"number": number, "source": f"s{number}", "url": "", "media_type": "", "arrived": NOW, "body": body}
        for number, body in enumerate(bodies)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA)


def _from_archive(path: Path) -> list[bytes]:
    with tarfile.open(path) as archive:
        members = sorted((m for m in archive.getmembers() if m.isfile()), key=lambda member: member.name)
        files = [archive.extractfile(member) for member in members if not member.name.endswith(".csv")]
        return [file.read() for file in files if file is not None]


def generated(count: int) -> list[bytes]:
    """Documents of every format with as many items as feeds usually have, the same ones every time."""
    source = random.Random(7)
    makers = (rss, rdf, atom, json_feed)
    return [makers[number % len(makers)](source, source.choice((10, 20, 25, 30))) for number in range(count)]


def _text(source: random.Random, words: int) -> str:
    return " ".join(source.choice(WORDS) for _ in range(words)).capitalize()


def _html(source: random.Random, words: int) -> str:
    link = f'<a href="https://example.org/{source.randrange(10**6)}?a=1&amp;b=2">{_text(source, 3)}</a>'
    return f"<p>{_text(source, words)} &amp; {link}</p><p><b>{_text(source, 4)}</b><br/>{_text(source, words)}</p>"


def _moment(source: random.Random) -> datetime:
    return NOW - timedelta(seconds=source.randrange(10**7))


def rss(source: random.Random, items: int, is_plain: bool = False) -> bytes:
    parts = []
    for _ in range(items):
        url = f"https://example.org/{source.randrange(10**9)}"
        body = _text(source, 30) if is_plain else escape(_html(source, 30))
        parts.append(
            f"<item><title>{_text(source, 8)}</title><link>{url}</link><guid>{url}</guid>"
            f"<description>{body}</description><pubDate>{format_datetime(_moment(source))}</pubDate>"
            f"<dc:creator>{_text(source, 2)}</dc:creator><category>{_text(source, 1)}</category></item>"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<channel><title>{_text(source, 3)}</title><link>https://example.org/</link>{''.join(parts)}</channel></rss>"
    ).encode()


def rdf(source: random.Random, items: int) -> bytes:
    parts = []
    for _ in range(items):
        url = f"https://example.org/{source.randrange(10**9)}"
        parts.append(
            f'<item rdf:about="{url}"><title>{_text(source, 8)}</title><link>{url}</link>'
            f"<description>{_text(source, 30)}</description><dc:date>{_moment(source).isoformat()}</dc:date></item>"
        )
    return (
        '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<channel rdf:about="https://example.org/"><title>F</title></channel>{"".join(parts)}</rdf:RDF>'
    ).encode()


def atom(source: random.Random, items: int) -> bytes:
    parts = []
    for _ in range(items):
        url = f"https://example.org/{source.randrange(10**9)}"
        parts.append(
            f'<entry><id>{url}</id><title>{_text(source, 8)}</title><link href="{url}"/>'
            f"<updated>{_moment(source).isoformat()}</updated><author><name>{_text(source, 2)}</name></author>"
            f'<summary>{_text(source, 20)}</summary><content type="html">{escape(_html(source, 60))}</content></entry>'
        )
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><id>f</id>{"".join(parts)}</feed>'
    ).encode()


def json_feed(source: random.Random, items: int) -> bytes:
    entries = []
    for _ in range(items):
        url = f"https://example.org/{source.randrange(10**9)}"
        moment = _moment(source).isoformat()
        assert date_of(moment) is not None
        entries.append(
            {
                "id": url,
                "url": url,
                "title": _text(source, 8),
                "content_html": _html(source, 40),
                "date_published": moment,
            }
        )
    return json.dumps(
        {"version": "https://jsonfeed.org/version/1.1", "title": "F", "items": entries}
    ).encode()
