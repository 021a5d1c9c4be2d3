"""Queries as formulas, and how far compiling them is."""

from __future__ import annotations

from pathlib import Path

from feedweir.match import compile_set
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.plan.predicates import Contains, Not, Or, Term
from feedweir.plan.query import Query


def queries(n: int) -> list[Query]:
    def words(text: str) -> Contains:
        return Contains(None, (Term(text),), 1)

    return [Query(key, (), Or((words(f"w{key}"), Not(words(f"v{key}"))))) for key in range(n)]


def test_compiling_tells_how_far_it_is(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    compile_set(queries(9000), tmp_path / "set", progress=lambda done, all_: heard.append((done, all_)))
    assert heard == [(0, 9000), (4096, 9000), (8192, 9000), (9000, 9000)]
    assert len(open_compiled(tmp_path / "set")) == 9000
