"""A network as it is described in a TOML file: sources, sites, views, and what resources weigh.

documents = ["auctions.xml"]        # what the sources publish is like these

[[sources]]
name = "Auctions"
site = "paris"
feeds_at_most = 2

[sites.lyon]
delay_ms = 12

[[views]]
name = "Items"
site = "lyon"
source = "Auctions"
query = "path //item[location = 'France']->i return cont i"
feeds_at_most = 3
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from feedweir.errors import LanguageError, NetworkError, near
from feedweir.network.latency import Site
from feedweir.network.problem import Source, Weights
from feedweir.network.view_text import tree_branch
from feedweir.network.views import UNLIMITED, View


@dataclass(frozen=True, slots=True)
class Description:
    views: tuple[View, ...]
    sources: tuple[Source, ...]
    sites: Mapping[str, Site]
    weights: Weights
    documents: tuple[str, ...]
    """Files with documents as the sources publish them."""


_TOP = ("documents", "weights", "sources", "sites", "views")
_WEIGHTS = tuple(field.name for field in fields(Weights))


def read_description(text: str) -> Description:
    """The network that a text describes; `NetworkError` names the view, site or source that cannot be used."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NetworkError(f"the description is not TOML: {error}") from error
    _check(told, _TOP, "the description")
    weights = _table(told, "weights", "the description")
    _check(weights, _WEIGHTS, "weights")
    sites = {name: _site(name, site) for name, site in _table(told, "sites", "the description").items()}
    sources = tuple(_source(one) for one in _tables(told, "sources"))
    known = {source.name for source in sources}
    views = tuple(_view(one, known) for one in _tables(told, "views"))
    for what, names in (("source", [s.name for s in sources]), ("view", [v.name for v in views])):
        twice = next((name for name in names if names.count(name) > 1), None) if len(names) < 5_000 else None
        if twice or len(set(names)) < len(names):
            raise NetworkError(f"two of the {what}s have the same name{f', `{twice}`' if twice else ''}")
    return Description(
        views,
        sources,
        sites,
        Weights(**{name: _number(weights, name, "weights", 0.0) for name in weights}),
        tuple(map(str, told.get("documents", ()))),
    )


def _site(name: str, told: Any) -> Site:
    if not isinstance(told, dict):
        raise NetworkError(f"site `{name}` is not described by a table", hint=f"write [sites.{name}]")
    where = f"site `{name}`"
    _check(told, ("delay_ms", "x", "y", "bytes_per_s"), where)
    given = {
        key: _number(told, key, where, 0.0 if key in ("delay_ms", "bytes_per_s") else -1e9) for key in told
    }
    if given.get("bytes_per_s") == 0:
        raise NetworkError(
            f"{where} has no link: `bytes_per_s` is 0", hint="leave the site out, or say its speed"
        )
    return Site(**given)


def _source(told: Any) -> Source:
    name = _text(told, "name", "a source")
    _check(told, ("name", "site", "feeds_at_most"), f"source `{name}`")
    return Source(name, _bound(told, f"source `{name}`"), str(told.get("site", "")))


def _view(told: Any, known: set[str]) -> View:
    name = _text(told, "name", "a view")
    where = f"view `{name}`"
    _check(told, ("name", "site", "source", "query", "queries", "feeds_at_most"), where)
    source = str(told.get("source", next(iter(known)) if len(known) == 1 else ""))
    if source not in known:
        hint = near(source, known) or "every view says which of the [[sources]] it reads"
        raise NetworkError(f"{where} reads an unknown source `{source}`", hint=hint)
    queries = told["queries"] if "queries" in told else [_text(told, "query", where)]
    if not isinstance(queries, list) or not queries:
        raise NetworkError(f"`queries` of {where} is not a list of texts")
    try:
        branches = tuple(tree_branch(str(query), source) for query in queries)
    except LanguageError as error:
        raise NetworkError(f"{where} cannot be read: {error}") from error
    return View(name, _text(told, "site", where), branches, _bound(told, where))


def _bound(told: Mapping[str, Any], where: str) -> int:
    bound = told.get("feeds_at_most", UNLIMITED)
    if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
        raise NetworkError(f"`feeds_at_most` of {where} is not a whole number from 0 on")
    return min(bound, UNLIMITED)


def _text(told: Any, key: str, where: str) -> str:
    value = told.get(key) if isinstance(told, dict) else None
    if not isinstance(value, str) or not value:
        raise NetworkError(f"{where} has no `{key}`")
    return value


def _number(told: Mapping[str, Any], key: str, where: str, least: float) -> float:
    value = told[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < float("inf"):
        raise NetworkError(f"`{key}` of {where} is not a number{' from 0 on' if least == 0 else ''}")
    return float(value)


def _table(told: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found: dict[str, Any] = _of_kind(told.get(key, {}), dict, key, where)
    return found


def _tables(told: Mapping[str, Any], key: str) -> list[Any]:
    found: list[Any] = _of_kind(told.get(key, []), list, key, "the description")
    return found


def _of_kind(value: Any, kind: type, key: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise NetworkError(f"`{key}` in {where} is not a {'table' if kind is dict else 'list of tables'}")
    return value


def _check(told: Any, known: tuple[str, ...], where: str) -> None:
    unknown = next((key for key in told if key not in known), None) if isinstance(told, dict) else None
    if unknown is not None:
        raise NetworkError(
            f"{where} has no setting `{unknown}`", hint=near(unknown, known) or ", ".join(known)
        )
