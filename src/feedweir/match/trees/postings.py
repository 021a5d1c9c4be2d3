"""How patterns are found: by atoms.

A *step* is a path from the document's root (`//item/title`) without conditions. An *atom* is a step at which a
pattern ends or compares: it is true of a document when a node that the step reaches satisfies the comparison. A
pattern without branches is there when its only atom is true. All atoms of a pattern that branches being true is
necessary; whether it is enough depends on the structure of the document, and that is asked of the pattern's outline.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.compile_kernels import lay_out, sizes_of
from feedweir.match.trees.limbs import Grown
from feedweir.match.trees.outline_kernels import outlines_of
from feedweir.match.trees.steps import EQ, EXISTS, GE, GT, LE, LT, NE, TEXT_EQ, TEXT_NE
from feedweir.match.trees.verdict_kernels import Outlines

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
_RANKS = {TEXT_EQ: 0, EQ: 1, LT: 2, LE: 2, GT: 2, GE: 2, TEXT_NE: 3, NE: 3, EXISTS: 4}
_RANK_OF = np.array([_RANKS[op] for op in sorted(_RANKS)], np.int64)


class Atoms(NamedTuple):
    """Sorted by comparison, then by step: what a value makes true, and what is found by it, lies close together."""

    step: Ints
    compared: Ints
    ptr: Longs
    """The atoms of step s are `by_step[ptr[s] : ptr[s + 1]]`."""
    by_step: Longs


class Postings(NamedTuple):
    """Patterns plain[plain_ptr[a] : plain_ptr[a + 1]] are decided by atom a alone. The groups ptr[a] to ptr[a + 1] are
    found by it: groups are numbered so that these lie together, and rows of `heads` tell where what belongs to a group
    begins: what a group needs is read from one place."""

    plain_ptr: Longs
    plain: Ints
    ptr: Longs
    heads: Ints
    """Rows (OUTLINE, REST, MEMBERS), one more than there are groups."""
    rest: Ints
    """The other atoms of groups that compare."""


class Groups(NamedTuple):
    """Distinct patterns, each with the given patterns that are equal to it; first those that branch."""

    members: Ints
    forks_ptr: Longs
    forks: Ints
    """The steps at which a group branches in pre-order."""
    checks: Ints
    """Of each fork the check that decides it."""
    nexts: Ints
    """Of each fork how far it is to the next one that does not hang below it."""
    access: Ints
    """The atom that it is found by."""


class Checks(NamedTuple):
    """Distinct questions whether a limb fits at a node that a fork reaches."""

    fork: Ints
    limb: Ints


class Layout(NamedTuple):
    steps: Ints
    """Rows (parent, axis, label); step 0 is above the root."""
    atoms: Atoms
    postings: Postings
    groups: Groups
    checks: Checks
    outlines: Outlines
    group_of: Ints
    """Of each pattern its group."""


class _Laid(NamedTuple):
    """Patterns as they come out of `lay_out`: root limbs, and stretches of atoms (the one to find it by first) and of
    forks."""

    roots: Ints
    atoms_ptr: Longs
    atoms: Longs
    forks_ptr: Longs
    forks: Ints


def layout_of(grown: Grown) -> Layout:
    limbs = grown.limbs
    roots, root_of = np.unique(grown.roots, return_inverse=True)
    steps, ends, ends_ptr, forks, forks_ptr = lay_out(
        roots, limbs.rows, limbs.branch, limbs.compared, sizes_of(limbs.rows, limbs.branch)
    )
    atoms, ended = _atoms(ends, len(steps))
    ranks = _RANK_OF[grown.comparisons.op[atoms.compared]]
    laid = _Laid(roots, ends_ptr, _ranked(ended, ends_ptr, ranks), forks_ptr, forks)
    first = laid.atoms[ends_ptr[:-1]]
    is_plain = np.diff(forks_ptr) == 0
    order = np.lexsort((first, is_plain))
    group_of = _places(order)[root_of]
    groups, checks = _groups(laid, order, first, group_of)
    branching = order[: len(order) - int(is_plain.sum())]
    outline_of = outlines_of(limbs.rows, limbs.branch, limbs.compared)[roots[branching]]
    outlines, outline = _outlines(laid, branching, outline_of, atoms.step)
    postings = _postings(laid, groups, branching, outline, group_of, ranks)
    return Layout(steps, atoms, postings, groups, checks, outlines, group_of.astype(np.int32))


def _atoms(ends: Ints, steps: int) -> tuple[Atoms, Longs]:
    """The distinct atoms, and the one of each end."""
    distinct, ended = np.unique(ends[:, 1].astype(np.int64) * steps + ends[:, 0], return_inverse=True)
    step_of = (distinct % steps).astype(np.int32)
    by_step = np.argsort(step_of, kind="stable")
    ptr = np.searchsorted(step_of[by_step], np.arange(steps + 1))
    return Atoms(step_of, (distinct // steps).astype(np.int32), ptr, by_step), ended


def _ranked(ended: Longs, ends_ptr: Longs, ranks: Longs) -> Longs:
    """The atoms of each group, first that which it is found by: equalities come first, then what is rarely asked."""
    group = np.repeat(np.arange(len(ends_ptr) - 1), np.diff(ends_ptr))
    asked = np.bincount(ended, minlength=len(ranks))
    return ended[np.lexsort((ended, asked[ended], ranks[ended], group))]


def _groups(laid: _Laid, order: Longs, first: Longs, group_of: Longs) -> tuple[Groups, Checks]:
    n_forks = np.diff(laid.forks_ptr)[order]
    forks = laid.forks[stretches(laid.forks_ptr[order], n_forks)]
    checks, check_of = _checks(forks[:, 0], forks[:, 1])
    members = np.argsort(group_of, kind="stable").astype(np.int32)
    access = first[order].astype(np.int32)
    return Groups(members, offsets(n_forks), forks[:, 0].copy(), check_of, forks[:, 2].copy(), access), checks


def _checks(fork: Ints, limb: Ints) -> tuple[Checks, Ints]:
    distinct, check_of = np.unique(fork.astype(np.int64) << 32 | limb, return_inverse=True)
    fork_of, limb_of = distinct >> 32, distinct & 0xFFFFFFFF
    return Checks(fork_of.astype(np.int32), limb_of.astype(np.int32)), check_of.astype(np.int32)


def _outlines(laid: _Laid, branching: Longs, outline_of: Ints, step_of: Ints) -> tuple[Outlines, Longs]:
    """The distinct outlines, each told by the first group that has it, and the outline of each group."""
    _, example, outline = np.unique(outline_of, return_index=True, return_inverse=True)
    chosen = branching[example]
    n_ends, n_forks = np.diff(laid.atoms_ptr)[chosen], np.diff(laid.forks_ptr)[chosen]
    return Outlines(
        offsets(n_ends),
        step_of[laid.atoms[stretches(laid.atoms_ptr[chosen], n_ends)]],
        offsets(n_forks),
        laid.forks[stretches(laid.forks_ptr[chosen], n_forks), 0].copy(),
        laid.roots[chosen],
    ), outline


def _postings(
    laid: _Laid, groups: Groups, branching: Longs, outline: Longs, group_of: Longs, ranks: Longs
) -> Postings:
    rest_of = np.diff(laid.atoms_ptr)[branching] - 1
    rest = laid.atoms[stretches(laid.atoms_ptr[branching] + 1, rest_of)]
    is_asked = ranks[rest] < _RANKS[EXISTS]
    rest_ptr = offsets(is_asked)[offsets(rest_of)]
    count = len(branching)
    members_ptr = offsets(np.bincount(group_of, minlength=len(groups.access)))
    held = np.diff(members_ptr[count:])
    heads = np.stack([np.append(outline, 0), rest_ptr, members_ptr[: count + 1]], axis=1)
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


def stretches(starts: Longs, counts: Longs) -> Longs:
    """The numbers start, start + 1, … of every stretch, one stretch after the other."""
    before = np.cumsum(counts) - counts
    shift: Longs = np.repeat(starts - before, counts)
    return shift + np.arange(len(shift))


def offsets(lengths: NDArray[np.generic]) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
