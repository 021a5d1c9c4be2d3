"""From definitions to the compiled set in force: one for each version of the catalog."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from feedweir.catalog import Catalog, Definition, Failure
from feedweir.engine.sets import current_version, install_set
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.keeper.names import DefinedNames
from feedweir.match import open_set
from feedweir.plan import branches, expand
from feedweir.plan.predicates import TRUE
from feedweir.plan.query import Query


@dataclass(frozen=True, slots=True)
class Compilation:
    """The queries of all feeds that can be compiled, and why the others cannot."""

    queries: tuple[Query, ...]
    failures: tuple[tuple[str, str], ...]


def put_in_force(catalog: Catalog, sets: Path, now: datetime) -> int:
    """Compile what the catalog defines, unless it is in force already; returns the version in force."""
    version = catalog.feeds.version()
    if current_version(sets) == version:
        return version
    return _compile(catalog, sets, version, now)


def repair(catalog: Catalog, sets: Path, now: datetime) -> bool:
    """Compile the set in force again if it cannot be read; whether that was so."""
    version = current_version(sets)
    if version is None:
        return False
    try:
        open_set(sets / str(version))
    except CompiledSetError:
        shutil.rmtree(sets / str(version), ignore_errors=True)
        _compile(catalog, sets, version, now)
        return True
    return False


def _compile(catalog: Catalog, sets: Path, version: int, now: datetime) -> int:
    version, definitions = catalog.feeds.definitions(version)
    compilation = compile_definitions(definitions)
    install_set(sets, version, compilation.queries)
    catalog.failures.record(
        [Failure(kind="feed", resource=name, at=now, reason=reason) for name, reason in compilation.failures]
    )
    return version


def compile_definitions(definitions: tuple[Definition, ...]) -> Compilation:
    """Every feed as queries. One that cannot be compiled is reported, and the rest goes on."""
    names = DefinedNames(definitions)
    queries: list[Query] = []
    failures: list[tuple[str, str]] = []
    for definition in definitions:
        try:
            queries += _queries(definition, names)
        except FeedweirError as error:
            failures.append((definition.name, str(error)))
    return Compilation(tuple(queries), tuple(failures))


def _queries(definition: Definition, names: DefinedNames) -> Iterator[Query]:
    plan = names.plan_of(definition.name)
    if plan is None:
        return iter([Query(definition.id, (definition.name,), TRUE)])
    ways = branches(expand(plan, names.plan_of))
    return iter([Query(definition.id, sources, predicate) for sources, predicate in ways])
