"""The problem to be solved: what an operator says of costs, and views as numbers, equal views as one, with what each
can serve and what that costs.

Equal views are one node with the bounds of all: all but one of them can be filled from each other, and are strung into
trees when the plan is known (`copies.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedweir.network.covers import Pairs, Work, full_masks, grouped
from feedweir.network.embeddings import embeddings
from feedweir.network.path_counts import LabelPaths, estimates
from feedweir.network.view_arrays import branch_arrays
from feedweir.network.views import UNLIMITED, LaidNode, TreeBranch, View, laid_out


@dataclass(frozen=True, slots=True)
class Weights:
    """Utilisation of a rewriting: CPU seconds and bytes at all sites, added up by these weights."""

    cpu_s: float = 1e8
    """A second of CPU weighs as much as so many bytes."""
    bytes_out: float = 1.0
    bytes_in: float = 1.0
    tuple_s: float = 1e-6
    """CPU seconds for a tuple that is read, filtered or joined."""
    node_s: float = 2e-8
    """CPU seconds for each node of a document, for a view that is filled from its source."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where items come from, and how many views may be filled from it directly: `B_D^out`."""

    name: str
    feeds_at_most: int = UNLIMITED
    site: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Of each *kind* of equal views what planning needs."""

    views: tuple[View, ...]
    sources: tuple[Source, ...]
    kind_of: NDArray[np.int32]
    """Of each view its kind."""
    copies: NDArray[np.int64]
    """Of each kind how many views there are."""
    capacity: NDArray[np.float64]
    """How many views may be filled from all of a kind; infinite where there is no bound."""
    source_capacity: NDArray[np.float64]
    pairs: Pairs
    work: Work
    direct_cost: NDArray[np.float64]
    """Of each kind what it costs to fill it from its sources."""
    copy_cost: NDArray[np.float64]
    """Of each kind what it costs to fill one from another."""
    reads: NDArray[np.bool_]
    """Of each kind which sources it reads."""
    embedded: int
    """How many pairs of kinds embed."""


def problem_of(
    views: Sequence[View],
    sources: Sequence[Source],
    paths: LabelPaths,
    weights: Weights,
) -> Problem:
    """Number views and find out which can serve which."""
    keys: dict[Any, int] = {}
    kind_of = np.array([keys.setdefault(key_of(view), len(keys)) for view in views], np.int32)
    n = len(keys)
    _, first_of = np.unique(kind_of, return_index=True)
    copies = np.bincount(kind_of, minlength=n)
    bounds = np.array([np.inf if v.feeds_at_most >= UNLIMITED else v.feeds_at_most for v in views])
    capacity = np.bincount(kind_of, weights=bounds, minlength=n).astype(float)
    firsts = [views[at] for at in first_of]
    branches = [branch for view in firsts for branch in view.branches]
    of_branch = np.repeat(np.arange(n), [len(view.branches) for view in firsts]).astype(np.int32)
    arrays, names = branch_arrays([branch for branch in branches if isinstance(branch, TreeBranch)])
    source_names = {source.name: number for number, source in enumerate(sources)}
    expected = estimates(arrays, names, paths)
    asked = arrays.asked[np.searchsorted(of_branch, np.arange(n + 1))]
    bits = arrays.asked[:-1] - asked[of_branch]
    total = np.diff(asked)
    words = max(1, -(-int(total.max(initial=1)) // 64))
    found = embeddings(arrays, bits, words, expected.ask_share)
    feeder, target, mask, share = merged(
        of_branch[found.feeder], of_branch[found.target], found.mask, found.share
    )
    site_numbers: dict[str, int] = {}
    sites = [site_numbers.setdefault(view.site, len(site_numbers)) for view in views]
    site = np.array(sites, np.int32)[first_of] if n else np.empty(0, np.int32)
    # Views of a kind at several sites: no way between them is free.
    site = np.where(copies > 1, -1 - np.arange(n), site).astype(np.int32)
    size_of_branch = np.zeros(len(branches))
    if n:
        size_of_branch = np.add.reduceat(expected.ask_bytes, arrays.asked[:-1])
    tuples = np.bincount(of_branch, weights=expected.tuples, minlength=n).astype(float)
    sent = np.bincount(of_branch, weights=expected.tuples * size_of_branch, minlength=n).astype(float)
    size = sent / np.maximum(tuples, 1e-12)
    work = Work(
        tuples,
        size,
        site,
        np.full(n, weights.cpu_s),
        np.full(n, weights.bytes_out),
        np.full(n, weights.bytes_in),
        weights.tuple_s,
        joins_at_sender=True,
    )
    full = full_masks(total, words)
    pairs = grouped(n, target, feeder, mask, share, full, expected.ask_bytes, asked)
    reads = np.zeros((n, len(sources)), bool)
    for kind, view in enumerate(firsts):
        for branch in view.branches:
            reads[kind, source_names[branch.source]] = True
    shipped = sent * (weights.bytes_out + weights.bytes_in)
    matched = weights.cpu_s * weights.node_s * paths.document_nodes * reads.sum(axis=1)
    return Problem(
        tuple(views),
        tuple(sources),
        kind_of,
        copies,
        capacity,
        np.array([np.inf if s.feeds_at_most >= UNLIMITED else s.feeds_at_most for s in sources]),
        pairs,
        work,
        matched + shipped,
        weights.cpu_s * weights.tuple_s * tuples + shipped,
        reads,
        len(feeder),
    )


def merged(
    feeder: NDArray[np.int32], target: NDArray[np.int32], mask: Any, share: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Any, NDArray[np.float32]]:
    """Pairs of views from pairs of branches: together they cover what each of them does."""
    feeder, target, mask, share = (part[feeder != target] for part in (feeder, target, mask, share))
    order = np.lexsort((feeder, target))
    feeder, target, mask, share = feeder[order], target[order], mask[order], share[order]
    is_first = np.ones(len(feeder), bool)
    is_first[1:] = (feeder[1:] != feeder[:-1]) | (target[1:] != target[:-1])
    starts = np.flatnonzero(is_first)
    if len(starts) == len(feeder):
        return feeder, target, mask, share
    return (
        feeder[starts],
        target[starts],
        np.bitwise_or.reduceat(mask, starts, axis=0),
        np.maximum.reduceat(share, starts),
    )


def key_of(view: View) -> Any:
    """What equal views have in common: their branches, whatever the order of these, of steps and of names."""
    return tuple(sorted((_branch_key(branch) for branch in view.branches), key=repr))


def _branch_key(branch: Any) -> Any:
    if not isinstance(branch, TreeBranch):
        return branch
    gives: dict[int, set[str]] = {}
    for one in branch.returned:
        gives.setdefault(one.node, set()).add(one.kind)
    laid = laid_out(branch.root)
    below: dict[int, list[Any]] = {}
    for place in range(len(laid) - 1, -1, -1):
        below.setdefault(laid[place].above, []).append(
            _node_key(laid[place], gives.get(place), below.get(place))
        )
    return (branch.source, below[-1][0])


def _node_key(one: LaidNode, gives: set[str] | None, below: list[Any] | None) -> Any:
    wanted = "cont" if gives and "cont" in gives else "val" if gives else ""
    node = one.node
    return (node.axis, node.name, node.op or "", repr(node.value), wanted, tuple(sorted(below or [])))
