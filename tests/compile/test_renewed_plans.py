"""A live plan that is made anew numbers clauses anew: what is in force is told by the new numbers."""

from __future__ import annotations

from datetime import UTC, datetime

from feedweir.compile.planner import Planner
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.query import Query
from tests.language.reading import parse_predicate

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def queries(*words: str) -> list[Query]:
    pairs = [(one, other) for one in words for other in words if one < other]
    return [
        Query(key, ("A",), parse_predicate(f"title contains '{one}' and title contains '{other}'"))
        for key, (one, other) in enumerate(pairs, 1)
    ]


def test_a_plan_that_is_renewed_after_its_queries_changed_still_tells_what_is_in_force() -> None:
    planner = Planner()
    for words in (("sun", "rain", "wind", "hail"), ("fog", "snow", "ice", "dew")):
        planner.put_in_force(queries(*words), lambda source: SourceStatistics(), NOON)
    (before,) = planner.standings(lambda source: SourceStatistics(), NOON)
    (after,) = planner.standings(lambda source: SourceStatistics(items=1000.0, seconds=10.0), NOON)
    assert before.drift is not None
    assert after.drift is not None
    assert after.drift.cost == before.drift.cost
