"""Statements read: what each feed is to the matcher. Other processes do this too, so little is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from feedweir.engine.join_plans import JoinFeed, compile_plan
from feedweir.errors import FeedweirError
from feedweir.keeper.names import Defined, DefinedNames, owner_of_source
from feedweir.language import Query as Asked
from feedweir.language.statements import EVERY_SOURCE, Group, Member, Named
from feedweir.plan import Branch, build, expand
from feedweir.plan.build import conjunction
from feedweir.plan.columns import Columns
from feedweir.plan.predicates import TRUE


@dataclass(frozen=True, slots=True)
class Reading:
    """What some definitions say: queries in columns, joins over queries, and why the others cannot be compiled."""

    queries: pa.RecordBatch
    joins: tuple[JoinFeed, ...]
    failures: tuple[tuple[str, str], ...]


def read(definitions: Iterable[Defined], names: DefinedNames) -> Reading:
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
    return Reading(columns.batch(), tuple(joins), tuple(failures))


def _read_virtual(definition: Defined, names: DefinedNames, columns: Columns) -> tuple[JoinFeed, ...]:
    """Write the queries of a virtual feed down; if it has joins, it is these."""
    statement = names.statement_of(definition)
    straight = straight_branch(statement.query, names)
    if straight is not None:
        columns.add(definition.id, *straight, statement.owner)
        return ()
    plan = expand(build(statement.query, names, feed=definition.name), names.plan_of)
    compiled = compile_plan(definition.id, plan)
    if isinstance(compiled, JoinFeed):
        return (compiled,)
    for query in compiled:
        columns.add(query.key, query.sources, query.predicate, statement.owner)
    return ()


def straight_branch(query: Asked, names: DefinedNames) -> Branch | None:
    """What the plan of a query over sources comes to, without making the plan: by far the most queries are nothing but
    sources and conditions on all of them. None when there is anything else."""
    members = _members(query)
    if query.joins or not all(type(one) is Named and _is_source(one.name, names) for one in members):
        return None
    sources = tuple(dict.fromkeys([one.name for one in members if type(one) is Named]))
    predicates = tuple([condition.predicate for condition in query.where])
    predicate = predicates[0] if len(predicates) == 1 else conjunction(predicates)
    return () if EVERY_SOURCE in sources else sources, predicate


def _members(query: Asked) -> tuple[Member, ...]:
    """What a query reads; a union is laid open if all conditions are on the whole of it."""
    source = query.source
    if type(source) is not Group or source.distinct is not None or source.variable:
        return (source,)
    has_variables = any(one.variable for one in source.members) or any(one.variable for one in query.where)
    return (source,) if has_variables else source.members


def _is_source(name: str, names: DefinedNames) -> bool:
    return name == EVERY_SOURCE or names.kind_of(name) == "source"
