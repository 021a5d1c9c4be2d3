"""How the matcher came to its answer about an item and a feed: which atom made it a candidate, which clause refused."""

from __future__ import annotations

from collections.abc import Iterator

from feedweir.ask.why import Clause
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.items.model import Item
from feedweir.join.streams import JoinFeed, JoinSet, compile_plan
from feedweir.language import format_predicate
from feedweir.language.plan_text import label
from feedweir.match import CompiledSet, Explanation
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.nodes import Node
from feedweir.plan.query import Query


def candidacy(feed: int, plan: Node, item: Item, in_force: CompiledSet | None = None) -> tuple[Clause, ...]:
    """What the matcher reports about an expanded plan: one clause, or one for each stream that its joins read.

    The set in force explains it by the atoms that it really goes by; without it, or when it cannot be read or does not
    have the feed, the plan is compiled by itself.
    """
    try:
        compiled = compile_plan(feed, plan)
    except FeedweirError as error:
        return (Clause("matched", False, f"it cannot be compiled: {error}"),)
    if isinstance(compiled, JoinFeed):
        joins = JoinSet([compiled])
        queries, streams = joins.queries(), {key: label(node) for key, node in joins.matched.items()}
    else:
        queries, streams = compiled, {feed: ""}
    clauses = _clauses(in_force, streams, item) or _clauses(_alone(queries), streams, item)
    return tuple(clauses or ())


def _alone(queries: list[Query]) -> CompiledSet:
    return compiled_in_memory(table_of(queries))


def _clauses(compiled: CompiledSet | None, streams: dict[int, str], item: Item) -> list[Clause] | None:
    if compiled is None:
        return None
    try:
        return [_clause(stream, compiled.explain(item, key)) for key, stream in streams.items()]
    except CompiledSetError:
        return None


def _clause(stream: str, explanation: Explanation) -> Clause:
    text = f"matched as {stream}" if stream else "matched"
    return Clause(text, explanation.is_match, "; ".join(_notes(explanation)))


def _notes(explanation: Explanation) -> Iterator[str]:
    if explanation.candidate_by:
        yield f"a candidate by {explanation.candidate_by}"
    else:
        yield (
            f"not a candidate: it lacks {explanation.lacked}"
            if explanation.lacked
            else "not a candidate: nothing can find it"
        )
    if explanation.refused_by is not None:
        yield f"ruled out by {format_predicate(explanation.refused_by)}"
