"""How the matcher came to its answer about an item and a feed: which atom made it a candidate, which clause refused."""

from __future__ import annotations

from collections.abc import Iterator

from feedweir.engine.join_plans import JoinFeed, JoinSet, compile_plan
from feedweir.engine.why import Clause
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.items.model import Item
from feedweir.language import format_predicate
from feedweir.match import CompiledSet, Explanation
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.plan.explain import label
from feedweir.plan.nodes import Node
from feedweir.plan.query import Query


def candidacy(feed: int, plan: Node, item: Item, in_force: CompiledSet | None = None) -> tuple[Clause, ...]:
    """What the matcher tells of an expanded plan: one clause, or one for each stream that its joins read.

    The set in force tells it by the atoms that it really goes by; without it, or when it cannot be read or does not
    have the feed, the plan is compiled by itself.
    """
    try:
        compiled = compile_plan(feed, plan)
    except FeedweirError as error:
        return (Clause("matched", False, f"it cannot be compiled: {error}"),)
    if isinstance(compiled, JoinFeed):
        joins = JoinSet([compiled])
        queries, streams = joins.queries(), {key: label(node) for key, node in joins.found.items()}
    else:
        queries, streams = compiled, {feed: ""}
    told = _told(in_force, streams, item) or _told(_alone(queries), streams, item)
    return tuple(told or ())


def _alone(queries: list[Query]) -> CompiledSet:
    return compiled_in_memory(table_of(queries))


def _told(compiled: CompiledSet | None, streams: dict[int, str], item: Item) -> list[Clause] | None:
    if compiled is None:
        return None
    try:
        return [_clause(stream, compiled.explain(item, key)) for key, stream in streams.items()]
    except CompiledSetError:
        return None


def _clause(stream: str, told: Explanation) -> Clause:
    text = f"matched as {stream}" if stream else "matched"
    return Clause(text, told.is_match, "; ".join(_notes(told)))


def _notes(told: Explanation) -> Iterator[str]:
    if told.candidate_by:
        yield f"a candidate by {told.candidate_by}"
    else:
        yield f"no candidate: it lacks {told.lacked}" if told.lacked else "no candidate: nothing can find it"
    if told.refused_by is not None:
        yield f"refused by {format_predicate(told.refused_by)}"
