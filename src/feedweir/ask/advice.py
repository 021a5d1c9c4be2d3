"""Advice for new feeds: what they have in common with existing ones.

What contains a feed, or equals it, wants every item that the feed wants: items are invented for each new feed, and the
sets that answer questions tell who wants all of them. Whether those few really contain it is then proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import numpy as np

from feedweir.ask.matching_feeds import found_in
from feedweir.ask.outcome import ScriptContext
from feedweir.catalog import FeedRecord
from feedweir.compile.compiled_plans import compiled_query
from feedweir.compile.known_sets import KnownSet, KnownSets, Remembered
from feedweir.errors import FeedweirError
from feedweir.items.model import Item
from feedweir.join.streams import JoinFeed
from feedweir.language import feeds_used
from feedweir.language.defined_names import DefinedNames
from feedweir.language.statements import CreateFeed
from feedweir.match.sets.compiled_set import CompiledSet, compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.optimize.containment import Advice, Filters, filters_of, relations
from feedweir.optimize.specimens import specimens_of
from feedweir.plan.query import Query

MOST_ADVISED = 200
"""Feeds of one script that are looked at."""
MOST_COMPARED = 12
"""Feeds that a new one is compared with: of those that may contain it the newest."""
FEW_READERS = 12
"""Others that read the same: so many are compared, as a feed may contain them."""
MOST_TOLD = 5


def advice_for(
    created: Sequence[CreateFeed], script: ScriptContext, known: KnownSets | None
) -> dict[str, tuple[str, ...]]:
    """By name of a created feed what is worth knowing of it; feeds with joins are not compared."""
    looked_at = [one for one in created[:MOST_ADVISED] if script.names.kind_of(one.name) == "virtual"]
    if not looked_at:
        return {}
    asked = known.at_hand() if known is not None else ()
    filters = known.filters() if known is not None else {}
    with script.catalog.snapshot():
        return _advice(created, looked_at, script, asked, filters)


def _advice(
    created: Sequence[CreateFeed],
    looked_at: Sequence[CreateFeed],
    script: ScriptContext,
    asked: Sequence[KnownSet],
    filters: Remembered,
) -> dict[str, tuple[str, ...]]:
    queries = {one.name: _queries(one.name, script.names) for one in looked_at}
    advice_by_name = _related(
        [one for one in looked_at if queries[one.name]], queries, script, asked, filters
    )
    for name, notes in _notes(queries, script, asked).items():
        advice_by_name[name] = (*advice_by_name.get(name, ()), *(f"{name}: {note}" for note in notes))
    left_out = len(created) - (min(len(created), MOST_ADVISED) if asked else 0)
    if left_out:
        advice_by_name[created[-1].name] = (
            f"{left_out} of {len(created)} new feeds were not compared with all others",
        )
    return {name: advice for name, advice in advice_by_name.items() if advice}


def notes_of(name: str, names: DefinedNames) -> tuple[str, ...]:
    """What the matcher reports about a feed: that it is costly, or not found by all its conjunctions."""
    queries = _queries(name, names)
    return tuple(text for _, text in _notes_of(compiled_in_memory(table_of(queries)))) if queries else ()


def _notes(
    queries: Mapping[str, Sequence[Query] | None], script: ScriptContext, asked: Sequence[KnownSet]
) -> dict[str, list[str]]:
    """The same of several, from where they have been compiled already; the others are compiled together."""
    named = {script.made[name]: name for name in queries}
    known = {id_ for one in asked for id_ in named if id_ in one.feeds and id_ not in one.outdated}
    rest = [
        replace(query, key=id_)
        for id_, name in named.items()
        if id_ not in known
        for query in queries[name] or ()
    ]
    compiled = [one.compiled for one in asked if one.feeds & known]
    compiled += [compiled_in_memory(table_of(rest))] if rest else []
    found: dict[str, list[str]] = {}
    for key, text in (one for some in compiled for one in _notes_of(some)):
        if key in named:
            found.setdefault(named[key], []).append(text)
    return found


def _notes_of(compiled: CompiledSet) -> Iterator[tuple[int, str]]:
    return ((note.key, note.text) for note in compiled.notes if note.kind != "never")


# Relations


def _related(
    created: Sequence[CreateFeed],
    queries: Mapping[str, Sequence[Query] | None],
    script: ScriptContext,
    asked: Sequence[KnownSet],
    filters: Remembered,
) -> dict[str, tuple[str, ...]]:
    specimens = {one.name: specimens_of(queries[one.name] or ()) if asked else [] for one in created}
    wanting = _wanting_all(specimens, asked)
    near = {one.name: _near(one, wanting[one.name], specimens[one.name], script) for one in created}
    others = script.catalog.feeds.with_ids(id_ for ids, _ in near.values() for id_ in ids)
    by_id = {record.id: record for record in others if record.kind == "virtual"}
    for record in by_id.values():
        script.names.put(record)
    advice_by_name = {}
    for name, (ids, left_out) in near.items():
        mine = filters[script.made[name]] = filters_of(queries[name] or ())
        compared = {
            by_id[id_].name: _filters(by_id[id_], script.names, filters) for id_ in ids if id_ in by_id
        }
        existing = {one: each for one, each in compared.items() if each is not None}
        found = sorted(relations(mine, existing), key=_weight)
        sentences = [_sentence(name, one) for one in found[:MOST_TOLD]]
        if left_out:
            sentences.append(f"{left_out} more feeds may contain {name} and were not compared")
        if asked and not specimens[name] and Advice("never") not in found:
            sentences.append(f"{name} was compared only with feeds that read the same")
        advice_by_name[name] = tuple(sentences)
    return advice_by_name


def _wanting_all(
    specimens: Mapping[str, Sequence[Item]], asked: Sequence[KnownSet]
) -> dict[str, tuple[int, ...]]:
    """By name of a feed who wants all of its specimens, the newest first."""
    items = [item for some in specimens.values() for item in some]
    wanting: list[set[int]] = [set() for _ in items]
    for one in asked if items else ():
        matches = found_in(one.compiled, items, None)
        for row, key in zip(matches.rows.tolist(), matches.keys.tolist(), strict=True):
            if key > 0 and key not in one.outdated:
                wanting[row].add(key)
    ends = np.cumsum([0, *map(len, specimens.values())]).tolist()
    each = (wanting[first:last] for first, last in pairwise(ends))
    common = (reduce(set.intersection, some) if some else set() for some in each)
    return {name: tuple(sorted(ids, reverse=True)) for name, ids in zip(specimens, common, strict=True)}


def _near(
    statement: CreateFeed, wanting: Sequence[int], specimens: Sequence[Item], script: ScriptContext
) -> tuple[list[int], int]:
    """The feeds that a new one is compared with, and how many more may contain it."""
    feed = script.made[statement.name]
    readers = script.catalog.feeds.few_readers(feeds_used(statement.query), FEW_READERS + 1)
    containing = [id_ for id_ in wanting if id_ != feed]
    if len(containing) > MOST_COMPARED:
        sources = {one.id for one in script.catalog.feeds.several({item.source for item in specimens})}
        containing = [id_ for id_ in containing if id_ not in sources]
    chosen = dict.fromkeys((*containing[:MOST_COMPARED], *(id_ for id_ in readers if id_ != feed)))
    return list(chosen), len(set(containing) - chosen.keys())


def _weight(advice: Advice) -> int:
    """What counts most comes first."""
    return ("never", "equal", "contained", "contains").index(advice.relation)


def _sentence(name: str, advice: Advice) -> str:
    return f"{name} is {advice}" if advice.relation in ("equal", "contained") else f"{name} {advice}"


def _filters(feed: FeedRecord, names: DefinedNames, known: Remembered) -> Filters | None:
    if feed.id not in known:
        queries = _queries(feed.name, names)
        known[feed.id] = None if queries is None else filters_of(queries)
    return known[feed.id]


def _queries(name: str, names: DefinedNames) -> list[Query] | None:
    """A virtual feed as queries; none of one with joins, or that cannot be compiled."""
    query = names.query_of(name)
    if query is None:
        return None
    try:
        compiled = compiled_query(0, query, names, feed=name)
    except FeedweirError:
        return None
    return None if isinstance(compiled, JoinFeed) else compiled
