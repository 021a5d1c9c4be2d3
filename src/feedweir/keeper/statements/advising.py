"""What new feeds have in common with those that are there, told to whoever creates them."""

from __future__ import annotations

from collections.abc import Sequence

from feedweir.engine.advising import Filters, filters_of, relations
from feedweir.engine.join_plans import JoinFeed, compile_plan
from feedweir.errors import FeedweirError
from feedweir.keeper.names import DefinedNames
from feedweir.keeper.statements.outcome import Desk
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.optimize.advice import Advice
from feedweir.plan import expand
from feedweir.plan.query import Query

MOST_CREATED = 8
"""Feeds of one script that are looked at: whoever creates thousands does not read thousands of remarks."""
MOST_COMPARED = 1_000
"""Feeds that a new one is compared with: those that read the same feeds, the newest first."""
MOST_TOLD = 5


def advice_for(created: Sequence[str], desk: Desk) -> dict[str, tuple[str, ...]]:
    """By name of a created feed what is worth knowing of it; feeds with joins are not compared."""
    if not 0 < len(created) <= MOST_CREATED:
        return {}
    records = {record.name: record for record in desk.catalog.feeds.all(kind="virtual")}
    found: dict[str, tuple[str, ...]] = {}
    for name in created:
        filters = _filters(name, desk.names)
        if filters is None or name not in records:
            continue
        reads = set(records[name].reads)
        near = [record for record in records.values() if record.name != name and reads & set(record.reads)]
        near.sort(key=lambda record: -record.id)
        others = {record.name: _filters(record.name, desk.names) for record in near[:MOST_COMPARED]}
        told = relations(filters, {other: each for other, each in others.items() if each is not None})
        notes = [f"{name}: {note}" for note in notes_of(name, desk.names)]
        if told or notes:
            found[name] = (*(_sentence(name, one) for one in told[:MOST_TOLD]), *notes)
    return found


def notes_of(name: str, names: DefinedNames) -> tuple[str, ...]:
    """What the matcher tells of a feed: that it is costly, or found in another way than by all its conjunctions."""
    queries = _queries(name, names)
    notes = compiled_in_memory(table_of(queries)).notes if queries else ()
    return tuple(note.text for note in notes if note.kind != "never")


def _sentence(name: str, advice: Advice) -> str:
    return f"{name} is {advice}" if advice.relation in ("equal", "contained") else f"{name} {advice}"


def _filters(name: str, names: DefinedNames) -> Filters | None:
    queries = _queries(name, names)
    return None if queries is None else filters_of(queries)


def _queries(name: str, names: DefinedNames) -> list[Query] | None:
    """A virtual feed as queries; none of one with joins, or that cannot be compiled."""
    plan = names.plan_of(name)
    if plan is None:
        return None
    try:
        compiled = compile_plan(0, expand(plan, names.plan_of))
    except FeedweirError:
        return None
    return None if isinstance(compiled, JoinFeed) else compiled
