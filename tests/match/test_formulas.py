"""Reading many queries in several processes gives what reading them here gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match import compile_set, formulas, open_set
from feedweir.match.formula import reduced
from feedweir.match.formula_wire import formulas_from_bytes, formulas_to_bytes
from feedweir.match.store import table_of
from feedweir.plan.predicates import Contains, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from tests.match.generated import graph_patterns, predicates


def queries(n: int) -> list[Query]:
    def words(text: str) -> Contains:
        return Contains(None, (Term(text),), 1)

    return [Query(key, (), Or((words(f"w{key}"), Not(words(f"v{key}"))))) for key in range(n)]


def test_other_processes_read_the_same_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(queries(300))
    here = formulas.formulas_of(table, np.empty(0, np.int64), {}, None)
    monkeypatch.setattr(formulas, "PARALLEL_FROM", 10)
    monkeypatch.setattr(formulas.os, "cpu_count", lambda: 2)
    elsewhere = formulas.formulas_of(table, np.empty(0, np.int64), {}, None)
    assert elsewhere.formulas == here.formulas
    assert list(elsewhere.formulas) == list(here.formulas)
    assert elsewhere.notes == here.notes


def test_a_process_that_dies_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "PARALLEL_FROM", 10)
    monkeypatch.setattr(formulas.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(formulas.sys, "executable", "/bin/false")
    found = formulas.formulas_of(table_of(queries(40)), np.empty(0, np.int64), {}, None)
    assert sorted(found.formulas) == list(range(40))


def test_compiling_tells_how_far_it_is(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    compile_set(queries(9000), tmp_path / "set", progress=lambda done, all_: heard.append((done, all_)))
    assert heard == [(0, 9000), (4096, 9000), (8192, 9000), (9000, 9000)]
    assert len(open_set(tmp_path / "set")) == 9000


@settings(max_examples=100, deadline=None)
@given(st.lists(predicates | graph_patterns(), max_size=4))
def test_formulas_come_back_as_they_were(asked: list[Predicate]) -> None:
    read = dict(enumerate(map(reduced, asked)))
    assert formulas_from_bytes(formulas_to_bytes(read)) == read
