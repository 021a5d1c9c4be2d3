"""Tables of bindings and their natural join, by which edges are found to hang together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)
Table = tuple[tuple[str, ...], list[tuple[Value, ...]]]
"""(the names of its columns, its rows)."""


def joined(tables: Iterable[Table[Value]]) -> Table[Value]:
    """The natural join of tables, the smallest first; one without rows ends it."""
    found: Table[Value] = ((), [()])
    for one in sorted(tables, key=lambda table: len(table[1])):
        found = natural_join(found, one)
        if not found[1]:
            return found
    return found


def natural_join(one: Table[Value], other: Table[Value]) -> Table[Value]:
    """Rows of both that agree where they have a column of the same name."""
    names, more = one[0], other[0]
    shared = [name for name in more if name in names]
    own = [place for place, name in enumerate(more) if name not in names]
    at_one, at_other = [names.index(name) for name in shared], [more.index(name) for name in shared]
    by_key: dict[tuple[Value, ...], list[tuple[Value, ...]]] = {}
    for row in other[1]:
        by_key.setdefault(tuple(row[place] for place in at_other), []).append(tuple(row[p] for p in own))
    rows = dict.fromkeys(
        row + more_of_row
        for row in one[1]
        for more_of_row in by_key.get(tuple(row[place] for place in at_one), ())
    )
    return (*names, *(more[place] for place in own)), list(rows)


def table_of(names: Sequence[str], rows: Iterable[Sequence[Value]]) -> Table[Value]:
    """A table whose columns have names once: rows that give one name two values are left out."""
    distinct = tuple(dict.fromkeys(names))
    found: dict[tuple[Value, ...], None] = {}
    for row in rows:
        given: dict[str, Value] = {}
        if all(given.setdefault(name, value) == value for name, value in zip(names, row, strict=True)):
            found[tuple(given[name] for name in distinct)] = None
    return distinct, list(found)
