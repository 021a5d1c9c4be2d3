"""Feeds that ask for paths, from statements to what is published: found together, never asked in Python."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.items.model import Item
from feedweir.match.sets import compiled_set
from feedweir.plan.predicates import Predicate
from feedweir.service.installation import Weir
from tests.language.reading import parse_predicate
from tests.naive import holds

START = datetime(2026, 1, 1, tzinfo=UTC)
CONDITIONS = {
    "plain": "path //category",
    "compared": "path //item[category = 'tides'][author]",
    "with_prefix": "path //item[dc:creator = 'Ann']",
    "by_number": "path //media:content[@height > 300]",
    "without": "path //title and not path //item[category = 'tides']",
    "one_of": "path //item[author] or path //item[dc:creator]",
    "some_of": "at least 2 of (path //author, path //category, path //media:content)",
    "with_words": "path //author and title contains 'storm'",
}
BLOCKS = {
    "block": ("Press//item[category = 'tides'] PUBLISH block", "path //item[category = 'tides']"),
    "bound": ("Press//item[author->a][category->c] PUBLISH bound", "path //item[author][category]"),
    "in_a_union": (
        "create feed in_a_union from xscl { Press//item[dc:creator->c] } as $x",
        "path //item[dc:creator]",
    ),
}
"""Queries of XSCL with one block, and what they mean."""
PARTS = (
    "<author>Bo</author>",
    "<category>tides</category>",
    "<dc:creator>Ann</dc:creator>",
    "<media:content height='400'/>",
)
SPACES = "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:media='http://search.yahoo.com/mrss/'"


def document() -> bytes:
    """Items with every choice of the parts."""
    items = (
        f"<item><guid>{choice}</guid><title>{'storm' if choice % 3 else 'calm'}</title>"
        + "".join(part for place, part in enumerate(PARTS) if choice >> place & 1)
        + "</item>"
        for choice in range(1 << len(PARTS))
    )
    return f"<rss {SPACES}><channel>{''.join(items)}</channel></rss>".encode()


def test_paths_and_blocks_are_found_without_a_call_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    real = compiled_set.holds
    monkeypatch.setattr(compiled_set, "holds", lambda *given: (asked.append(given), real(*given))[1])
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute("register feed http://press.example/feed as Press")
        for name, condition in CONDITIONS.items():
            weir.execute(f"create feed {name} from Press where {condition}")
        weir.execute("; ".join(statement for statement, _ in BLOCKS.values()))
        weir.push("Press", document())
        weir.run()
        items = weir.items("Press", 100)
        meanings = CONDITIONS | {name: meaning for name, (_, meaning) in BLOCKS.items()}
        assert len(items) == 1 << len(PARTS)
        for name, meaning in meanings.items():
            wanted = guids(items, parse_predicate(meaning))
            assert wanted
            assert {item.identity for item in weir.items(name, 100)} == wanted
    assert not asked


def guids(items: list[Item], predicate: Predicate) -> set[str]:
    return {item.identity for item in items if holds(predicate, item)}
