"""Streams to measure on: feed documents from a generator or from a Parquet file of news, and keyword queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._excite import MEAN_TERMS
from feedweir.logs.landing import Landed
from feedweir.match import KeywordQueries
from feedweir.text.analyser import words
from feedweir.text.dates import date_of

START = datetime(2026, 1, 1, tzinfo=UTC)
MOST_COMMON = 0.003
"""A word in a larger part of the items than this is in no query: nobody asks for "the"."""
MANY = 100_000
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Story:
    """One item before it is put into a document."""

    source: str
    identity: str
    title: str
    summary: str
    published: datetime


def vocabulary(size: int) -> list[str]:
    """Distinct made-up words, short ones first."""
    names: list[str] = []
    count = len(SYLLABLES)
    for number in range(count, count + size):
        name = ""
        while number:
            number, syllable = divmod(number, count)
            name += SYLLABLES[syllable]
        names.append(name)
    return names


def zipf_ranks(random: np.random.Generator, size: int, count: int) -> npt.NDArray[np.int64]:
    """Ranks below `size`, the probability of a rank falling with it as words' do."""
    uniform = random.random(count)
    return np.minimum(np.exp(uniform * np.log(size)).astype(np.int64) - 1, size - 1)


def generated_stories(count: int, *, sources: int = 200, seed: int = 1) -> Iterator[Story]:
    """Made-up news: titles of 9 words, summaries of 35."""
    random = np.random.default_rng(seed)
    lexicon = np.array(vocabulary(30_000))
    for first in range(0, count, 10_000):
        ranks = zipf_ranks(random, len(lexicon), 10_000 * 44).reshape(-1, 44)
        for row in range(min(10_000, count - first)):
            text = lexicon[ranks[row]].tolist()
            number = first + row
            yield Story(
                source=f"s{number % sources}",
                identity=f"tag:example.org,2026:{seed}/{number}",
                title=" ".join(text[:9]).capitalize(),
                summary=" ".join(text[9:]).capitalize() + ".",
                published=START + timedelta(seconds=number),
            )


def stories_of(path: Path) -> Iterator[Story]:
    """News from a Parquet file with id, source, title, summary and published."""
    table = pq.read_table(path, columns=["id", "source", "title", "summary", "published"])
    for row in table.to_pylist():
        yield Story(
            row["source"] or "news",
            str(row["id"]),
            row["title"] or "",
            row["summary"] or "",
            date_of(str(row["published"] or "")) or START,
        )


def documents_of(stories: Sequence[Story], arrived: datetime, *, items: int = 25) -> list[Landed]:
    """RSS 2.0 documents of a source's stories each, newest first."""
    by_source: dict[str, list[Story]] = {}
    for story in stories:
        by_source.setdefault(story.source, []).append(story)
    return [
        Landed(
            source=source,
            url=f"https://example.org/{source}",
            media_type="application/rss+xml",
            arrived=arrived,
            body=_rss(source, mine[first : first + items]),
        )
        for source, mine in by_source.items()
        for first in range(0, len(mine), items)
    ]


def keyword_queries(stories: Sequence[Story], count: int, *, seed: int = 2) -> KeywordQueries:
    """Conjunctions of words of the stories, drawn by how often they occur, the commonest left out.

    Of one to three words: on real news and on made-up ones some three of ten thousand such queries want an item. More
    than a hundred thousand are as long as those of a search engine's log, with three words on average.
    """
    random = np.random.default_rng(seed)
    sample = stories[:5_000]
    texts = [words(f"{story.title} {story.summary}") for story in sample]
    frequency = Counter(word for text in texts for word in set(text))
    common = MOST_COMMON * len(sample)
    tokens = pa.array([word for text in texts for word in text if frequency[word] < common])
    sizes = 1 + random.poisson(MEAN_TERMS - 1.3, count) if count > MANY else random.integers(1, 4, count)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    drawn = tokens.take(pa.array(random.integers(0, len(tokens), offsets[-1])))
    return KeywordQueries(pa.array(np.arange(1, count + 1)), pa.ListArray.from_arrays(offsets, drawn))


def _rss(source: str, stories: Sequence[Story]) -> bytes:
    entries = "".join(
        f"<item><title>{escape(story.title)}</title><link>https://example.org/{source}/{escape(story.identity)}"
        f"</link><guid isPermaLink='false'>{escape(story.identity)}</guid>"
        f"<pubDate>{story.published:%a, %d %b %Y %H:%M:%S +0000}</pubDate>"
        f"<description>{escape(story.summary)}</description></item>"
        for story in reversed(stories)
    )
    return (
        f"<?xml version='1.0' encoding='utf-8'?><rss version='2.0'><channel><title>{source}</title>"
        f"<link>https://example.org/{source}</link><description>Made up</description>{entries}</channel></rss>"
    ).encode()
