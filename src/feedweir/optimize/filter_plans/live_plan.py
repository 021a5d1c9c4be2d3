"""A filter plan that is kept good while predicates come, change and go.

The subsumption graph stays: a record for every predicate and every part of one. A change touches only the
records of one predicate: it is put below its best open parent, candidates above it are opened where that
pays, and nodes that lost children are closed where they no longer do.

Every open node that is not a predicate pays for itself, `benefit ≥ 0` below its parent. Giving its children
to its parent, again and again, therefore never makes the plan cheaper until the naive plan is reached: no
plan costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from feedweir.optimize.filter_plans.clause_registry import Run
from feedweir.optimize.filter_plans.factored_filters import FactoredFilters, factorise
from feedweir.optimize.filter_plans.filter_tree import assemble
from feedweir.optimize.filter_plans.live_graph import TRUE, LiveGraph, Record
from feedweir.optimize.filter_plans.numbered_clauses import Book, flat
from feedweir.optimize.selectivity import Selectivity
from feedweir.plan.predicates import Not, Predicate

EPSILON = 1e-12


class LivePlan:
    """The filters of one source, by key. Change it in place; `snapshot` gives the plan as a value."""

    def __init__(self, known: Selectivity) -> None:
        self.graph = LiveGraph(known)
        self.predicates: dict[Hashable, Predicate] = {}
        self.run_of: dict[Hashable, Run] = {}
        self.root_children: set[Run] = set()
        self.changes = 0
        """Since the plan was made."""

    @property
    def cost(self) -> float:
        """Filters evaluated for an item."""
        return sum(self.graph.share_of(record.parent) for record in self.graph.open_records())

    @property
    def naive_cost(self) -> float:
        return float(len(self.predicates))

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
        record = self.graph.records[run]
        record.predicates -= 1
        if not record.predicates:
            self._settle([run])
            self.graph.forget(run)

    def reweigh(self, known: Selectivity) -> None:
        """Believe new statistics: estimates, parents and costs follow, and nodes that no longer pay are
        closed.
        """
        self.graph.reweigh(known)
        for record in self.graph.open_records():
            self._move(record, self._best_above(record))
        self._settle([record.run for record in self.graph.open_records()])

    def improve(self, *, max_rounds: int = 4) -> int:
        """Open and close single nodes anywhere in the plan while that lowers its cost; answers how many were
        opened.

        Changes look only at what is near them. This looks everywhere, and takes a pass over the graph a
        round.
        """
        opened = 0
        for _ in range(max_rounds):
            self._settle(sorted(record.run for record in self.graph.open_records()))
            found = [run for _, run in self._gains() if self._open(run)]
            opened += len(found)
            if not found:
                break
        return opened

    def _gains(self) -> list[tuple[float, Run]]:
        """Closed records that would pay if opened now, the best first."""
        closed = (one for one in self.graph.records.values() if not one.is_open and len(one.below) > 1)
        gains = ((self._gain(one), one.run) for one in closed)
        return sorted((pair for pair in gains if pair[0] > EPSILON), reverse=True)

    def _open(self, run: Run) -> bool:
        """Open a closed record if it still pays."""
        record = self.graph.records.get(run)
        if record is None or record.is_open or self._gain(record) <= EPSILON:
            return False
        self._attach(record, self._best_above(record))
        self._settle(self._adopt(record))
        return True

    def _take_in(self, key: Hashable, predicate: Predicate) -> Record | None:
        """Count a predicate under its record; `true` has none, every item satisfies it."""
        self.changes += 1
        self.predicates[key] = predicate
        run = self.run_of[key] = self.graph.registry.run_of(predicate)
        if run == TRUE:
            return None
        record = self.graph.take_in(run)
        record.predicates += 1
        self.graph.enlist(record)
        return record

    # The tree

    def _children(self, run: Run) -> set[Run]:
        return self.graph.records[run].children if run else self.root_children

    def _best_above(self, record: Record, without: Run = TRUE) -> Run:
        opened = [one.run for one in self.graph.above(record) if one.run != without and one.is_open]
        best = min(opened, key=lambda run: (self.graph.share_of(run), run), default=TRUE)
        return best if self.graph.share_of(best) < 1.0 else TRUE

    def _attach(self, record: Record, parent: Run) -> None:
        record.parent = parent
        self._children(parent).add(record.run)
        self.graph.enlist(record)

    def _detach(self, record: Record) -> Run:
        parent = record.parent
        assert parent is not None
        self._children(parent).discard(record.run)
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
            child = self.graph.records[run]
            if child.is_open and self.graph.share_of(child.parent) > record.selectivity + EPSILON:
                assert child.parent is not None
                touched += [child.parent, run]
                self._move(child, record.run)
        return touched

    def _gain(self, record: Record) -> float:
        """What opening a closed record saves."""
        others = (self.graph.records[run] for run in record.below)
        saved = sum(
            max(0.0, self.graph.share_of(other.parent) - record.selectivity)
            for other in others
            if other.is_open
        )
        return saved - self.graph.share_of(self._best_above(record))

    def _open_above(self, record: Record) -> None:
        """Open candidates above a new node, the best first, while that pays."""
        while True:
            gains = [(self._gain(one), one.run) for one in self.graph.above(record) if not one.is_open]
            _, run = max(gains, default=(0.0, TRUE))
            if not self._open(run):
                return

    def _settle(self, runs: Iterable[Run]) -> None:
        """Close nodes that are not predicates and no longer pay, and look again at those that lose a
        child by it.
        """
        pending = list(runs)
        while pending:
            run = pending.pop()
            record = self.graph.records.get(run)
            if record is None or not record.is_open or record.predicates:
                continue
            if self._saved_by_closing(record) > EPSILON or not record.children:
                pending += self._close(record)

    def _saved_by_closing(self, record: Record) -> float:
        children = (self.graph.records[run] for run in record.children)
        lost = sum(
            self.graph.share_of(self._best_above(child, record.run)) - record.selectivity
            for child in children
        )
        return self.graph.share_of(record.parent) - lost

    def _close(self, record: Record) -> list[Run]:
        touched = sorted(record.children)
        for run in touched:
            child = self.graph.records[run]
            self._move(child, self._best_above(child, record.run))
        parent = self._detach(record)
        self.graph.forget(record.run)
        return [parent, *touched] if parent else touched

    # Values

    def snapshot(self) -> FactoredFilters:
        """The plan as it is now; predicates are in the order of `predicates`."""
        opened = sorted((record for record in self.graph.open_records()), key=lambda record: record.run)
        runs = (TRUE, *(record.run for record in opened))
        number = {run: node for node, run in enumerate(runs)}
        starts, clauses = flat(runs)
        parent = np.array([0, *(number[record.parent or TRUE] for record in opened)], np.int32)
        selectivity = np.array([1.0, *(record.selectivity for record in opened)])
        node_of = np.array([number[run] for run in self.run_of.values()], np.int32)
        is_open = np.ones(len(runs), np.bool_)
        is_open[0] = False
        literals = tuple(part for atom in self.graph.registry.atoms for part in (atom, Not(atom)))
        book = Book(literals, tuple(self.graph.registry.clauses))
        return FactoredFilters(assemble(parent, starts, clauses, selectivity, node_of, is_open), book)

    def replanned(self) -> LivePlan:
        """A new plan for the same predicates, made at once; this one stays as it is until the caller
        swaps them.
        """
        return LivePlan.made(self.predicates, self.graph.known)

    @classmethod
    def made(
        cls,
        predicates: Mapping[Any, Predicate],
        known: Selectivity,
        step: Callable[[], None] = lambda: None,
    ) -> LivePlan:
        """A plan for predicates by key, made at once; `step` is called again and again and may raise to end it."""
        fresh = cls(known)
        planned = factorise(list(predicates.values()), known)
        for key, predicate in predicates.items():
            step()
            fresh._take_in(key, predicate)
        wanted = {
            fresh.graph.registry.run_of(planned.predicate_of(node)) for node in range(1, planned.tree.count)
        }
        kept = [run for run, record in fresh.graph.records.items() if run in wanted or record.predicates]
        for run in sorted(kept):
            fresh._attach(fresh.graph.records[run], TRUE)
        for run in sorted(kept):
            step()
            fresh._move(fresh.graph.records[run], fresh._best_above(fresh.graph.records[run]))
        fresh._settle(sorted(kept))
        fresh.changes = 0
        return fresh
