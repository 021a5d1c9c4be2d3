"""Who needs which parts: from the parts that rows have to the patterns all of whose parts they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feedweir.match.arrays import Array, ranges_of


@dataclass(frozen=True, slots=True)
class PartUsers:
    """Part p is needed by users[starts[p] : starts[p + 1]]; pattern n needs needed[n] parts, or can never be found."""

    starts: Array
    users: Array
    needed: Array

    @classmethod
    def of(cls, parts: Sequence[Sequence[int]], n_parts: int) -> PartUsers:
        """The parts of each pattern; one without parts is never found."""
        counts = np.array([len(of) for of in parts], np.int64)
        flat = np.array([part for of in parts for part in of], np.int64)
        owners = np.repeat(np.arange(len(parts)), counts)
        order = np.argsort(flat, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=n_parts))])
        return cls(starts, owners[order], counts)

    def found(self, rows: Array, parts: Array) -> tuple[Array, Array]:
        """(rows, patterns) in order, from distinct pairs of rows and parts."""
        counts = self.starts[parts + 1] - self.starts[parts]
        users = self.users[ranges_of(self.starts[parts], counts)]
        n = max(1, len(self.needed))
        pairs, n_found = np.unique(np.repeat(rows.astype(np.int64), counts) * n + users, return_counts=True)
        rows, users = np.divmod(pairs, n)
        is_whole = n_found == self.needed[users]
        return rows[is_whole], users[is_whole]
