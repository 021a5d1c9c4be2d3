"""How patterns are found: by atoms.

A *step* is a path from the document's root (`//item/title`) without conditions. An *atom* is a step at which a
pattern ends or compares: it is true of a document when a node that the step reaches satisfies the comparison. All
atoms of a pattern being true is necessary; for patterns that branch nowhere, or at a single node, it is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.compile_kernels import lay_out, sizes_of
from feedweir.match.trees.limbs import Grown
from feedweir.match.trees.steps import EQ, EXISTS, GE, GT, LE, LT, NE, TEXT_EQ, TEXT_NE

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
_RANKS = {TEXT_EQ: 0, EQ: 1, LT: 2, LE: 2, GT: 2, GE: 2, TEXT_NE: 3, NE: 3, EXISTS: 4}
_RANK_OF = np.array([_RANKS[op] for op in sorted(_RANKS)], np.int64)


class Atoms(NamedTuple):
    """Sorted by comparison, then by step: what a value makes true, and what is found by it, lies close together."""

    step: Ints
    compared: Ints
    ptr: Longs
    """The atoms of step s are `atoms_by_step[ptr[s] : ptr[s + 1]]`."""


class Postings(NamedTuple):
    """The groups ptr[a] to ptr[a + 1] are found by atom a: groups are numbered so that these lie together, and rows of
    `heads` tell where what belongs to a group begins: what a group needs is read from one place."""

    ptr: Longs
    heads: Ints
    """Rows (REST, FORKS, MEMBERS), one more than there are groups."""
    rest: Ints
    """The other atoms of groups."""


class Groups(NamedTuple):
    """Distinct patterns, each with the given patterns that are equal to it."""

    members: Ints
    forks: Ints
    """The steps at which a group branches in pre-order, numbered among all such steps."""
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
    fork_of_step: Ints
    """Of each step its number among those at which patterns branch, or -1."""
    atoms: Atoms
    atoms_by_step: Longs
    postings: Postings
    groups: Groups
    checks: Checks
    group_of: Ints
    """Of each pattern its group."""


def layout_of(grown: Grown) -> Layout:
    limbs = grown.limbs
    roots, group_of = np.unique(grown.roots, return_inverse=True)
    steps, ends, ends_ptr, forks, forks_ptr = lay_out(
        roots, limbs.rows, limbs.branch, limbs.compared, sizes_of(limbs.rows, limbs.branch)
    )
    distinct, ended = np.unique(ends[:, 1].astype(np.int64) * len(steps) + ends[:, 0], return_inverse=True)
    step_of = (distinct % len(steps)).astype(np.int32)
    compared = (distinct // len(steps)).astype(np.int32)
    by_step = np.argsort(step_of, kind="stable")
    atoms = Atoms(step_of, compared, np.searchsorted(step_of[by_step], np.arange(len(steps) + 1)))
    ranked, order = _ranked(ended, ends_ptr, _RANK_OF[grown.comparisons.op[compared]])
    access = ranked[ends_ptr[:-1]][order]
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    group_of = place_of[group_of]
    fork_of_step = _numbered(forks[:, 0], len(steps))
    n_forks, n_rest = np.diff(forks_ptr)[order], np.diff(ends_ptr)[order] - 1
    forks = forks[stretches(forks_ptr[order], n_forks)]
    checks, check_of = _checks(fork_of_step[forks[:, 0]], forks[:, 1])
    n_members = np.bincount(group_of, minlength=len(order))
    postings = Postings(
        offsets(np.bincount(access, minlength=len(distinct))),
        np.stack([offsets(n_rest), offsets(n_forks), offsets(n_members)], axis=1).astype(np.int32),
        ranked[stretches(ends_ptr[order] + 1, n_rest)].astype(np.int32),
    )
    groups = Groups(
        np.argsort(group_of, kind="stable").astype(np.int32),
        fork_of_step[forks[:, 0]],
        check_of,
        forks[:, 2].copy(),
        access.astype(np.int32),
    )
    return Layout(steps, fork_of_step, atoms, by_step, postings, groups, checks, group_of.astype(np.int32))


def _numbered(chosen: Ints, count: int) -> Ints:
    """Of each of so many its number among the chosen, or -1."""
    numbers = np.full(count, -1, np.int32)
    distinct = np.unique(chosen)
    numbers[distinct] = np.arange(len(distinct))
    return numbers


def _checks(fork: Ints, limb: Ints) -> tuple[Checks, Ints]:
    distinct, check_of = np.unique(fork.astype(np.int64) << 32 | limb, return_inverse=True)
    fork_of, limb_of = distinct >> 32, distinct & 0xFFFFFFFF
    return Checks(fork_of.astype(np.int32), limb_of.astype(np.int32)), check_of.astype(np.int32)


def _ranked(ended: Longs, ends_ptr: Longs, ranks: Longs) -> tuple[Longs, Longs]:
    """(the atoms of each group, first that which it is found by; the groups by that atom): equalities come first, then
    what is rarely asked."""
    group = np.repeat(np.arange(len(ends_ptr) - 1), np.diff(ends_ptr))
    asked = np.bincount(ended, minlength=len(ranks))
    ranked = ended[np.lexsort((ended, asked[ended], ranks[ended], group))]
    return ranked, np.argsort(ranked[ends_ptr[:-1]], kind="stable")


def stretches(starts: Longs, counts: Longs) -> Longs:
    """The numbers start, start + 1, … of every stretch, one stretch after the other."""
    before = np.cumsum(counts) - counts
    shift: Longs = np.repeat(starts - before, counts)
    return shift + np.arange(len(shift))


def offsets(lengths: Longs) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
