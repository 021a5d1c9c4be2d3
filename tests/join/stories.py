"""Small feeds for the pipeline's tests: what sources show over time, as RSS documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from hypothesis import strategies as st

WORDS = ("river", "flood", "market", "music", "bridge", "otter", "release", "concert")
SOURCES = ("Post", "Crier", "Notes")


@dataclass(frozen=True)
class Shown:
    """One document: what a source shows at one moment, newest first."""

    source: str
    entries: tuple[tuple[int, str], ...]
    """(guid, title)."""
    is_broken: bool = False

    def body(self) -> bytes:
        if self.is_broken:
            return b"<html><body>We moved</body></html>"
        items = "".join(
            f"<item><guid>{guid}</guid><title>{escape(title)}</title></item>" for guid, title in self.entries
        )
        return f"<rss version='2.0'><channel><title>{self.source}</title>{items}</channel></rss>".encode()


titles = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
entries = st.lists(st.tuples(st.integers(0, 9), titles), max_size=5, unique_by=lambda entry: entry[0]).map(
    tuple
)
documents = st.builds(
    Shown, st.sampled_from(SOURCES), entries, st.sampled_from([False, False, False, False, True])
)


def histories_of(sources: Sequence[str], words: Sequence[str], most: int) -> st.SearchStrategy[list[Shown]]:
    """Histories with these sources, and titles of these words."""
    titles = st.lists(st.sampled_from(words), min_size=1, max_size=3).map(" ".join)
    entries = st.lists(st.tuples(st.integers(0, 9), titles), max_size=4, unique_by=lambda entry: entry[0])
    return st.lists(st.builds(Shown, st.sampled_from(sources), entries.map(tuple)), max_size=most)


histories: st.SearchStrategy[list[Shown]] = st.lists(documents, max_size=24)

STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
register feed http://example.org/notes as Notes;
create feed Water from (Post | Crier) as $r where $r[title contains 'river' or title contains 'flood'];
create feed Calm from (Water | Notes as $n) as $all
    where $n[title contains 'music'] and $all[not (title contains 'flood')];
create feed Edited from (Post | Crier | Notes) as $r where $r[revision > 0];
"""


def cut(history: Sequence[Shown], size: int) -> list[Sequence[Shown]]:
    """A history in pieces of `size` documents."""
    return [history[first : first + size] for first in range(0, len(history), size)]
