"""How far back the history of joins reaches: read from its files alone, so that `status` need not import the joins."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from feedweir.errors import DamagedFileError
from feedweir.logs import seals
from feedweir.storage import Place, places_in

_PATIENCE = 10


def oldest_remembered(joins: Place) -> int:
    """The smallest number of an item in the states of all shards; 0 when nothing is remembered.

    A batch that runs at the same time writes new states and removes old ones; then everything is read again.
    """
    for _ in range(_PATIENCE):
        try:
            return min(_oldest(joins), default=0)
        except FileNotFoundError:
            continue
    return 1  # too busy to know: nothing may be removed


def _oldest(joins: Place) -> Iterator[int]:
    for path in places_in(joins, "**/*.arrow"):
        if path.name.startswith("."):
            continue
        try:
            yield from _numbers_in(path)
        except DamagedFileError:
            yield 1  # it may be rebuilt, from all items
    for path in places_in(joins, "*/state-*.json"):
        yield from _parts_in(path)


def _numbers_in(path: Place) -> Iterator[int]:
    table = seals.opened_arrow(path)
    if "seq" in table.column_names:
        column = table["seq"]
    elif path.name.endswith(".derived.arrow"):
        column = pc.list_flatten(table["items"])
    else:
        return
    known = column.filter(pc.greater(column, 0))
    if len(known):
        yield pc.min(known).as_py()


def _parts_in(path: Place) -> Iterator[int]:
    """The items of constructed documents, as the state notes them."""
    try:
        note = seals.read_json(path).get("note") or {}
    except DamagedFileError:
        yield 1
        return
    yield from (seq for _, made_of, *_ in note.get("parts", ()) for seq in made_of)
