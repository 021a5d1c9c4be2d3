"""Annotation joins by the ten thousand: feeds with RoSeS joins over news that several sources tell, in one process.

Each feed has a filtered primary stream, a window of time or of items over everything, over a source or over a category,
and one of the conditions that readers write: similar titles, a shared link, the same author with a title that is
somewhat alike. The items go through the whole pipeline: parsed, matched, joined with the windows' history, published.
Some of the feeds are also evaluated each alone, for the speed-up and to see that the answers are the same.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import numpy as np

from feedweir.ask.preview import replay
from feedweir.join.streams import JoinFeed
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import Landed, LandingLog
from feedweir.logs.store import Store
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.sets import install_set
from feedweir.plan.nodes import AnnotationJoin, Filter, LastItems, Node, Source, TimeSpan, Window
from feedweir.plan.predicates import Compare, Contains, JoinAnd, JoinPredicate, Relates, Term

SOURCES = 20
CATEGORIES = 30
VOCABULARY = 4_000
_START = datetime(2026, 1, 1, tzinfo=UTC)
_SPANS = (timedelta(hours=6), timedelta(days=1), timedelta(days=3))


@dataclass(frozen=True, slots=True)
class _News:
    """An item that tells a story in its own words."""

    number: int
    source: int
    title: str
    author: str
    category: int
    link: str
    published: datetime

    def xml(self) -> str:
        return (
            f"<item><guid>{self.number}</guid><title>{self.title}</title><author>{self.author}</author>"
            f"<category>c{self.category}</category><link>{self.link}</link>"
            f"<pubDate>{format_datetime(self.published)}</pubDate></item>"
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--feeds", type=int, nargs="*", default=None, help="how many feeds with joins")
    parser.add_argument("--batches", type=int, default=6, help="batches of items")
    parser.add_argument("--batch-items", type=int, default=2_000, help="items of a batch")
    parser.add_argument("--alone", type=int, default=6, help="feeds that are also evaluated each alone")


def run(options: argparse.Namespace) -> dict[str, object]:
    """By number of feeds: items a second, the speed-up over each feed alone, and whether those agree."""
    # Another benchmark may run this one with options of its own.
    asked = getattr(options, "feeds", None) or ((1_000, 10_000, 100_000) if options.full else (1_000, 10_000))
    size, batches = getattr(options, "batch_items", 2_000), getattr(options, "batches", 6)
    chance = np.random.default_rng(7)
    stream = [news(chance, batch, size) for batch in range(batches)]
    settings = [_measured(feeds_of(count), stream, getattr(options, "alone", 6)) for count in asked]
    return {
        "settings": settings,
        "items_per_s": settings[-1]["items_per_s"],
        "speedup_over_sequential": settings[-1]["speedup_over_sequential"],
        "agree": all(bool(setting["agree"]) for setting in settings),
    }


def news(chance: np.random.Generator, batch: int, size: int) -> list[_News]:
    """The items of two hours: stories of about five tellers, words as rare as in titles."""
    now = _START + timedelta(hours=2 * batch)
    rarity = 1.0 / np.arange(2, VOCABULARY + 2)
    words = chance.choice(VOCABULARY, (max(size // 5, 1), 9), p=rarity / rarity.sum())
    found = []
    for row in range(size):
        story = int(chance.integers(len(words)))
        told = np.where(chance.random(9) < 0.15, chance.integers(VOCABULARY, size=9), words[story])
        shared = chance.random() < 0.2
        number = batch * size + row
        found.append(
            _News(
                number,
                int(chance.integers(SOURCES)),
                " ".join(f"w{word}" for word in told.tolist()),
                f"author {int(chance.integers(200))}",
                int(chance.integers(CATEGORIES)),
                f"http://news.example/{f's{batch}-{story}' if shared else number}",
                now + timedelta(seconds=7200 * row / size),
            )
        )
    return found


def feeds_of(count: int) -> list[JoinFeed]:
    """Feeds that people might define, each called by its own name."""
    chance = np.random.default_rng(count)
    return [JoinFeed(number, _join(chance, number)) for number in range(1, count + 1)]


def _join(chance: np.random.Generator, number: int) -> AnnotationJoin:
    word = Contains("title", (Term(f"w{int(chance.integers(20, VOCABULARY // 4))}"),), 1)
    window = Window(_window(chance), _spec(chance))
    return AnnotationJoin(f"F{number}.w", Filter(Source("*"), word), window, _condition(chance))


def _window(chance: np.random.Generator) -> Node:
    kind = chance.integers(3)
    if kind == 0:
        return Source("*")
    if kind == 1:
        return Source(f"S{int(chance.integers(SOURCES))}")
    return Filter(Source("*"), Compare("category", "=", f"c{int(chance.integers(CATEGORIES))}"))


def _spec(chance: np.random.Generator) -> TimeSpan | LastItems:
    return LastItems(100) if chance.random() < 0.1 else TimeSpan(_SPANS[int(chance.integers(3))])


def _condition(chance: np.random.Generator) -> JoinPredicate:
    kind = chance.random()
    if kind < 0.6:
        return Relates("title", "similar", "title", (0.4, 0.5, 0.6)[int(chance.integers(3))])
    if kind < 0.8:
        return Relates("link", "shares-link", "link")
    return JoinAnd((Relates("author", "=", "author"), Relates("title", "similar", "title", 0.2)))


def _measured(feeds: Sequence[JoinFeed], stream: Sequence[Sequence[_News]], alone: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        directory = DataDirectory(Path(scratch))
        install_set(directory.sets, 1, [], feeds)
        _land(directory, stream)
        seconds, items = _run(directory)
        store = Store(directory.root)
        elements = store.element_table(store.manifests()).num_rows
        joined = store.joined.annotation_table(store.manifests()).num_rows
        chosen = [
            feeds[place] for place in np.linspace(0, len(feeds) - 1, min(alone, len(feeds))).astype(int)
        ]
        each, agree = _alone(store, chosen)
        state = sum(path.stat().st_size for path in directory.joins.rglob("*") if path.is_file())
    return {
        "feeds": len(feeds),
        "items_per_s": round(items / seconds),
        "elements": elements,
        "partners": joined,
        "state_bytes_per_item": round(state / sum(map(len, stream)), 1),
        "speedup_over_sequential": round(each * len(feeds) / (seconds / items), 1),
        "agree": agree,
    }


def _land(directory: DataDirectory, stream: Sequence[Sequence[_News]]) -> None:
    log = LandingLog(directory.landing)
    for batch in stream:
        documents = []
        for source in range(SOURCES):
            told = [one for one in batch if one.source == source]
            inside = "".join(one.xml() for one in reversed(told))
            body = f"<rss version='2.0'><channel><title>t</title>{inside}</channel></rss>".encode()
            documents.append(Landed(source=f"S{source}", arrived=batch[-1].published, body=body))
        log.append(documents)


def _run(directory: DataDirectory) -> tuple[float, int]:
    """Processor seconds and items; the first batch loads the kernels and does not count."""
    runner = LocalRunner(directory, lambda manifest: None, max_segments=1)
    runner.run_batch()
    begun, items = time.process_time(), 0
    while manifest := runner.run_batch():
        items += manifest.item_count
    return time.process_time() - begun, items


def _alone(store: Store, feeds: Sequence[JoinFeed]) -> tuple[float, bool]:
    """Processor seconds that an item takes for a feed by itself, and whether it finds what it found among all."""
    manifests = list(reversed(store.manifests()))
    batches = [piece for one in manifests for piece in store.item_table([one]).combine_chunks().to_batches()]
    later = sum(len(batch) for batch in batches[1:])
    seconds, agree = 0.0, True
    for feed in feeds:
        found: dict[int, dict[str, tuple[int, ...]]] = {}
        for place, hits in enumerate(_timed(feed, batches)):
            seconds += hits[0] if place else 0.0
            found |= hits[1]
        seqs = sorted(store.seqs(feed.feed).tolist())
        agree &= seqs == sorted(found) and store.joined.annotations(feed.feed, seqs) == found
    return seconds / max(len(feeds), 1) / max(later, 1), agree


def _timed(feed: JoinFeed, batches):  # type: ignore[no-untyped-def]
    hits = replay(feed.plan, batches)
    while True:
        begun = time.process_time()
        one = next(hits, None)
        if one is None:
            return
        yield time.process_time() - begun, {seq: one.annotations[seq] for seq in one.seqs}
