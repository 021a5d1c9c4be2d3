"""What is shown with an element beside its item: the partners that its feed's joins found for it, and what the feed's
graph patterns bound in it.

An edit removes nothing: an element has the partners of all its revisions, and a partner that was edited appears once,
in the latest revision that was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from feedweir.items.model import Item
from feedweir.items.rdf_terms import Bound
from feedweir.items.schema import items_of
from feedweir.items.string_keys import item_keys
from feedweir.join.constructed import PATTERN
from feedweir.logs.store import Store
from feedweir.plan.predicates import GraphPattern

Annotation: TypeAlias = tuple[tuple[str, tuple[Item, ...]], ...]
"""(join identifier, partners in the order of their arrival), by identifier."""
_Found: TypeAlias = dict[str, list[int]]


def annotations_of(store: Store, feed: int | None, items: Sequence[Item]) -> list[Annotation]:
    """For each of these elements; `feed` is where they are shown. Without it, only what they were made of counts."""
    keys = item_keys((item.source, item.identity) for item in items).tolist()
    rows = store.joined.notes(feed, keys).to_pylist() if feed is not None else []
    by_key: dict[int, dict[int, _Found]] = {}
    for row in rows:
        found = by_key.setdefault(row["item"], {}).setdefault(row["seq"], {})
        found.setdefault(row["join"], []).append(row["partner"])
    known = _numbered(store, {seq for item in items for seq in item.made_of} | _seqs_in(by_key))
    return [_annotation(item, by_key.get(key, {}), known) for item, key in zip(items, keys, strict=True)]


def _annotation(item: Item, wordings: Mapping[int, _Found], known: Mapping[int, Item]) -> Annotation:
    joined: dict[str, dict[tuple[str, str], Item]] = {}
    for seq in sorted(wordings):
        # Two items may have one key.
        if seq != item.seq and (seq not in known or _name(known[seq]) != _name(item)):
            continue
        for join, partners in wordings[seq].items():
            latest = joined.setdefault(join, {})
            for partner in sorted(known.keys() & partners):  # the others have been deleted
                before = latest.get(_name(known[partner]), known[partner])
                latest[_name(before)] = max(before, known[partner], key=lambda one: one.seq)
    by_join = {join: tuple(latest.values()) for join, latest in joined.items()}
    if item.made_of:
        by_join.setdefault(PATTERN, tuple(known[seq] for seq in item.made_of if seq in known))
    return tuple(sorted(by_join.items()))


def _name(item: Item) -> tuple[str, str]:
    return item.source, item.identity


def _seqs_in(by_key: Mapping[int, Mapping[int, _Found]]) -> set[int]:
    """The sequence numbers of elements and partners."""
    found: set[int] = set()
    for wordings in by_key.values():
        found.update(wordings)
        found.update(seq for joins in wordings.values() for seqs in joins.values() for seq in seqs)
    return found


def _numbered(store: Store, seqs: Iterable[int]) -> dict[int, Item]:
    asked = sorted(seqs)
    return {item.seq: item for item in items_of(store.items(asked))} if asked else {}


@lru_cache(maxsize=256)
def selecting_patterns(statement: str, vocabularies: tuple[str, ...] = ()) -> tuple[GraphPattern, ...]:
    """The patterns in a feed's own conditions whose variables its definition selects, with what registered
    vocabularies add; these are given by their statements."""
    if not may_name_variables(statement):
        return ()
    # Imported where there is such a feed: lists read no statements.
    from feedweir.language import parse
    from feedweir.language.defined_names import taxonomy_said
    from feedweir.language.statements import AlterFeed, CreateFeed
    from feedweir.match.meaning.graph_bindings import selecting
    from feedweir.plan.vocabularies import in_vocabularies

    (made,) = parse(statement)
    query = made.query if isinstance(made, CreateFeed | AlterFeed) else None
    if query is None:
        return ()
    found = tuple(pattern for condition in query.where for pattern in selecting(condition.predicate))
    return in_vocabularies(found, taxonomy_said(vocabularies)) if found else ()


def may_name_variables(statement: str) -> bool:
    return "select" in statement.lower()


def bindings_shown(patterns: tuple[GraphPattern, ...], item: Item) -> tuple[Bound, ...]:
    """What their variables are bound to in an item."""
    from feedweir.match.meaning.graph_bindings import selected_bindings

    return selected_bindings(patterns, item)
