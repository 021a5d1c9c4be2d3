"""The conjunctive query of a template over all its queries at once, on flat arrays.

The later document c of a pair is in the batch, the earlier one p anywhere before it. For each kind of value edge
(variable of c, variable of p) the batch's rows meet the slices of R_L with the same string value: R_L join R_R. A row
of R_T is begun with its rarest edge, and its other edges are verified on the pairs found.

```
Rows (R_R)        document c ─▶ rows ptr[c]..ptr[c+1], by variable        what the batch binds
                                 │ value
View (R_L)        (value, variable) ─▶ slot ─▶ rows of the arena, by document    what history binds
                                 │
Met               kind of edge ─▶ (row of c, slot)                        `meet`: both have the value
                                 │
Relation (R_T)    row g ─▶ kinds of its edges ─▶ the rarest one           `starts`
                                 │
matches           (g, p, c, shortest window)                              `conjunctive`, by `_verify`
```
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.join.array_kernels import doubled, first_from
from feedweir.join.patterns.arena_kernels import EMPTY, find
from feedweir.kernels import njit

NONE = -1


class Rows(NamedTuple):
    """R_R: the batch's rows by document, then variable; document d has rows ptr[d] to ptr[d + 1]."""

    ptr: NDArray[np.int64]
    variable: NDArray[np.int32]
    value: NDArray[np.int64]
    check: NDArray[np.int64]
    path: NDArray[np.int32]
    document: NDArray[np.int32]


class Documents(NamedTuple):
    """The batch's documents: number in the stream, item time, clock, and whether an earlier one has a later time."""

    number: NDArray[np.int64]
    time: NDArray[np.int64]
    clock: NDArray[np.int64]
    is_late: NDArray[np.bool_]


class Kinds(NamedTuple):
    """Kinds of edges (near variable, of c; far variable, of p), listed by near variable: ptr[v] to ptr[v + 1]."""

    ptr: NDArray[np.int64]
    far: NDArray[np.int64]
    """The far variable's stable number."""
    role: NDArray[np.int8]
    """Which side c is on: 1 when c is on the right."""
    is_symmetric: NDArray[np.bool_]
    """Some query joins in both directions; otherwise c can be on the left only when it is late."""


class Relation(NamedTuple):
    """R_T. Of each end its side; of each edge its two ends; of each row (by role) the kinds of its edges."""

    side: NDArray[np.int8]
    edge_left: NDArray[np.int32]
    edge_right: NDArray[np.int32]
    variables: NDArray[np.int32]
    numbers: NDArray[np.int64]
    shared: NDArray[np.int32]
    mode: NDArray[np.int8]
    length: NDArray[np.int64]
    kinds: NDArray[np.int32]


class Met(NamedTuple):
    """R_L join R_R: what the batch's rows meet, by kind of edge; kind k has the entries ptr[k] to ptr[k + 1]."""

    entries: NDArray[np.int64]
    """(kind, row of the batch, slot of R_L)."""
    ptr: NDArray[np.int64]


class Begins(NamedTuple):
    """The rows of R_T that begin with an edge of kind k are row[ptr[k]:ptr[k + 1]]; `edge` is which of theirs."""

    ptr: NDArray[np.int64]
    row: NDArray[np.int64]
    edge: NDArray[np.int32]


class Limits(NamedTuple):
    """How far back partners may be, and how much may be found and tried."""

    oldest: int
    """The first document that any window reaches."""
    lateness: int
    max_documents: int
    room: int
    """Matches, all together."""
    max_steps: int
    """Of one row of R_T."""


class Search(NamedTuple):
    """Where the search through the edges of one row of R_T stands, for one pair of documents.

    ```
    chosen  by end: its row, in the batch for an end of c, in the arena for one of p; NONE as long as it is open
    cursor  by edge │ ROW ─▶ ROW_STOP │ rows of c that are still to be tried for its end
                    │ AT  ─▶ AT_STOP  │ rows of p with the value of row OF that are still to be tried
                    │ OF              │ the row of c that is being tried
    own     by edge │ of c, of p      │ whether the edge chooses the row of that end, or another edge has
    ```
    """

    chosen: NDArray[np.int64]
    cursor: NDArray[np.int64]
    own: NDArray[np.bool_]


ROW, ROW_STOP, AT, AT_STOP, OF = range(5)


@njit(cache=True)
def meet(rows, documents, kinds, view, first, last):  # type: ignore[no-untyped-def]
    """R_L join R_R for the documents first..last: (kind, row, slot) of each non-empty slice, and sizes by kind."""
    sizes = np.zeros(len(kinds.far), np.int64)
    found = np.empty((64, 3), np.int64)
    count = 0
    for document in range(first, last):
        for row in range(rows.ptr[document], rows.ptr[document + 1]):
            variable = rows.variable[row]
            for kind in range(kinds.ptr[variable], kinds.ptr[variable + 1]):
                if kinds.role[kind] == 0 and not kinds.is_symmetric[kind] and not documents.is_late[document]:
                    continue
                slot = find(view.table, rows.value[row], kinds.far[kind])
                if slot == EMPTY or view.slices.size[slot] == 0:
                    continue
                sizes[kind] += view.slices.size[slot]
                if count == len(found):
                    found = doubled(found)
                found[count, 0] = kind
                found[count, 1] = row
                found[count, 2] = slot
                count += 1
    return found[:count], sizes


@njit(cache=True)
def starts(kinds_of, sizes):  # type: ignore[no-untyped-def]
    """Of each row of R_T the edge with the fewest pairs, or NONE when one of its edges has none."""
    chosen = np.empty(len(kinds_of), np.int32)
    for row in range(len(kinds_of)):
        best = 0
        for edge in range(kinds_of.shape[1]):
            size = sizes[kinds_of[row, edge]]
            if size == 0:
                best = NONE
                break
            if size < sizes[kinds_of[row, best]]:
                best = edge
        chosen[row] = best
    return chosen


@njit(inline="always")
def _needed(mode, role, near_time, far_time, clock, lateness):  # type: ignore[no-untyped-def]
    """The shortest window with which the two documents join; NONE when no window does. Counts are 0 for now."""
    if mode >= 2:
        return 0 if mode == 3 or role == 1 else NONE
    apart = near_time - far_time if role == 1 else far_time - near_time
    if mode == 0 and apart <= 0:
        return NONE
    return max(abs(apart), clock - far_time - lateness)


@njit(inline="always")
def _agrees(relation, g, end, path, chosen, paths_c, paths_p, near):  # type: ignore[no-untyped-def]
    """Whether a row's path agrees with those of the ends already chosen on the same side."""
    side = relation.side[end]
    paths = paths_c if side == near else paths_p
    for other in range(len(relation.side)):
        if other == end or relation.side[other] != side or chosen[other] == NONE:
            continue
        low, high = min(end, other), max(end, other)
        common = np.int32(1 << 30)
        for between in range(low + 1, high + 1):
            if relation.side[between] == side:
                common = min(common, relation.shared[g, between])
        for place in range(common):
            if path[place] != paths[chosen[other], place]:
                return False
    return True


@njit(inline="always")
def _ends(relation, k, near):  # type: ignore[no-untyped-def]
    """The ends of the k-th edge: that of c, and that of p."""
    if near == 1:
        return relation.edge_right[k], relation.edge_left[k]
    return relation.edge_left[k], relation.edge_right[k]


@njit(cache=True)
def _open(relation, g, k, near, c, rows, search):  # type: ignore[no-untyped-def]
    """Begin with the k-th edge: note which rows of c are to be tried for its end. How many steps that took."""
    end_c, end_p = _ends(relation, k, near)
    search.own[k, 0] = search.chosen[end_c] == NONE
    search.own[k, 1] = search.chosen[end_p] == NONE
    low, top, steps = search.chosen[end_c], search.chosen[end_c] + 1, 0
    if search.own[k, 0]:
        low, high = rows.ptr[c], rows.ptr[c + 1]
        while low < high and rows.variable[low] < relation.variables[g, end_c]:
            low += 1
        top = low
        while top < high and rows.variable[top] == relation.variables[g, end_c]:
            top += 1
        steps = top - rows.ptr[c]
    search.cursor[k, ROW] = low
    search.cursor[k, ROW_STOP] = top
    search.cursor[k, AT] = 0
    search.cursor[k, AT_STOP] = 0
    search.cursor[k, OF] = NONE
    return steps


@njit(cache=True)
def _advance(relation, g, k, near, p, rows, view, search, most):  # type: ignore[no-untyped-def]
    """Choose the next pair of rows for the k-th edge: whether there is one, and how many steps that took, at most
    about `most`."""
    end_c, end_p = _ends(relation, k, near)
    chosen, cursor, arena = search.chosen, search.cursor, view.arena
    own_c, own_p = search.own[k, 0], search.own[k, 1]
    if own_p:
        chosen[end_p] = NONE
    steps = 0
    while steps <= most:
        steps += 1
        if cursor[k, AT] < cursor[k, AT_STOP]:
            # The next row of p with the value of the row of c.
            at = cursor[k, AT]
            cursor[k, AT] += 1
            if arena.check[at] != rows.check[cursor[k, OF]]:
                continue
            if own_p:
                if not _agrees(relation, g, end_p, arena.path[at], chosen, rows.path, arena.path, near):
                    continue
                chosen[end_p] = at
            elif chosen[end_p] != at:
                continue
            return True, steps
        if cursor[k, ROW] >= cursor[k, ROW_STOP]:
            break
        # The next row of c, and where the rows of p with its value are.
        row = cursor[k, ROW]
        cursor[k, ROW] += 1
        cursor[k, AT] = 0
        cursor[k, AT_STOP] = 0
        if own_c:
            chosen[end_c] = NONE
            if not _agrees(relation, g, end_c, rows.path[row], chosen, rows.path, arena.path, near):
                continue
        slot = find(view.table, rows.value[row], relation.numbers[g, end_p])
        if slot == EMPTY:
            continue
        stop = view.slices.start[slot] + view.slices.size[slot]
        low = first_from(arena.document, view.slices.start[slot], stop, p)
        top = low
        while top < stop and arena.document[top] == p:
            top += 1
        if own_c:
            chosen[end_c] = row
        cursor[k, AT] = low
        cursor[k, AT_STOP] = top
        cursor[k, OF] = row
    if own_c:
        chosen[end_c] = NONE
    if own_p:
        chosen[end_p] = NONE
    return False, steps


@njit(cache=True)
def _verify(  # type: ignore[no-untyped-def]
    relation, g, start, near, c, p, rows, view, search, wants_all, out, count, room, max_steps
):  # fmt: skip
    """Choose rows for all edges of row g of R_T but `start`, whose rows are chosen, by backtracking.

    ```
    k   0   1   start   2   …   edges       forward when the k-th edge has found a pair of rows that fits those
        ──▶ ──▶  skip  ──▶     a match     chosen before, back when it has tried all of them
        ◀── ◀──  skip  ◀──
    ```

    (how many embeddings, `out`, how many steps). One embedding is enough unless `wants_all`; then their rows are
    appended to `out`, which holds `count`. It ends with more than `room` of them, or more than `max_steps` steps.
    """
    edges = len(relation.edge_left)
    found = 0
    steps = 0
    k = 0
    forward = True
    while k >= 0 and steps <= max_steps:
        if k == start:
            k += 1 if forward else -1
            if k < edges:
                continue
        if k == edges:
            found += 1
            if not wants_all:
                return found, out, steps
            if count == len(out):
                out = doubled(out)
            out[count] = search.chosen
            count += 1
            if count > room:
                return found, out, steps
            k -= 1
            forward = False
            continue
        if forward:
            steps += _open(relation, g, k, near, c, rows, search)
        forward, taken = _advance(relation, g, k, near, p, rows, view, search, max_steps - steps)
        steps += taken
        k += 1 if forward else -1
    return found, out, steps


@njit(cache=True)
def conjunctive(  # type: ignore[no-untyped-def]
    relation, begins, near, met, rows, documents, view, limits, wants_all, spent
):  # fmt: skip
    """Matches of one template with c on side `near`: (row of R_T, p, c, shortest window), and the chosen rows by end
    when all embeddings are wanted.

    With more than `limits.room` matches it ends at once. `spent` has the steps of each row of R_T and is added to; one
    that has taken more than `limits.max_steps` finds nothing more.
    """
    ends = len(relation.side)
    edges = len(relation.edge_left)
    arena = view.arena
    matches = np.empty((64, 4), np.int64)
    total = 0
    embeddings = np.empty((64 if wants_all else 1, ends), np.int64)
    search = Search(np.empty(ends, np.int64), np.empty((edges, 5), np.int64), np.empty((edges, 2), np.bool_))
    # Of each row of R_T, which entry and p it last matched: one match of a pair is enough.
    done = np.full((len(begins.row), 2), NONE, np.int64)
    for kind in range(len(begins.ptr) - 1):
        if begins.ptr[kind] == begins.ptr[kind + 1]:
            continue
        for entry in range(met.ptr[kind], met.ptr[kind + 1]):
            # 1. A row of c and the slice of R_L with its value: as far back as any window reaches, up to before c.
            row = met.entries[entry, 1]
            slot = met.entries[entry, 2]
            c = rows.document[row]
            number = documents.number[c]
            stop = view.slices.start[slot] + view.slices.size[slot]
            oldest = max(limits.oldest, number - limits.max_documents)
            at = first_from(arena.document, view.slices.start[slot], stop, oldest)
            while at < stop and arena.document[at] < number:
                p = arena.document[at]
                if arena.check[at] != rows.check[row]:
                    at += 1
                    continue
                for place in range(begins.ptr[kind], begins.ptr[kind + 1]):
                    # 2. The rows of R_T that begin with this edge, as long as their window is long enough.
                    if not wants_all and done[place, 0] == entry and done[place, 1] == p:
                        continue
                    g = begins.row[place]
                    spent[g] += 1
                    if spent[g] > limits.max_steps:
                        continue
                    needed = _needed(
                        relation.mode[g],
                        near,
                        documents.time[c],
                        arena.time[at],
                        documents.clock[c],
                        limits.lateness,
                    )
                    if needed == NONE or (relation.mode[g] < 2 and needed > relation.length[g]):
                        continue
                    # 3. Their other edges are verified on the pair.
                    found = 1
                    if edges > 1 or wants_all:
                        start = begins.edge[place]
                        end_c, end_p = _ends(relation, start, near)
                        search.chosen[:] = NONE
                        search.chosen[end_c] = row
                        search.chosen[end_p] = at
                        found, embeddings, steps = _verify(
                            relation, g, start, near, c, p, rows, view, search, wants_all,
                            embeddings, total, limits.room, limits.max_steps - spent[g],
                        )  # fmt: skip
                        spent[g] += steps
                    if found:
                        done[place, 0] = entry
                        done[place, 1] = p
                    # 4. Every embedding is a match.
                    while total + found > len(matches):
                        matches = doubled(matches)
                    for one in range(total, total + found):
                        matches[one, 0] = g
                        matches[one, 1] = p
                        matches[one, 2] = c
                        matches[one, 3] = needed
                    total += found
                    if total > limits.room:
                        return matches[:total], embeddings[: total if wants_all else 0]
                at += 1
    return matches[:total], embeddings[: total if wants_all else 0]
