"""Each query alone, compiled: the sequential baseline with the same kernels, the same rows and the same look-ups.

For each query the rows of its first edge are looked up, and its other edges are verified. Nothing is shared between
queries, not even between equal ones, and no query is passed over because its values do not occur.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from feedweir.join.array_kernels import first_from
from feedweir.join.patterns import evaluate_kernels as kernels
from feedweir.join.patterns.arena_kernels import EMPTY, View, find
from feedweir.join.patterns.evaluate_kernels import AT, Documents, Relation, Rows, Search
from feedweir.join.patterns.pattern_set import Level

_ends, _needed, _verify = kernels._ends, kernels._needed, kernels._verify
_MANY = 1 << 40


def relations_alone(level: Level) -> list[tuple[Relation, NDArray[np.int32]]]:
    """R_T of each template with a row for every query, and which result each is."""
    numbers, found = level.numbers, []
    for one in level.relations:
        row = np.repeat(np.arange(len(one.mode)), np.diff(one.members_ptr))
        edges = np.array(one.template.edges, np.int32).reshape(-1, 2)
        relation = Relation(
            np.array(one.template.sides, np.int8),
            np.ascontiguousarray(edges[:, 0]),
            np.ascontiguousarray(edges[:, 1]),
            np.ascontiguousarray(one.variables[row]),
            numbers[one.variables[row]],
            np.ascontiguousarray(one.shared[row]),
            np.ascontiguousarray(one.mode[row]),
            np.ascontiguousarray(one.member_length),
            np.zeros((len(row), len(edges)), np.int32),
        )
        found.append((relation, one.members))
    return found


@numba.njit
def matched_alone(
    relation: Relation, rows: Rows, documents: Documents, view: View, lateness: int
) -> NDArray[np.bool_]:
    """Which queries have a match whose right document is one of these."""
    ends, edges = len(relation.side), len(relation.edge_left)
    search = Search(
        np.empty(ends, np.int64), np.empty((edges, AT + 3), np.int64), np.empty((edges, 2), np.bool_)
    )
    out = np.empty((1, ends), np.int64)
    found = np.zeros(len(relation.mode), np.bool_)
    for g in range(len(relation.mode)):
        end_c, end_p = _ends(relation, 0, 1)
        for c in range(len(documents.number)):
            for row in range(rows.ptr[c], rows.ptr[c + 1]):
                if found[g] or rows.variable[row] != relation.variables[g, end_c]:
                    continue
                slot = find(view.table, rows.value[row], relation.numbers[g, end_p])
                if slot == EMPTY:
                    continue
                stop = view.slices.start[slot] + view.slices.size[slot]
                at = first_from(view.arena.document, view.slices.start[slot], stop, 0)
                while at < stop and view.arena.document[at] < documents.number[c] and not found[g]:
                    p = view.arena.document[at]
                    needed = _needed(
                        relation.mode[g],
                        1,
                        documents.time[c],
                        view.arena.time[at],
                        documents.clock[c],
                        lateness,
                    )
                    is_near = 0 <= needed <= relation.length[g] or relation.mode[g] >= 2
                    if is_near and view.arena.check[at] == rows.check[row]:
                        search.chosen[:] = -1
                        search.chosen[end_c] = row
                        search.chosen[end_p] = at
                        count, out, _ = _verify(
                            relation, g, 0, 1, c, p, rows, view, search, False, out, 0, 1, _MANY
                        )
                        found[g] = count > 0
                    at += 1
    return found
