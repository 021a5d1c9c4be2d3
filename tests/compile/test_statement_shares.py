"""Statements read by several processes: the same queries, joins and failures as read here, whatever becomes of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.catalog import Definition
from feedweir.compile import statement_shares as sharing
from feedweir.compile.compiler import Compilation, compile_definitions
from feedweir.compile.statement_shares import processes_for, read_all
from feedweir.join.streams import JoinFeed, compile_plan
from feedweir.language.defined_names import DefinedNames
from feedweir.optimize.normalisation import normalise
from feedweir.pipeline.sets import install_set
from feedweir.plan.nodes import Source
from feedweir.plan.query import Query

SOURCES = ("a", "b", "c")
CONDITIONS = (
    "",
    "where item contains 'storm'",
    "where item contains 'storm' and title contains 'coast'",
    "where title contains any of ('storm', 'calm')",
    "where not item contains 'storm' or published.year > 2020",
    "where true",
    "where item contains 'storm' and item contains 'Storm' and item contains 'storm'",
    "where published.year > 2020 and published.year > 2010",
    "where published.year > 2020",
    "where revision > 2 and revision < 1",
    "where from a and item contains 'storm'",
)
WHATEVER = (
    "from a | b as $b where $b[title contains 'storm']",
    "from a as $a where $a[title contains 'storm'] and $a[item contains 'coast']",
    "from (a | b) as $x where $x[item contains 'storm']",
    "from a | a | * where item contains 'storm'",
    "from distinct (a | b)",
    "from a join last 3 days on b with [title similar window.title]",
    "from missing where item contains 'storm'",
    "from a where item containz 'storm'",
)


@st.composite
def virtual_feeds(draw: st.DrawFn, number: int) -> Definition:
    """A feed over sources and feeds that were, or will be, defined, and perhaps itself."""
    name = f"f{number}"
    whose = draw(st.sampled_from(("", " for ann")))
    if draw(st.integers(0, 2)) == 0:
        rest = draw(st.sampled_from(WHATEVER))
    else:
        read = draw(st.lists(st.sampled_from((*SOURCES, *SOURCES, "f0", "f1", "f5")), min_size=1, max_size=3))
        rest = f"from {' | '.join(read)} {draw(st.sampled_from(CONDITIONS))}"
    return Definition(10 + number, name, "virtual", f"create feed {name}{whose} {rest}")


@st.composite
def installations(draw: st.DrawFn) -> list[Definition]:
    sources = [
        Definition(number, name, "source", f"register feed http://{name}.example/feed as {name}{whose}")
        for number, (name, whose) in enumerate(zip(SOURCES, ("", " for bob", ""), strict=True))
    ]
    return sources + [draw(virtual_feeds(number)) for number in range(draw(st.integers(0, 8)))]


def read_by_plans(definitions: Sequence[Definition]) -> tuple[list[Query], list[int], list[str]]:
    """Every feed by its whole plan and all rules, however simple it is: (queries, feeds with joins, failures)."""
    names = DefinedNames(definitions)
    queries, joins, failures = [], [], []
    for one in definitions:
        try:
            plan = names.plan_of(one.name) if one.kind == "virtual" else Source(one.name)
            assert plan is not None
            compiled = compile_plan(one.id, normalise(plan, names.plan_of))
        except Exception:
            failures.append(one.name)
            continue
        if isinstance(compiled, JoinFeed):
            joins.append(one.id)
        else:
            owner = next((whose for whose in ("ann", "bob") if f" for {whose}" in one.statement), "")
            queries += [Query(query.key, query.sources, query.predicate, owner) for query in compiled]
    return queries, joins, failures


@settings(max_examples=150, deadline=None)
@given(installations())
def test_what_is_read_straight_is_what_the_plan_says(definitions: list[Definition]) -> None:
    found = compile_definitions(definitions)
    queries, joins, failures = read_by_plans(definitions)
    assert list(found.queries) == queries
    assert [join.feed for join in found.joins] == joins
    assert [name for name, _ in found.failures] == failures


def many(n: int = 60) -> list[Definition]:
    """Feeds of every kind, some of which read others far away, and some of which cannot be read."""
    rest = [*WHATEVER, *(f"from {name} {one}" for name in ("a", "f3", "f59", "a | b") for one in CONDITIONS)]
    definitions = [
        Definition(number, f"f{number}", "virtual", f"create feed f{number} {rest[number % len(rest)]}")
        for number in range(n)
    ]
    sources = [
        Definition(1000 + number, name, "source", f"register feed http://{name}.example/ as {name}")
        for number, name in enumerate(SOURCES)
    ]
    return definitions + sources


def shared(
    definitions: Sequence[Definition], n_processes: int, heard: list[tuple[int, int]] | None = None
) -> list[sharing.CompiledFeeds]:
    told = [] if heard is None else heard
    places = range(len(definitions))
    return read_all(definitions, places, lambda done, all_: told.append((done, all_)), n_processes, share=8)


def test_several_processes_read_what_one_reads() -> None:
    heard: list[tuple[int, int]] = []
    here, together = shared(many(), 1), shared(many(), 3, heard)
    assert together == here
    assert any(one.failures for one in here)
    assert any(one.joins for one in here)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert {all_ for _, all_ in heard} == {63}
    assert heard[-1] == (63, 63)


def test_the_installed_set_is_the_same_to_the_byte(tmp_path: Path) -> None:
    written = []
    for n_processes in (1, 2):
        found = compile_definitions(many(), n_processes=n_processes)
        install_set(tmp_path / str(n_processes), 1, found.queries, found.joins)
        files = sorted(path for path in (tmp_path / str(n_processes)).rglob("*") if path.is_file())
        segments = [path for path in files if path.parent.parent.name == "segments"]
        written.append([(path.name, path.read_bytes()) for path in segments])
    assert len(written[0]) > 2
    assert written[0] == written[1]


def test_processes_that_do_not_start_are_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    here = shared(many(), 1)
    monkeypatch.setattr(sharing.sys, "executable", "/bin/false")
    assert shared(many(), 3) == here


def test_a_share_that_a_process_died_of_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    died: list[str] = []

    here = shared(many(), 1)
    monkeypatch.setattr(sharing, "_read_elsewhere", lambda given, take: _die_in_a_share(take, died))
    assert shared(many(), 2) == here
    assert died == ["in a share"]


def _die_in_a_share(take: sharing.Take, died: list[str]) -> None:
    def read_nothing(places: Sequence[int]) -> sharing.CompiledFeeds:
        died.append("in a share")
        raise EOFError

    with suppress(EOFError):
        next(take(read_nothing))


def test_what_cannot_be_handed_out_is_read_here() -> None:
    half = Definition(7000, "half", "virtual", "create feed half from a where item contains '\ud800'")
    here, together = shared([*many(), half], 1), shared([*many(), half], 2)
    assert together == here
    assert here[-1].failures[-1][0] == "half"


def test_a_process_that_nobody_asks_any_more_ends(tmp_path: Path) -> None:
    assert sharing._is_handed_out(tmp_path / "given", many())
    code = (
        f"from feedweir.compile.statement_shares import read_shares; read_shares({str(tmp_path / 'given')!r})"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], input=b"", capture_output=True, timeout=60, check=True
    )
    assert ended.stdout == b""


def test_only_what_is_wanted_is_read_in_the_light_of_everything() -> None:
    def read(n_processes: int) -> Compilation:
        return compile_definitions(many(), {12, 30, 1001}, n_processes=n_processes)

    found = read(1)
    assert {query.key for query in found.queries} <= {12, 30, 1001}
    assert len(found.queries) > 1
    assert list(read(2).queries) == list(found.queries)


def test_few_definitions_are_read_by_one_process() -> None:
    assert processes_for(sharing.PARALLEL_FROM - 1) == 1
    assert 1 <= processes_for(sharing.PARALLEL_FROM) <= (os.cpu_count() or 1)
