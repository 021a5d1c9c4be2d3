"""A filter plan that is kept good while predicates come, change and go.

The subsumption graph stays: a record for every predicate and every part of one. A change touches only the
records of one predicate: it is put below its best open parent, candidates above it are opened where that
pays, and nodes that lost children are closed where they no longer do.

Every open node that is not a predicate pays for itself, `benefit ≥ 0` below its parent. Giving its children
to its parent, again and again, therefore never makes the plan cheaper until the naive plan is reached: no
plan costs more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np

from feedweir.optimize.coding import Book
from feedweir.optimize.factorise import FactoredFilters, factorise
from feedweir.optimize.graph import flat
from feedweir.optimize.registry import ClauseRegistry, Run
from feedweir.optimize.selectivity import Selectivity, clause_lift, clause_share, lift_of
from feedweir.optimize.tree import assemble
from feedweir.optimize.vcb import MAX_CLOSURE, MAX_WIDTH
from feedweir.plan.predicates import Not, Predicate

EPSILON = 1e-12
TRUE: Run = ()


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


class LivePlan:
    """The filters of one source, by key. Change it in place; `snapshot` gives the plan as a value."""

    def __init__(self, known: Selectivity) -> None:
        self.known = known
        self.registry = ClauseRegistry()
        self.predicates: dict[Hashable, Predicate] = {}
        self.run_of: dict[Hashable, Run] = {}
        self.records: dict[Run, Record] = {}
        self.root_children: set[Run] = set()
        self.cost = 0.0
        self.changes = 0
        """Since the plan was made."""
        self._shares: dict[int, float] = {}
        self._lifts: dict[tuple[int, int], float | None] = {}

    @property
    def naive_cost(self) -> float:
        return float(len(self.predicates))

    def share_of_clause(self, clause: int) -> float:
        """The share of items that satisfy a clause."""
        record = self.records.get((clause,))
        return self._estimate((clause,)) if record is None else record.selectivity

    # Changes

    def add(self, key: Hashable, predicate: Predicate) -> None:
        """Take a new predicate in; an existing key is altered."""
        if key in self.predicates:
            self.drop(key)
        record = self._take_in(key, predicate)
        if record is None or record.is_open:
            return
        self._attach(record, self._best_above(record))
        self._settle(self._adopt(record))
        self._open_above(record)

    def alter(self, key: Hashable, predicate: Predicate) -> None:
        if self.predicates.get(key) != predicate:
            self.add(key, predicate)

    def drop(self, key: Hashable) -> None:
        """Forget a predicate; unknown keys are forgotten already."""
        if key not in self.predicates:
            return
        self.changes += 1
        del self.predicates[key]
        run = self.run_of.pop(key)
        if run == TRUE:
            return
        record = self.records[run]
        record.predicates -= 1
        if not record.predicates:
            self._settle([run])
            self._forget(run)

    def reweigh(self, known: Selectivity) -> None:
        """Believe new statistics: estimates, parents and costs follow, and nodes that no longer pay are
        closed.
        """
        self.known = known
        self._shares.clear()
        self._lifts.clear()
        for record in self.records.values():
            record.selectivity = self._estimate(record.run)
        for record in self.records.values():
            above = (self._estimate(one.run) for one in self._above(record))
            record.selectivity = min([record.selectivity, *above])
        self.cost = sum(self._share(record.parent) for record in self._open_records())
        for record in self._open_records():
            self._move(record, self._best_above(record))
        self._settle([record.run for record in self._open_records()])

    def _take_in(self, key: Hashable, predicate: Predicate) -> Record | None:
        """Count a predicate under its record; `true` has none, every item satisfies it."""
        self.changes += 1
        self.predicates[key] = predicate
        run = self.run_of[key] = self.registry.run_of(predicate)
        if run == TRUE:
            return None
        for part in self._parts(run):
            self._record(part)
        record = self._record(run)
        record.predicates += 1
        self._enlist(record)
        return record

    # The graph

    def _parts(self, run: Run) -> Iterable[Run]:
        """The proper parts of a predicate, the shortest first; of a very long one those with few clauses."""
        widest = len(run) - 1 if len(run) <= MAX_WIDTH else 2
        return (part for size in range(1, widest + 1) for part in combinations(run, size))

    def _record(self, run: Run) -> Record:
        if run not in self.records:
            record = Record(run, self._estimate(run), self._find_above(run))
            record.selectivity = min(
                [record.selectivity, *(self.records[one].selectivity for one in record.above)]
            )
            self.records[run] = record
            self._find_below(record)
        return self.records[run]

    def _find_above(self, run: Run) -> tuple[Run, ...]:
        """Records that subsume a run: its parts, and single clauses and pairs of what its clauses imply."""
        closure = sorted(self.registry.closure_of(run))[:MAX_CLOSURE]
        wider = (part for size in (1, 2) for part in combinations(closure, size))
        named = dict.fromkeys((*self._parts(run), *(wider if len(closure) > len(run) else ())))
        return tuple(part for part in named if part != run and part in self.records)

    def _find_below(self, record: Record) -> None:
        """Tell the records that came earlier of a weaker one.

        Parts of a predicate come with it, so that only implications between different clauses can be late.
        """
        if not any(self.registry.stronger[clause] for clause in record.run):
            return
        for other in list(self.records.values()):
            if other is not record and record.run not in other.above:
                closure = self.registry.closure_of(other.run)
                if closure.issuperset(record.run) and other.run != record.run:
                    other.above = (*other.above, record.run)
                    other.selectivity = min(other.selectivity, record.selectivity)
                    if other.is_open or other.predicates:
                        record.below.add(other.run)

    def _above(self, record: Record) -> list[Record]:
        """What subsumes a record now; a name in `above` may be of a record that is forgotten."""
        return [self.records[run] for run in record.above if run in self.records]

    def _enlist(self, record: Record) -> None:
        for above in self._above(record):
            above.below.add(record.run)

    def _forget(self, run: Run) -> None:
        """Remove what is neither a predicate, nor open, nor above anything; and then what it was the
        last below.
        """
        record = self.records.get(run)
        if record is None or record.predicates or record.is_open:
            return
        for above in self._above(record):
            above.below.discard(run)
        if not record.below:
            del self.records[run]
            for above in self._above(record):
                if not above.below:
                    self._forget(above.run)

    def _estimate(self, run: Run) -> float:
        """The share of items that satisfy a run: as everywhere, independent clauses except for known pairs."""
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

    # The tree

    def _share(self, run: Run | None) -> float:
        return self.records[run].selectivity if run else 1.0

    def _open_records(self) -> list[Record]:
        return [record for record in self.records.values() if record.is_open]

    def _children(self, run: Run) -> set[Run]:
        return self.records[run].children if run else self.root_children

    def _best_above(self, record: Record, without: Run = TRUE) -> Run:
        opened = [one.run for one in self._above(record) if one.run != without and one.is_open]
        best = min(opened, key=lambda run: (self._share(run), run), default=TRUE)
        return best if self._share(best) < 1.0 else TRUE

    def _attach(self, record: Record, parent: Run) -> None:
        record.parent = parent
        self._children(parent).add(record.run)
        self.cost += self._share(parent)
        self._enlist(record)

    def _detach(self, record: Record) -> Run:
        parent = record.parent
        assert parent is not None
        self._children(parent).discard(record.run)
        self.cost -= self._share(parent)
        record.parent = None
        return parent

    def _move(self, record: Record, parent: Run) -> None:
        if record.parent != parent:
            self._detach(record)
            self._attach(record, parent)

    def _adopt(self, record: Record) -> list[Run]:
        """Take over children that stand below something less selective; answers who lost or changed."""
        touched: list[Run] = []
        for run in sorted(record.below):
            child = self.records[run]
            if child.is_open and self._share(child.parent) > record.selectivity + EPSILON:
                assert child.parent is not None
                touched += [child.parent, run]
                self._move(child, record.run)
        return touched

    def _gain(self, record: Record) -> float:
        """What opening a closed record saves."""
        others = (self.records[run] for run in record.below)
        saved = sum(
            max(0.0, self._share(other.parent) - record.selectivity) for other in others if other.is_open
        )
        return saved - self._share(self._best_above(record))

    def _open_above(self, record: Record) -> None:
        """Open candidates above a new node, the best first, while that pays."""
        while True:
            gains = [(self._gain(one), one.run) for one in self._above(record) if not one.is_open]
            best, run = max(gains, key=lambda pair: (pair[0], pair[1]), default=(0.0, TRUE))
            if best <= EPSILON:
                return
            opened = self.records[run]
            self._attach(opened, self._best_above(opened))
            self._settle(self._adopt(opened))

    def _settle(self, runs: Iterable[Run]) -> None:
        """Close nodes that are not predicates and no longer pay, and look again at those that lose a
        child by it.
        """
        pending = list(runs)
        while pending:
            run = pending.pop()
            record = self.records.get(run)
            if record is None or not record.is_open or record.predicates:
                continue
            if self._saved_by_closing(record) > EPSILON or not record.children:
                pending += self._close(record)

    def _saved_by_closing(self, record: Record) -> float:
        children = (self.records[run] for run in record.children)
        lost = sum(
            self._share(self._best_above(child, record.run)) - record.selectivity for child in children
        )
        return self._share(record.parent) - lost

    def _close(self, record: Record) -> list[Run]:
        touched = sorted(record.children)
        for run in touched:
            child = self.records[run]
            self._move(child, self._best_above(child, record.run))
        parent = self._detach(record)
        self._forget(record.run)
        return [parent, *touched] if parent else touched

    # Values

    def snapshot(self) -> FactoredFilters:
        """The plan as it is now; predicates are in the order of `predicates`."""
        opened = sorted((record for record in self._open_records()), key=lambda record: record.run)
        runs = (TRUE, *(record.run for record in opened))
        number = {run: node for node, run in enumerate(runs)}
        starts, clauses = flat(runs)
        parent = np.array([0, *(number[record.parent or TRUE] for record in opened)], np.int32)
        selectivity = np.array([1.0, *(record.selectivity for record in opened)])
        node_of = np.array([number[run] for run in self.run_of.values()], np.int32)
        is_open = np.ones(len(runs), np.bool_)
        is_open[0] = False
        literals = tuple(part for atom in self.registry.atoms for part in (atom, Not(atom)))
        book = Book(literals, tuple(self.registry.clauses))
        return FactoredFilters(assemble(parent, starts, clauses, selectivity, node_of, is_open), book)

    def replanned(self) -> LivePlan:
        """A new plan for the same predicates, made at once; this one stays as it is until the caller
        swaps them.
        """
        fresh = LivePlan(self.known)
        planned = factorise(list(self.predicates.values()), self.known)
        for key, predicate in self.predicates.items():
            fresh._take_in(key, predicate)
        wanted = {fresh.registry.run_of(planned.predicate_of(node)) for node in range(1, planned.tree.count)}
        kept = [run for run, record in fresh.records.items() if run in wanted or record.predicates]
        for run in sorted(kept):
            fresh._attach(fresh.records[run], TRUE)
        for run in sorted(kept):
            fresh._move(fresh.records[run], fresh._best_above(fresh.records[run]))
        fresh._settle(sorted(kept))
        fresh.changes = 0
        return fresh
