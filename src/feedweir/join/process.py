"""A step of the stream: states and a batch in, results and new states out.

Levels are evaluated one after the other; what a level makes is read by the levels above it in the same step, in its
place in the sequence. A step reads and writes nothing else, so it runs in a process, in a task, or in a test alike; the
caches hold nothing but what can be read again from the states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.batch import DocumentBatch
from feedweir.join.cache import ViewCache
from feedweir.join.compiled import JoinSet, Level
from feedweir.join.derived import Bindings, Derived, bindings_of, derived_of, plain_bindings_of
from feedweir.join.evaluate import Evaluator, Found
from feedweir.join.evaluate_kernels import Documents
from feedweir.join.history import JoinState, compacted, extended, states_named
from feedweir.join.intake import Texts, intake
from feedweir.join.reach import cut_short, reach_of, within_counts, within_memory, without_own_parts
from feedweir.join.reading import LevelInput, inner_rows, input_of, joined_texts, segment_of
from feedweir.join.recall import Recall, asked_by, forgetting, lacking, recalled_batch, remembered
from feedweir.join.results import JoinResults, LevelResults
from feedweir.join.rows import BindingRows, concatenated
from feedweir.join.windows import running_clock
from feedweir.plan.predicates import TreePattern

Longs = NDArray[np.int64]

TOO_MANY = (
    "it would make or try too many documents of one batch: compare more values, or take a shorter window"
)


@dataclass(slots=True)
class LevelCache:
    """The view cache of a level, and the state that it reflects; with any other state it starts anew."""

    view: ViewCache = field(default_factory=ViewCache)
    state: JoinState | None = None


class JoinLogic:
    """The logic of a compiled set; `step` is its one function."""

    def __init__(
        self,
        joins: JoinSet,
        *,
        patterns: Sequence[TreePattern] | None = None,
        max_cached_rows: int = 5_000_000,
    ) -> None:
        """`patterns` are those that witnesses are numbered by; the set's own when they are not given."""
        self.joins = joins
        numbered = joins.patterns if patterns is None else patterns
        self._patterns = {pattern: place for place, pattern in enumerate(numbered)}
        self._evaluators = [Evaluator(level, joins.bounds) for level in joins.levels]
        self._inner = [_inner_relations(level) for level in joins.levels]
        self._asked = [asked_by(level) for level in joins.levels]
        self.caches = [LevelCache(ViewCache(max_rows=max_cached_rows)) for _ in joins.levels]

    def start(self) -> dict[str, JoinState]:
        return states_named(JoinState() for _ in self.joins.levels)

    def step(
        self, states: Mapping[str, JoinState], batch: DocumentBatch, number: int
    ) -> tuple[JoinResults, dict[str, JoinState]]:
        """Evaluate batch `number`. Levels that a stored state does not have start empty."""
        after: dict[str, JoinState] = {}
        results: list[LevelResults] = []
        made: list[Derived] = []
        for place, level in enumerate(self.joins.levels):
            name = f"level{place}"
            given = input_of(level, batch, made)
            before = states.get(name, JoinState())
            clocks = batch.clocks(before.clock)
            found, state = self._level(place, before, batch, given, clocks, number)
            made += derived_of(found.bindings, level, place, state)
            results.append(found)
            after[name] = state
        return JoinResults(tuple(results), self._failures(results), self._notices(after)), after

    def lacking(self, states: Mapping[str, JoinState]) -> dict[str, list[str]]:
        """By level the streams of which it asks for more than its state has taken in."""
        wanted = (
            (name, lacking(level, self._asked[place], states.get(name, JoinState())))
            for place, level in enumerate(self.joins.levels)
            for name in [f"level{place}"]
        )
        return {name: streams for name, streams in wanted if streams}

    def recalled(self, states: Mapping[str, JoinState], recall: Recall) -> dict[str, JoinState]:
        """The states with what their levels newly ask of streams that any state remembers."""
        after = dict(states)
        for name, streams in self.lacking(states).items():
            level, state = self.joins.levels[int(name.removeprefix("level"))], states.get(name, JoinState())
            found = remembered(level, streams, recall.known, recall.clock, self.joins.bounds)
            if not found:
                continue
            batch = recalled_batch(found, recall.witness)
            before = forgetting(state, level, found)
            given = input_of(level, batch, ())
            rows, texts = self._rows(level, batch, given, before.next_number)
            segment = segment_of(level, recall.number, given, rows, texts, before.next_number)
            after[name] = extended(before, segment, recall.clock, before.asked)
        return after

    def saved(self, states: Mapping[str, JoinState], mapped: Mapping[str, JoinState]) -> None:
        """The next step may begin with the same states, now on disk: what is cached is of those, too."""
        for place, cache in enumerate(self.caches):
            name = f"level{place}"
            if name in states and cache.state is states[name]:
                cache.state = mapped[name]

    def _failures(self, results: Sequence[LevelResults]) -> dict[int, str]:
        struck = [(place, one) for place, level in enumerate(results) for one in sorted(level.struck)]
        return {key: TOO_MANY for place, one in struck for key in self.joins.keys_of(place, one)}

    def _notices(self, after: Mapping[str, JoinState]) -> dict[int, str]:
        bounds, told = self.joins.bounds, {}
        for place, level in enumerate(self.joins.levels):
            for one in cut_short(level, after[f"level{place}"], bounds):
                notice = f"its window is cut to the last {bounds.max_documents:,} documents"
                told.update(dict.fromkeys(self.joins.keys_of(place, one), notice))
        return told

    def _level(
        self,
        place: int,
        before: JoinState,
        batch: DocumentBatch,
        given: LevelInput,
        clocks: Longs,
        number: int,
    ) -> tuple[LevelResults, JoinState]:
        level, evaluator, cache = self.joins.levels[place], self._evaluators[place], self.caches[place]
        if cache.state is not before:
            cache.view = ViewCache(max_rows=cache.view.max_rows)
        before = compacted(before, reach_of(level, before, self.joins.bounds))
        rows, texts = self._rows(level, batch, given, before.next_number)
        clock = clocks[np.searchsorted(batch.seq, given.seq)]
        segment = segment_of(level, number, given, rows, texts, before.next_number)
        now = int(clocks[-1]) if len(clocks) else before.clock
        state = extended(before, segment, now, self._asked[place])
        numbers = segment.number
        cache.view.prepare(np.unique(rows.value), lambda values: before.of_values(values, 1))
        cache.view.append(rows)
        is_late = given.time < running_clock(given.time, before.latest)
        documents = Documents(numbers, given.time, clock, is_late)
        oldest = state.oldest
        evaluation = evaluator.run(evaluator.rows(rows, numbers), documents, cache.view, oldest)
        lateness = self.joins.bounds.lateness_us
        near = (within_memory(one, level, state, batch.peaks, lateness) for one in evaluation.found)
        found = [
            kept for one in near if len(kept := without_own_parts(within_counts(one, level, state), state))
        ]
        cache.view.trim(oldest)
        cache.state = state
        bindings, unmade = self._bindings(place, found, state)
        struck = {result for relation, row in evaluation.struck for result in level.members(relation, row)}
        results = LevelResults(level, tuple(found), tuple(bindings), state, frozenset(struck | unmade))
        return results, state

    def _bindings(
        self, place: int, found: Sequence[Found], state: JoinState
    ) -> tuple[list[Bindings], set[int]]:
        """What constructions and inner joins are made of, and the results of which there would be too many."""
        level, room = self.joins.levels[place], self.joins.bounds.max_made
        wide = max([1, *(len(variable.places) for variable in level.variables)])
        made: list[Bindings] = []
        struck: set[int] = set()
        for one in found:
            if one.paths is not None:
                own, unmade = bindings_of(one, level, state, wide, room - len(made))
            elif one.relation in self._inner[place]:
                own, unmade = plain_bindings_of(one, level, room - len(made))
            else:
                continue
            made += own
            struck.update(unmade)
        # A template's matches come in parts: what is struck in one gives nothing at all.
        return [one for one in made if one.result not in struck], struck

    def _rows(
        self, level: Level, batch: DocumentBatch, given: LevelInput, first: int
    ) -> tuple[BindingRows, Texts]:
        numbers = np.arange(first, first + len(given.seq), dtype=np.int64)
        parts: list[BindingRows] = []
        texts: list[Texts] = []
        is_base = given.base >= 0
        if is_base.any():
            place_of = np.full(len(batch), -1, np.int64)
            place_of[given.base[is_base]] = np.flatnonzero(is_base)
            members = {
                stream: marks[np.maximum(place_of, 0)] & (place_of >= 0)
                for stream, marks in given.members.items()
            }
            own, own_texts = intake(
                level, self._patterns, batch.witnesses, members, numbers[np.maximum(place_of, 0)],
                given.time[np.maximum(place_of, 0)],
            )  # fmt: skip
            parts.append(own)
            texts.append(own_texts)
        inner = [(place, one) for place, one in enumerate(given.derived) if one is not None]
        if inner:
            found = inner_rows(level, inner, numbers, given.time)
            parts.append(found[0])
            texts.append(found[1])
        return concatenated(parts, 1).sorted(), joined_texts(texts)


def _inner_relations(level: Level) -> frozenset[int]:
    """The relations with a result that a join above reads."""
    has_stream = np.array([bool(result.stream) for result in level.results], np.bool_)
    return frozenset(place for place, one in enumerate(level.relations) if has_stream[one.members].any())
