"""What pattern joins remember when they are edited: as if they had asked for it from the beginning.

The obvious twin is the edited query over everything; of what it gives, an edit only brings what later items complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from feedweir.logs.landing import Landed
from feedweir.logs.store import Store
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BEFORE = 9
"""So many documents come before the edit."""
SOURCES = "".join(f"register feed http://example.org/{name.lower()} as {name};" for name in "ABCD")
FIRST = "A//item[author->a] JOIN{a=b, 3 days} B//item[author->b]"
EDITS = {
    "another path": "A//item[title->a] JOIN{a=b, 1 day} B//item[title->b]",
    "another path on one side": "A//item[title->a] JOIN{a=b, 3 days} B//item[author->b]",
    "one path more": "A//item[author->a][title->t] JOIN{a=b AND t=u, 2 days} B//item[author->b][title->u]",
    "a window of items": "A//item[author->a] JOIN{a=b, 4 items} B//item[author->b]",
    "a window of items, another path": "B//item[title->a] FOLLOWED BY{a=b, 3 items} A//item[title->b]",
    "another stream first": "C//item[author->a] JOIN{a=b, 3 days} B//item[author->b]",
    "another stream second": "A//item[author->a] JOIN{a=b, 1 day} C//item[author->b]",
    "another stream first, another path": "D//item[title->a] JOIN{a=b, 5 items} B//item[title->b]",
    "no condition": "A//item->a FOLLOWED BY{1 day} B//item->b",
}


Shown: TypeAlias = tuple[str, str, str, datetime]
"""Source, author, title, time."""


def documents() -> list[Shown]:
    """Only A and B come before the edit."""
    random = Random(11)
    return [
        (
            random.choice("AB" if number < BEFORE else "ABCD"),
            random.choice(["ann", "bob"]),
            random.choice(["ann", "bob"]),
            NOON + timedelta(hours=3 * number + random.randrange(-9, 9)),
        )
        for number in range(BEFORE + 12)
    ]


@contextmanager
def opened(directory: Path, query: str) -> Iterator[Weir]:
    with Weir.open(directory, clock=lambda: NOON) as weir:
        weir.execute(SOURCES)
        edit(weir, query)
        yield weir


def edit(weir: Weir, query: str) -> None:
    weir.execute(f"create or replace feed Near from xscl {{ {query} }}")


def land(weir: Weir, document: Shown, guid: int) -> None:
    source, author, title, time = document
    body = (
        f"<rss version='2.0'><channel><title>t</title><item><guid>{guid}</guid><author>{author}</author>"
        f"<title>{title}</title><pubDate>{format_datetime(time)}</pubDate></item></channel></rss>"
    )
    weir.log.append([Landed(source=source, arrived=time + timedelta(hours=9), body=body.encode())])


def run(weir: Weir) -> None:
    weir.refresh_set()
    LocalRunner(weir.directory, weir.commit, tasks=1).run_available()


def feed(weir: Weir, history: list[Shown], first: int, size: int) -> None:
    """Some documents in batches of a size; the first of them has this number."""
    for number, document in enumerate(history, first):
        land(weir, document, number)
        if (number - first + 1) % size == 0:
            run(weir)
    run(weir)


def pairs(weir: Weir, name: str = "Near") -> list[list[int]]:
    """The numbers of the documents that were joined."""
    return sorted(sorted(seq >> 32 for seq in item.made_of) for item in weir.items(name, 10_000))


Twins: TypeAlias = dict[str, list[list[int]]]


@pytest.fixture(scope="module")
def asked_from_the_beginning(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    """By query what it finds in all documents."""
    with opened(tmp_path_factory.mktemp("twins"), FIRST) as weir:
        for number, query in enumerate(EDITS.values()):
            weir.execute(f"create feed Twin{number} from xscl {{ {query} }}")
        feed(weir, documents(), 1, 100)
        twins = {query: pairs(weir, f"Twin{number}") for number, query in enumerate(EDITS.values())}
        return twins | {FIRST: pairs(weir)}


def expected(twins: Twins, edited: str, after: int = BEFORE) -> list[list[int]]:
    """What the first query finds before the edit, and what the edited one completes after it."""
    early = [pair for pair in twins[FIRST] if pair[-1] <= after]
    return sorted(early + [pair for pair in twins[edited] if pair[-1] > after])


@pytest.mark.parametrize("edited", EDITS.values(), ids=EDITS.keys())
def test_an_edited_join_finds_what_it_would_have_remembered(
    tmp_path: Path, asked_from_the_beginning: Twins, edited: str
) -> None:
    known = expected(asked_from_the_beginning, edited)
    assert any(pair[0] <= BEFORE < pair[-1] for pair in known)
    with opened(tmp_path, FIRST) as weir:
        feed(weir, documents()[:BEFORE], 1, 4)
        edit(weir, edited)
        feed(weir, documents()[BEFORE:], BEFORE + 1, 4)
        assert pairs(weir) == known


@pytest.mark.parametrize("size", [1, 100])
def test_it_does_not_matter_how_the_stream_is_cut(
    tmp_path: Path, asked_from_the_beginning: Twins, size: int
) -> None:
    edited = EDITS["another stream first, another path"]
    with opened(tmp_path, FIRST) as weir:
        feed(weir, documents()[:BEFORE], 1, size)
        edit(weir, edited)
        feed(weir, documents()[BEFORE:], BEFORE + 1, size)
        assert pairs(weir) == expected(asked_from_the_beginning, edited)


@pytest.mark.parametrize("edit_name", ["another path", "another stream first"])
def test_a_batch_that_is_repeated_after_an_edit_finds_the_same(
    tmp_path: Path, asked_from_the_beginning: Twins, monkeypatch: pytest.MonkeyPatch, edit_name: str
) -> None:
    """A process dies after the join step and before the batch is published; the next takes more into the batch."""
    with opened(tmp_path, FIRST) as weir:
        feed(weir, documents()[:BEFORE], 1, 100)
        edit(weir, EDITS[edit_name])
        with monkeypatch.context() as patch:
            patch.setattr(Store, "publish", _dying)
            with pytest.raises(KeyboardInterrupt):
                feed(weir, documents()[BEFORE : BEFORE + 2], BEFORE + 1, 100)
        feed(weir, documents()[BEFORE + 2 :], BEFORE + 3, 100)
        assert pairs(weir) == expected(asked_from_the_beginning, EDITS[edit_name])


def _dying(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_edit_and_back_again_finds_everything_once(
    tmp_path: Path, asked_from_the_beginning: Twins
) -> None:
    edited, middle = EDITS["another path on one side"], BEFORE + 2
    with opened(tmp_path, FIRST) as weir:
        feed(weir, documents()[:BEFORE], 1, 100)
        edit(weir, edited)
        feed(weir, documents()[BEFORE:middle], BEFORE + 1, 100)
        edit(weir, FIRST)
        feed(weir, documents()[middle:], middle + 1, 100)
        late = [pair for pair in asked_from_the_beginning[FIRST] if pair[-1] > middle]
        assert [pair for pair in pairs(weir) if pair[-1] > middle] == late


def test_what_select_newly_shows_is_known_of_what_came_before(tmp_path: Path) -> None:
    with opened(tmp_path, FIRST) as weir:
        feed(weir, [("A", "ann", "flood", NOON)], 1, 1)
        edit(
            weir,
            f"SELECT <both>{{$a}} {{$t}}</both> FROM {FIRST.replace('[author->a]', '[author->a][title->t]')}",
        )
        feed(weir, [("B", "ann", "storm", NOON)], 2, 1)
        assert [item.raw for item in weir.items("Near")] == ["<both>ann flood</both>"]


def test_documents_that_were_constructed_are_looked_at_again(tmp_path: Path) -> None:
    made = "SELECT <m><who>{$a}</who><what>{$t}</what></m> FROM A//item[author->a][title->t]"
    with opened(tmp_path, FIRST) as weir:
        weir.execute(f"{made} PUBLISH Made")
        edit(weir, "Made//m[who->a] JOIN{a=b, 1 day} B//item[author->b]")
        feed(weir, [("A", "ann", "flood", NOON)], 1, 1)
        edit(weir, "Made//m[what->a] JOIN{a=b, 1 day} B//item[title->b]")
        feed(weir, [("B", "bob", "flood", NOON)], 2, 1)
        assert pairs(weir) == [[1, 2]]
