"""The subsumption graph of a source that changes: a record for every predicate and every part of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import prod

from feedweir.optimize.filter_plans.clause_registry import ClauseRegistry, Run
from feedweir.optimize.filter_plans.factored_filters import MAX_CLOSURE
from feedweir.optimize.selectivity import Selectivity, clause_lift, clause_share, lift_of

TRUE: Run = ()
MAX_NEAR = 256
"""Earlier records that a new one is compared with: an implication that is missed costs sharing only."""
MAX_COMBINED = 4
"""Clauses up to which all parts of a predicate are recorded; of a longer one only single clauses and pairs."""


@dataclass(slots=True)
class Record:
    """A node of the graph. Relations are to runs; `true` is in none of them."""

    run: Run
    selectivity: float
    above: tuple[Run, ...] = ()
    below: set[Run] = field(default_factory=set)
    """The records that it subsumes and that are predicates or open."""
    predicates: int = 0
    """How many keys have this predicate."""
    parent: Run | None = None
    """None while it is closed."""
    children: set[Run] = field(default_factory=set)

    @property
    def is_open(self) -> bool:
        return self.parent is not None


@dataclass(slots=True)
class LiveGraph:
    """Records by their runs, and what is believed of how often each holds."""

    known: Selectivity
    registry: ClauseRegistry = field(default_factory=ClauseRegistry)
    records: dict[Run, Record] = field(default_factory=dict)
    compared: int = 0
    """Records that were looked at because a new one may subsume them."""
    _with_clause: dict[int, dict[Run, None]] = field(default_factory=dict)
    """Records by each of their clauses, in the order they came."""
    _shares: dict[int, float] = field(default_factory=dict)
    _lifts: dict[tuple[int, int], float | None] = field(default_factory=dict)

    def open_records(self) -> list[Record]:
        return [record for record in self.records.values() if record.is_open]

    def share_of(self, run: Run | None) -> float:
        """The selectivity of a record; every item satisfies `true`."""
        return self.records[run].selectivity if run else 1.0

    def reweigh(self, known: Selectivity) -> None:
        """Estimate every record anew."""
        self.known = known
        self._shares.clear()
        self._lifts.clear()
        for record in self.records.values():
            above = (self.estimate(one.run) for one in self.above(record))
            record.selectivity = min([self.estimate(record.run), *above])

    def take_in(self, run: Run) -> Record:
        """The record of a predicate, with those of its parts."""
        for part in self.parts_of(run):
            self.record(part)
        return self.record(run)

    def parts_of(self, run: Run) -> Iterable[Run]:
        """The proper parts of a predicate, the shortest first; of a long one those with few clauses."""
        widest = len(run) - 1 if len(run) <= MAX_COMBINED else 2
        return (part for size in range(1, widest + 1) for part in combinations(run, size))

    def record(self, run: Run) -> Record:
        if run not in self.records:
            record = Record(run, self.estimate(run), self._find_above(run))
            record.selectivity = min(
                [record.selectivity, *(self.records[one].selectivity for one in record.above)]
            )
            self._file(record)
            self._find_below(record)
        return self.records[run]

    def _file(self, record: Record) -> None:
        self.records[record.run] = record
        for clause in record.run:
            self._with_clause.setdefault(clause, {})[record.run] = None

    def _unfile(self, run: Run) -> None:
        del self.records[run]
        for clause in run:
            del self._with_clause[clause][run]

    def _find_above(self, run: Run) -> tuple[Run, ...]:
        """Records that subsume a run: its parts, and single clauses and pairs of what its clauses imply."""
        closure = sorted(self.registry.closure_of(run))[:MAX_CLOSURE]
        wider = (part for size in (1, 2) for part in combinations(closure, size))
        named = dict.fromkeys((*self.parts_of(run), *(wider if len(closure) > len(run) else ())))
        return tuple(part for part in named if part != run and part in self.records)

    def _find_below(self, record: Record) -> None:
        """Tell the records that came earlier of a weaker one.

        Parts of a predicate come with it, so that only implications between different clauses can be late.
        """
        if not any(self.registry.stronger[clause] for clause in record.run):
            return
        for run in self._near(record.run):
            other = self.records[run]
            self.compared += 1
            if other is record or record.run in other.above:
                continue
            if self.registry.closure_of(run).issuperset(record.run):
                other.above = (*other.above, record.run)
                other.selectivity = min(other.selectivity, record.selectivity)
                if other.is_open or other.predicates:
                    record.below.add(run)

    def _near(self, run: Run) -> list[Run]:
        """Records that may imply a run: they have each of its clauses or a stronger one, so that the clause
        with the fewest such records finds them all.
        """
        ways = [(clause, *sorted(self.registry.stronger[clause])) for clause in run]
        counts = [sum(len(self._with_clause.get(one, ())) for one in way) for way in ways]
        rarest = ways[min(range(len(run)), key=lambda place: (counts[place], place))]
        found = (each for clause in rarest for each in self._with_clause.get(clause, ()))
        return list(dict.fromkeys(islice(found, MAX_NEAR)))

    def above(self, record: Record) -> list[Record]:
        """What subsumes a record now; a name in `above` may be of a record that is forgotten."""
        return [self.records[run] for run in record.above if run in self.records]

    def enlist(self, record: Record) -> None:
        for above in self.above(record):
            above.below.add(record.run)

    def forget(self, run: Run) -> None:
        """Remove what is neither a predicate, nor open, nor above anything; and then what it was the
        last below.
        """
        record = self.records.get(run)
        if record is None or record.predicates or record.is_open:
            return
        for above in self.above(record):
            above.below.discard(run)
        if not record.below:
            self._unfile(run)
            for above in self.above(record):
                if not above.below:
                    self.forget(above.run)

    def estimate(self, run: Run) -> float:
        """The share of items that satisfy a run: as everywhere, independent clauses except for known pairs."""
        if not run:
            return 1.0
        shares = [self._clause_share(clause) for clause in run]
        if len(run) == 1:
            return shares[0]
        lifts = ((one, other, self._pair_lift(one, other)) for one, other in combinations(run, 2))
        return min(prod(shares) * lift_of(lifts), *shares)

    def _clause_share(self, clause: int) -> float:
        if clause not in self._shares:
            self._shares[clause] = clause_share(self.registry.clause(clause), self.known)
        return self._shares[clause]

    def _pair_lift(self, one: int, other: int) -> float | None:
        if (one, other) not in self._lifts:
            here, there = self.registry.clause(one), self.registry.clause(other)
            self._lifts[one, other] = clause_lift(here, there, self.known)
        return self._lifts[one, other]
