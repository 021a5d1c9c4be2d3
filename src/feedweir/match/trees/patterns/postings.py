"""Patterns are found by atoms.

A *route* is a path from the document's root (`//item/title`) without conditions. An *atom* is a route at which a
pattern ends or compares: it is true of a document when a node that the route reaches satisfies the comparison. A
pattern without branches is there when its only atom is true. All atoms of a pattern that branches being true is
necessary; whether it is enough depends on the structure of the document, and that is asked of the pattern's shape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.match.arrays import ranges_of
from feedweir.match.trees.patterns.compile_kernels import lay_out, sizes_of
from feedweir.match.trees.patterns.pattern_shape_kernels import shapes_of
from feedweir.match.trees.patterns.pattern_steps import Grown
from feedweir.match.trees.shape_result_kernels import PatternShapes
from feedweir.match.trees.tree_codes import EQ, EXISTS, GE, GT, LE, LT, NE, TEXT_EQ, TEXT_NE

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
_RANKS = {TEXT_EQ: 0, EQ: 1, LT: 2, LE: 2, GT: 2, GE: 2, TEXT_NE: 3, NE: 3, EXISTS: 4}
_RANK_OF = np.array([_RANKS[op] for op in sorted(_RANKS)], np.int64)


class RouteAtoms(NamedTuple):
    """Sorted by comparison, then by route: what a value makes true, and what is found by it, lies close together."""

    route: Ints
    compared: Ints
    ptr: Longs
    """The atoms of route s are `by_route[ptr[s] : ptr[s + 1]]`."""
    by_route: Longs


class Postings(NamedTuple):
    """Patterns plain[plain_ptr[a] : plain_ptr[a + 1]] are decided by atom a alone. The groups ptr[a] to ptr[a + 1] are
    found by it: groups are numbered so that these lie together, and rows of `heads` tell where what belongs to a group
    begins: what a group needs is read from one place."""

    plain_ptr: Longs
    plain: Ints
    ptr: Longs
    heads: Ints
    """Rows (SHAPE, REST, MEMBERS), one more than there are groups."""
    rest: Ints
    """The other atoms of groups that compare."""


class Groups(NamedTuple):
    """Distinct patterns, each with the given patterns that are equal to it; those that branch come first."""

    members: Ints
    branchings_ptr: Longs
    branchings: Ints
    """The routes at which a group branches in pre-order."""
    checks: Ints
    """Of each branching step the check that decides it."""
    nexts: Ints
    """Of each branching step how far it is to the next one that does not hang below it."""
    access: Ints
    """The atom that it is found by."""


class StepChecks(NamedTuple):
    """Distinct checks whether a step fits at a node that a branching step reaches."""

    branching: Ints
    step: Ints


class Layout(NamedTuple):
    routes: Ints
    """Rows (parent, axis, label); route 0 is above the root."""
    atoms: RouteAtoms
    postings: Postings
    groups: Groups
    checks: StepChecks
    shapes: PatternShapes
    group_of: Ints
    """Of each pattern its group."""


class _Laid(NamedTuple):
    """Patterns as they come out of `lay_out`: root steps, and stretches of atoms (the one that finds it comes first)
    and of branching steps."""

    roots: Ints
    atoms_ptr: Longs
    atoms: Longs
    branchings_ptr: Longs
    branchings: Ints


def layout_of(grown: Grown) -> Layout:
    steps = grown.steps
    roots, root_of = np.unique(grown.roots, return_inverse=True)
    routes, ends, ends_ptr, branchings, branchings_ptr = lay_out(
        roots, steps.rows, steps.branch, steps.compared, sizes_of(steps.rows, steps.branch)
    )
    atoms, ended = _atoms(ends, len(routes))
    ranks = _RANK_OF[grown.comparisons.op[atoms.compared]]
    laid = _Laid(roots, ends_ptr, _ranked(ended, ends_ptr, ranks), branchings_ptr, branchings)
    first = laid.atoms[ends_ptr[:-1]]
    is_plain = np.diff(branchings_ptr) == 0
    order = np.lexsort((first, is_plain))
    group_of = _places(order)[root_of]
    groups, checks = _groups(laid, order, first, group_of)
    branching = order[: len(order) - int(is_plain.sum())]
    shape_of = shapes_of(steps.rows, steps.branch, steps.compared)[roots[branching]]
    shapes, shape = _shapes(laid, branching, shape_of, atoms.route)
    postings = _postings(laid, groups, branching, shape, group_of, ranks)
    return Layout(routes, atoms, postings, groups, checks, shapes, group_of.astype(np.int32))


def _atoms(ends: Ints, routes: int) -> tuple[RouteAtoms, Longs]:
    """The distinct atoms, and the one of each end."""
    distinct, ended = np.unique(ends[:, 1].astype(np.int64) * routes + ends[:, 0], return_inverse=True)
    route_of = (distinct % routes).astype(np.int32)
    by_route = np.argsort(route_of, kind="stable")
    ptr = np.searchsorted(route_of[by_route], np.arange(routes + 1))
    return RouteAtoms(route_of, (distinct // routes).astype(np.int32), ptr, by_route), ended


def _ranked(ended: Longs, ends_ptr: Longs, ranks: Longs) -> Longs:
    """The atoms of each group, the one that finds it first: equalities come first, then what is rarely asked."""
    group = np.repeat(np.arange(len(ends_ptr) - 1), np.diff(ends_ptr))
    asked = np.bincount(ended, minlength=len(ranks))
    return ended[np.lexsort((ended, asked[ended], ranks[ended], group))]


def _groups(laid: _Laid, order: Longs, first: Longs, group_of: Longs) -> tuple[Groups, StepChecks]:
    n_branchings = np.diff(laid.branchings_ptr)[order]
    branchings = laid.branchings[ranges_of(laid.branchings_ptr[order], n_branchings)]
    checks, check_of = _checks(branchings[:, 0], branchings[:, 1])
    members = np.argsort(group_of, kind="stable").astype(np.int32)
    access = first[order].astype(np.int32)
    return Groups(
        members, offsets(n_branchings), branchings[:, 0].copy(), check_of, branchings[:, 2].copy(), access
    ), checks


def _checks(branching: Ints, step: Ints) -> tuple[StepChecks, Ints]:
    distinct, check_of = np.unique(branching.astype(np.int64) << 32 | step, return_inverse=True)
    branching_of, step_of = distinct >> 32, distinct & 0xFFFFFFFF
    return StepChecks(branching_of.astype(np.int32), step_of.astype(np.int32)), check_of.astype(np.int32)


def _shapes(laid: _Laid, branching: Longs, shape_of: Ints, route_of: Ints) -> tuple[PatternShapes, Longs]:
    """The distinct shapes, each represented by the first group that has it, and the shape of each group."""
    _, example, shape = np.unique(shape_of, return_index=True, return_inverse=True)
    chosen = branching[example]
    n_ends, n_branchings = np.diff(laid.atoms_ptr)[chosen], np.diff(laid.branchings_ptr)[chosen]
    return PatternShapes(
        offsets(n_ends),
        route_of[laid.atoms[ranges_of(laid.atoms_ptr[chosen], n_ends)]],
        offsets(n_branchings),
        laid.branchings[ranges_of(laid.branchings_ptr[chosen], n_branchings), 0].copy(),
        laid.roots[chosen],
    ), shape


def _postings(
    laid: _Laid, groups: Groups, branching: Longs, shape: Longs, group_of: Longs, ranks: Longs
) -> Postings:
    rest_of = np.diff(laid.atoms_ptr)[branching] - 1
    rest = laid.atoms[ranges_of(laid.atoms_ptr[branching] + 1, rest_of)]
    is_asked = ranks[rest] < _RANKS[EXISTS]
    rest_ptr = offsets(is_asked)[offsets(rest_of)]
    count = len(branching)
    members_ptr = offsets(np.bincount(group_of, minlength=len(groups.access)))
    held = np.diff(members_ptr[count:])
    heads = np.stack([np.append(shape, 0), rest_ptr, members_ptr[: count + 1]], axis=1)
    return Postings(
        offsets(np.bincount(np.repeat(groups.access[count:], held), minlength=len(ranks))),
        groups.members[members_ptr[count] :],
        offsets(np.bincount(groups.access[:count], minlength=len(ranks))),
        heads.astype(np.int32),
        rest[is_asked].astype(np.int32),
    )


def _places(order: Longs) -> Longs:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def offsets(lengths: NDArray[np.generic]) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
