"""From definitions to the compiled set in force: one for each version of the catalog."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from feedweir.catalog import Catalog, Definition, Failure
from feedweir.engine.directory import current_version
from feedweir.engine.join_plans import JoinFeed, compile_plan, load_joins
from feedweir.engine.sets import Plan, install_set, joins_path, unplanned
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.keeper.names import DefinedNames
from feedweir.match import open_set
from feedweir.plan import expand
from feedweir.plan.nodes import Node, Source
from feedweir.plan.query import Query


@dataclass(frozen=True, slots=True)
class Compilation:
    """All feeds that can be compiled, as queries or as joins over queries, and why the others cannot."""

    queries: tuple[Query, ...]
    failures: tuple[tuple[str, str], ...]
    joins: tuple[JoinFeed, ...] = ()


def put_in_force(catalog: Catalog, sets: Path, now: datetime, plan: Plan = unplanned) -> int:
    """Compile what the catalog defines, unless it is in force already; returns the version in force."""
    version = catalog.feeds.version()
    if current_version(sets) == version:
        return version
    return _compile(catalog, sets, version, now, plan)


def repair(catalog: Catalog, sets: Path, now: datetime, plan: Plan = unplanned) -> bool:
    """Compile the set in force again if it cannot be read; whether that was so."""
    version = current_version(sets)
    if version is None:
        return False
    try:
        open_set(sets / str(version))
        load_joins(joins_path(sets, version))
    except CompiledSetError:
        shutil.rmtree(sets / str(version), ignore_errors=True)
        _compile(catalog, sets, version, now, plan)
        return True
    return False


def _compile(catalog: Catalog, sets: Path, version: int, now: datetime, plan: Plan) -> int:
    version, definitions = catalog.feeds.definitions(version)
    compilation = compile_definitions(definitions)
    install_set(sets, version, compilation.queries, compilation.joins, plan)
    catalog.failures.record(
        [Failure(kind="feed", resource=name, at=now, reason=reason) for name, reason in compilation.failures]
    )
    return version


def compile_definitions(definitions: tuple[Definition, ...]) -> Compilation:
    """Every feed as queries or joins. One that cannot be compiled is reported, and the rest goes on."""
    names = DefinedNames(definitions)
    queries: list[Query] = []
    joins: list[JoinFeed] = []
    failures: list[tuple[str, str]] = []
    for definition in definitions:
        try:
            compiled = compile_plan(definition.id, plan_of(definition, names))
        except FeedweirError as error:
            failures.append((definition.name, str(error)))
            continue
        if isinstance(compiled, JoinFeed):
            joins.append(compiled)
        else:
            queries += compiled
    return Compilation(tuple(queries), tuple(failures), tuple(joins))


def plan_of(definition: Definition, names: DefinedNames) -> Node:
    """The plan of a feed with every virtual feed replaced by its definition."""
    plan = names.plan_of(definition.name)
    return Source(definition.name) if plan is None else expand(plan, names.plan_of)
