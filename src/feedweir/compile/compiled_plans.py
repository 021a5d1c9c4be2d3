"""Statements read: what each feed is to the matcher. Other processes do this too, so little is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from feedweir.errors import FeedweirError
from feedweir.join.streams import JoinFeed, compile_plan
from feedweir.language import Query as Asked
from feedweir.language.defined_names import Defined, DefinedNames, owner_of_source
from feedweir.language.plan_builder import build
from feedweir.language.queries import Group, Member, Named
from feedweir.optimize.normalisation import OnChange, normalise
from feedweir.optimize.rules.drop_implied import shorter
from feedweir.optimize.rules.resolve_sources import names_sources
from feedweir.optimize.rules.simplify_booleans import simpler
from feedweir.plan import Branch
from feedweir.plan.nodes import EVERY_SOURCE, Node
from feedweir.plan.predicates import (
    TRUE,
    Compare,
    Extends,
    GraphPattern,
    Predicate,
    References,
    SharesLink,
    Similar,
    TreePattern,
    conjunction,
)
from feedweir.plan.query import Query as ItemQuery
from feedweir.plan.query_columns import Columns, wording_of

_ATOMS = (Compare, Similar, References, Extends, SharesLink, TreePattern, GraphPattern)
"""What stands alone in a condition and leaves the rules nothing to do; so do words in any number."""


@dataclass(frozen=True, slots=True)
class CompiledFeeds:
    """What some definitions say: queries in columns, joins over queries, and why the others cannot be compiled."""

    queries: pa.RecordBatch
    joins: tuple[JoinFeed, ...]
    failures: tuple[tuple[str, str], ...]


def read(definitions: Iterable[Defined], names: DefinedNames) -> CompiledFeeds:
    """Every feed as queries or joins. One that cannot be compiled is reported, the rest goes on."""
    columns = Columns()
    joins: list[JoinFeed] = []
    failures: list[tuple[str, str]] = []
    for definition in definitions:
        try:
            if definition.kind == "source":
                columns.add(definition.id, (definition.name,), TRUE, owner_of_source(definition))
            else:
                joins += _read_virtual(definition, names, columns)
        except FeedweirError as error:
            failures.append((definition.name, str(error)))
    return CompiledFeeds(columns.batch(), tuple(joins), tuple(failures))


def _read_virtual(definition: Defined, names: DefinedNames, columns: Columns) -> tuple[JoinFeed, ...]:
    """Write the queries of a virtual feed down; if it has joins, it is these."""
    statement = names.statement_of(definition)
    compiled = compiled_query(definition.id, statement.query, names, feed=definition.name)
    if isinstance(compiled, JoinFeed):
        return (compiled,)
    for query in compiled:
        columns.add(query.key, query.sources, query.predicate, statement.owner)
    return ()


def compiled_query(key: int, query: Asked, names: DefinedNames, *, feed: str) -> list[ItemQuery] | JoinFeed:
    """What the matcher is given for a feed: queries, or joins over queries."""
    straight = straight_branch(query, names)
    if straight is not None:
        sources, predicate = straight
        return [ItemQuery(key, sources, names.understood(predicate))]
    compiled = compile_plan(key, compiled_plan(query, names, feed=feed))
    return replace(compiled, most=query.most) if isinstance(compiled, JoinFeed) else compiled


def compiled_plan(
    query: Asked, names: DefinedNames, *, feed: str = "", on_change: OnChange | None = None
) -> Node:
    """The plan of a query in the form in which it is compiled, tried out and explained."""
    plan = names.understood(build(query, names, feed=feed))
    return normalise(plan, names.plan_of, on_change=on_change)


def straight_branch(query: Asked, names: DefinedNames) -> Branch | None:
    """What the compiled plan of a query comes to, without making the plan: by far the most queries are nothing but
    sources and conditions on all of them, in which no rule changes anything. None when there is anything else."""
    members = _members(query)
    if query.joins or not all(type(one) is Named and _is_source(one.name, names) for one in members):
        return None
    if any(condition.parts for condition in query.where):
        return None
    sources = tuple(dict.fromkeys([one.name for one in members if type(one) is Named]))
    predicates = tuple([condition.predicate for condition in query.where])
    predicate = predicates[0] if len(predicates) == 1 else conjunction(predicates)
    if not _is_normal(predicate):
        return None
    return () if EVERY_SOURCE in sources else sources, predicate


def _is_normal(predicate: Predicate) -> bool:
    """Whether the rules leave a predicate on sources as it is."""
    if isinstance(predicate, _ATOMS) or wording_of(predicate) is not None:
        return True
    return not names_sources(predicate) and shorter(predicate) is simpler(predicate) is predicate


def _members(query: Asked) -> tuple[Member, ...]:
    """What a query reads; a union is laid open if all conditions are on the whole of it."""
    source = query.source
    if type(source) is not Group or source.distinct is not None or source.variable:
        return (source,)
    has_variables = any(one.variable for one in source.members) or any(
        one.variable or one.parts for one in query.where
    )
    return (source,) if has_variables else source.members


def _is_source(name: str, names: DefinedNames) -> bool:
    return name == EVERY_SOURCE or names.kind_of(name) == "source"
