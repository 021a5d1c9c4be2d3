"""Counters for each subscription: hits, candidates and the last hit. They add up to the totals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from feedweir.items.columns import Batch
from feedweir.match.arrays import Array
from feedweir.match.matches import Matches


@dataclass(frozen=True, slots=True)
class Tally:
    """Counters of several keys, sorted by key. `last_hits` are sequence numbers, -1 for none."""

    keys: Array
    hits: Array
    costs: Array
    last_hits: Array


@dataclass(slots=True)
class Counters:
    """Collects counts while batches are matched; the cost of a query is how often it was a candidate."""

    _parts: list[Tally] = field(default_factory=list)

    def add_costs(self, keys: Array, costs: Array) -> None:
        """Candidates of queries; a key may be there several times."""
        self._add(keys, np.zeros_like(costs), costs, np.full(len(keys), -1, np.int64))

    def add_hits(self, matches: Matches, items: Batch) -> None:
        seqs = items.column("seq").to_numpy(zero_copy_only=False)
        ones = np.ones(len(matches), np.int64)
        self._add(matches.keys, ones, np.zeros_like(ones), seqs[matches.rows])

    def tally(self) -> Tally:
        """Everything so far, one row a key."""
        if len(self._parts) != 1:
            empty = np.empty(0, np.int64)
            columns = [
                np.concatenate([empty, *(getattr(part, name) for part in self._parts)])
                for name in ("keys", "hits", "costs", "last_hits")
            ]
            self._parts = [_by_key(*columns)]
        return self._parts[0]

    def _add(self, keys: Array, hits: Array, costs: Array, last_hits: Array) -> None:
        self._parts.append(_by_key(keys, hits, costs, last_hits))


def _by_key(keys: Array, hits: Array, costs: Array, last_hits: Array) -> Tally:
    known, places = np.unique(keys, return_inverse=True)
    latest = np.full(len(known), -1, np.int64)
    np.maximum.at(latest, places, last_hits)
    return Tally(known, _summed(places, hits, len(known)), _summed(places, costs, len(known)), latest)


def _summed(places: Array, numbers: Array, n: int) -> Array:
    total = np.zeros(n, np.int64)
    np.add.at(total, places, numbers)
    return total
