"""Joins whose batches are divided among tasks, in workers that each have their own caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from feedweir.join.batch_documents import JoinInput
from feedweir.join.patterns.scope import ValueSlice
from feedweir.join.replay import Replay
from feedweir.join.result_tables import Joined, JoinState
from feedweir.join.step import CompiledJoins, divided_matches


class DividedReplay(Replay):
    """A replay that asks workers for slices of each batch, and puts together what they find."""

    def __init__(self, joins: CompiledJoins, workers: Sequence[CompiledJoins], tasks: int) -> None:
        super().__init__(joins)
        self._workers = workers
        self._tasks = tasks
        self.found = 0

    def join(self, given: JoinInput, state: JoinState) -> Joined:
        if not self.compiled.stored.parts:
            return super().join(given, state)
        parts = [ValueSlice(number, self._tasks) for number in range(self._tasks)]
        found = [
            divided_matches(self._workers[part.number % len(self._workers)], given, state, part)
            for part in parts
        ]
        if any(one is None for one in found):
            return super().join(given, state)
        rows = [each for one in found for each in one or ()]
        self.found += sum(one.shape[1] for one in rows)
        return super().join(replace(given, divided=rows), state)
