"""The conjunctive query of a template over all its queries at once, on flat arrays.

The later document c of a pair is in the batch, the earlier one p anywhere before it. For each kind of value edge
(variable of c, variable of p) the batch's rows meet the slices of R_L with the same string value: R_L join R_R. A row
of R_T is started from its rarest edge, and its other edges are verified on the pairs found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.join.arena_kernels import EMPTY, find, first_from
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


@njit(cache=True)
def meet(rows, documents, kinds, table, slices, first, last):  # type: ignore[no-untyped-def]
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
                slot = find(table, rows.value[row], kinds.far[kind])
                if slot == EMPTY or slices.size[slot] == 0:
                    continue
                sizes[kind] += slices.size[slot]
                if count == len(found):
                    grown = np.empty((2 * count, 3), np.int64)
                    grown[:count] = found
                    found = grown
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


@njit(cache=True)
def _verify(  # type: ignore[no-untyped-def]
    relation, g, start, near, c, p, rows, table, slices, arena, chosen, cursor, wants_all, out, count, room,
    max_steps,
):  # fmt: skip
    """Choose rows for all edges but `start`, by backtracking: how many ways (at most one unless `wants_all`), and in
    how many steps.

    It ends when there are more than `room`, or more steps than `max_steps`.

    cursor[k] = (row of c, its end, row of p, its end) of the k-th edge; out gets the chosen rows of each way.
    """
    edges = len(relation.edge_left)
    found = 0
    steps = 0
    k = 0
    fresh = True
    own_c = np.zeros(edges, np.bool_)
    own_p = np.zeros(edges, np.bool_)
    while k >= 0 and steps <= max_steps:
        if k == start:
            if fresh:
                k += 1
            else:
                k -= 1
            if k < edges:
                continue
        if k == edges:
            found += 1
            if not wants_all:
                return found, out, count, steps
            if count == len(out):
                grown = np.empty((2 * count, out.shape[1]), np.int64)
                grown[:count] = out
                out = grown
            out[count] = chosen
            count += 1
            if count > room:
                return found, out, count, steps
            k -= 1
            fresh = False
            continue
        end_c = relation.edge_right[k] if near == 1 else relation.edge_left[k]
        end_p = relation.edge_left[k] if near == 1 else relation.edge_right[k]
        if fresh:
            own_c[k] = chosen[end_c] == NONE
            own_p[k] = chosen[end_p] == NONE
            if own_c[k]:
                low = rows.ptr[c]
                high = rows.ptr[c + 1]
                while low < high and rows.variable[low] < relation.variables[g, end_c]:
                    low += 1
                top = low
                while top < high and rows.variable[top] == relation.variables[g, end_c]:
                    top += 1
                steps += top - rows.ptr[c]
                cursor[k, 0] = low
                cursor[k, 1] = top
            else:
                cursor[k, 0] = chosen[end_c]
                cursor[k, 1] = chosen[end_c] + 1
            cursor[k, 2] = 0
            cursor[k, 3] = 0
            cursor[k, 4] = NONE
        if own_p[k]:
            chosen[end_p] = NONE
        advanced = False
        while not advanced and steps <= max_steps:
            steps += 1
            if cursor[k, 2] < cursor[k, 3]:
                at = cursor[k, 2]
                cursor[k, 2] += 1
                row = cursor[k, 4]
                if arena.check[at] != rows.check[row]:
                    continue
                if own_p[k]:
                    if not _agrees(relation, g, end_p, arena.path[at], chosen, rows.path, arena.path, near):
                        continue
                    chosen[end_p] = at
                elif chosen[end_p] != at:
                    continue
                advanced = True
            elif cursor[k, 0] < cursor[k, 1]:
                row = cursor[k, 0]
                cursor[k, 0] += 1
                cursor[k, 2] = 0
                cursor[k, 3] = 0
                if own_c[k]:
                    chosen[end_c] = NONE
                    if not _agrees(relation, g, end_c, rows.path[row], chosen, rows.path, arena.path, near):
                        continue
                slot = find(table, rows.value[row], relation.numbers[g, end_p])
                if slot == EMPTY:
                    continue
                stop = slices.start[slot] + slices.size[slot]
                low = first_from(arena.document, slices.start[slot], stop, p)
                top = low
                while top < stop and arena.document[top] == p:
                    top += 1
                if own_c[k]:
                    chosen[end_c] = row
                cursor[k, 2] = low
                cursor[k, 3] = top
                cursor[k, 4] = row
            else:
                break
        if advanced:
            k += 1
            fresh = True
        else:
            if own_c[k]:
                chosen[end_c] = NONE
            if own_p[k]:
                chosen[end_p] = NONE
            k -= 1
            fresh = False
    return found, out, count, steps


@njit(cache=True)
def conjunctive(  # type: ignore[no-untyped-def]
    relation, begins_ptr, begins, starting, near, met, met_ptr,
    rows, documents, table, slices, arena, oldest, lateness, max_documents, wants_all, room, spent, max_steps,
):  # fmt: skip
    """Matches of one template with c on side `near`: (R_T row, p, c, needed), and the chosen rows when all are wanted.

    begins[begins_ptr[k]:begins_ptr[k + 1]] are the rows of R_T that start from edges of kind k, `starting` their edge.
    With more than `room` matches it ends at once. `spent` has the steps of each row of R_T and is added to; one that
    has taken more than `max_steps` finds nothing more.
    """
    ends = len(relation.side)
    edges = len(relation.edge_left)
    matches = np.empty((64, 4), np.int64)
    total = 0
    ways = np.empty((64 if wants_all else 1, ends), np.int64)
    chosen = np.empty(ends, np.int64)
    cursor = np.empty((edges, 5), np.int64)
    done = np.full((len(begins), 2), NONE, np.int64)
    for kind in range(len(begins_ptr) - 1):
        if begins_ptr[kind] == begins_ptr[kind + 1]:
            continue
        for entry in range(met_ptr[kind], met_ptr[kind + 1]):
            row = met[entry, 1]
            slot = met[entry, 2]
            c = rows.document[row]
            stop = slices.start[slot] + slices.size[slot]
            at = first_from(
                arena.document, slices.start[slot], stop, max(oldest, documents.number[c] - max_documents)
            )
            while at < stop and arena.document[at] < documents.number[c]:
                p = arena.document[at]
                same = arena.check[at] == rows.check[row]
                if same:
                    for place in range(begins_ptr[kind], begins_ptr[kind + 1]):
                        if not wants_all and done[place, 0] == entry and done[place, 1] == p:
                            continue
                        g = begins[place]
                        spent[g] += 1
                        if spent[g] > max_steps:
                            continue
                        start = starting[place]
                        needed = _needed(
                            relation.mode[g],
                            near,
                            documents.time[c],
                            arena.time[at],
                            documents.clock[c],
                            lateness,
                        )
                        if needed == NONE or (relation.mode[g] < 2 and needed > relation.length[g]):
                            continue
                        found = 1
                        before = total
                        if edges > 1 or wants_all:
                            chosen[:] = NONE
                            if near == 1:
                                chosen[relation.edge_right[start]] = row
                                chosen[relation.edge_left[start]] = at
                            else:
                                chosen[relation.edge_left[start]] = row
                                chosen[relation.edge_right[start]] = at
                            found, ways, _count, steps = _verify(
                                relation,
                                g,
                                start,
                                near,
                                c,
                                p,
                                rows,
                                table,
                                slices,
                                arena,
                                chosen,
                                cursor,
                                wants_all,
                                ways,
                                total,
                                room,
                                max_steps - spent[g],
                            )
                            spent[g] += steps
                        if found:
                            done[place, 0] = entry
                            done[place, 1] = p
                        while total + found > len(matches):
                            grown = np.empty((2 * len(matches), 4), np.int64)
                            grown[:total] = matches[:total]
                            matches = grown
                        for way in range(found):
                            matches[before + way, 0] = g
                            matches[before + way, 1] = p
                            matches[before + way, 2] = c
                            matches[before + way, 3] = needed
                        total = before + found
                        if total > room:
                            return matches[:total], ways[: total if wants_all else 0]
                at += 1
    return matches[:total], ways[: total if wants_all else 0]
