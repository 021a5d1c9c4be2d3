"""Rows of R_L in memory, by (string value, variable): a hash table of slices, arrays in and arrays out.

```
table    value, variable ─▶ slot            open addressing; EMPTY where nothing is
slices   slot ─▶ start, size, room
arena    start ┌ document  time  check  path ┐     rows of one key, by document
               │    …                        │ size
               └ (free)                      ┘ room
```

A slice holds the rows of one key in document order. It has room to grow; a slice that outgrows its room moves to the
end of the arena. All arrays are owned by `view_cache.ViewCache`, which makes them larger between calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit

EMPTY = -1


class Table(NamedTuple):
    """Open addressing over (value, variable); `slot` is EMPTY where nothing is."""

    value: NDArray[np.int64]
    variable: NDArray[np.int64]
    slot: NDArray[np.int64]


class Slices(NamedTuple):
    """Slot s holds the arena rows start[s] to start[s] + size[s]."""

    start: NDArray[np.int64]
    size: NDArray[np.int64]
    room: NDArray[np.int64]


class Arena(NamedTuple):
    document: NDArray[np.int64]
    time: NDArray[np.int64]
    check: NDArray[np.int64]
    """The second half of the value's key."""
    path: NDArray[np.int32]
    """(rows, path nodes), -1 after the last."""


class View(NamedTuple):
    """R_L as far as it is held: what `view_cache.ViewCache` hands to kernels."""

    table: Table
    slices: Slices
    arena: Arena


@njit(inline="always")
def _home(value, variable, mask):  # type: ignore[no-untyped-def]
    mixed = np.uint64(value) ^ (np.uint64(variable) * np.uint64(0x9E3779B97F4A7C15))
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(20)) & np.uint64(mask))


@njit(cache=True)
def find(table, value, variable):  # type: ignore[no-untyped-def]
    """The slot of a key, or EMPTY."""
    mask = len(table.slot) - 1
    at = _home(value, variable, mask)
    while table.slot[at] != EMPTY:
        if table.value[at] == value and table.variable[at] == variable:
            return table.slot[at]
        at = (at + 1) & mask
    return EMPTY


@njit(cache=True)
def find_all(table, values, variables):  # type: ignore[no-untyped-def]
    found = np.empty(len(values), np.int64)
    for place in range(len(values)):
        found[place] = find(table, values[place], variables[place])
    return found


@njit(cache=True)
def enter(table, values, variables, used):  # type: ignore[no-untyped-def]
    """Slots of the keys, new ones numbered from `used` on: (slots, used). The table has room."""
    mask = len(table.slot) - 1
    slots = np.empty(len(values), np.int64)
    for place in range(len(values)):
        at = _home(values[place], variables[place], mask)
        while table.slot[at] != EMPTY:
            if table.value[at] == values[place] and table.variable[at] == variables[place]:
                break
            at = (at + 1) & mask
        if table.slot[at] == EMPTY:
            table.value[at] = values[place]
            table.variable[at] = variables[place]
            table.slot[at] = used
            used += 1
        slots[place] = table.slot[at]
    return slots, used


@njit(cache=True)
def room_needed(slots, slices):  # type: ignore[no-untyped-def]
    """How many arena rows appending one row to each of these (sorted) slots may take."""
    total = 0
    place = 0
    while place < len(slots):
        after = place
        while after < len(slots) and slots[after] == slots[place]:
            after += 1
        slot = slots[place]
        if slices.size[slot] + after - place > slices.room[slot]:
            total += 2 * (slices.size[slot] + after - place)
        place = after
    return total


@njit(cache=True)
def append(slots, slices, arena, used, document, time, check, path):  # type: ignore[no-untyped-def]
    """Append rows to their (sorted) slots; the new end of the arena."""
    place = 0
    while place < len(slots):
        after = place
        while after < len(slots) and slots[after] == slots[place]:
            after += 1
        slot = slots[place]
        wanted = slices.size[slot] + after - place
        if wanted > slices.room[slot]:
            start = slices.start[slot]
            for row in range(slices.size[slot]):
                arena.document[used + row] = arena.document[start + row]
                arena.time[used + row] = arena.time[start + row]
                arena.check[used + row] = arena.check[start + row]
                arena.path[used + row] = arena.path[start + row]
            slices.start[slot] = used
            slices.room[slot] = wanted if slices.size[slot] == 0 else 2 * wanted
            used += slices.room[slot]
        for row in range(place, after):
            at = slices.start[slot] + slices.size[slot]
            arena.document[at] = document[row]
            arena.time[at] = time[row]
            arena.check[at] = check[row]
            arena.path[at] = path[row]
            slices.size[slot] += 1
        place = after
    return used
