"""A step of the stream: states and a batch in, results and new states out.

Levels are evaluated one after the other; the results of a level are read by the levels above it in the same step, at
their places in the sequence. A step reads and writes nothing else, so it runs in a process, in a task, and in a test
alike; the caches hold only what can be read again from the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns.binding_rows import BindingRows, Texts, concatenated, intake
from feedweir.join.patterns.evaluate import Evaluation, Evaluator, Found
from feedweir.join.patterns.evaluate_kernels import Documents
from feedweir.join.patterns.found import LevelResults, PatternResults
from feedweir.join.patterns.inner_results import Bindings, bindings_of, derived_of, nothing_derived
from feedweir.join.patterns.level_history import (
    LevelState,
    compacted,
    states_named,
    version_of,
    with_segment,
)
from feedweir.join.patterns.level_input import (
    DocumentBatch,
    LevelInput,
    inner_rows,
    input_of,
    joined_texts,
    segment_of,
)
from feedweir.join.patterns.pattern_set import Level, PatternSet, compile_patterns, together
from feedweir.join.patterns.reach import cut_short, reach_of, within_counts, within_memory, without_own_parts
from feedweir.join.patterns.recall import Recall, asked_by, forgetting, lacking, recalled_batch, remembered
from feedweir.join.patterns.scope import EVERYTHING, Scope, ValueSlice
from feedweir.join.patterns.view_cache import ViewCache
from feedweir.join.window_bounds import running_clock
from feedweir.plan.predicates import TreePattern

Longs = NDArray[np.int64]


TOO_MANY = (
    "it would make or try too many documents of one batch: compare more values, or take a shorter window"
)
TOO_MANY_OF_ONE = (
    "it would make or try too many documents of one item: compare more values, or take a shorter window"
)

_AT_ONCE = 256
"""Items whose documents are evaluated together at first; then as many as give about what may be held."""

Sink = Callable[[LevelResults], None]
"""Takes the results of some documents, so that they need not be held."""


@dataclass(slots=True)
class LevelCache:
    """The view cache of a level, and the state that it reflects; with any other state it starts anew."""

    view: ViewCache = field(default_factory=ViewCache)
    state: LevelState | None = None
    taken: _Taken | None = None
    """The batch that brought it there: several tasks of one batch may run in one process."""

    def is_of(self, state: LevelState) -> bool:
        """Whether it reflects a state, or the same read from files."""
        return self.state is state or (self.state is not None and version_of(self.state) == version_of(state))

    def holds(self, before: LevelState, number: int, given: LevelInput) -> bool:
        """Whether a batch was taken in already."""
        one = self.taken
        return (
            one is not None
            and one.number == number
            and np.array_equal(one.given.seq, given.seq)
            and np.array_equal(one.given.time, given.time)
            and version_of(one.before) == version_of(before)
        )


@dataclass(frozen=True, slots=True)
class _Taken:
    """A batch as the newest segment of a level's history."""

    before: LevelState
    number: int
    given: LevelInput
    state: LevelState
    rows: BindingRows
    documents: Documents


class _Part:
    """One of several sets that were compiled apart, on one level."""

    def __init__(self, joins: PatternSet, level: Level) -> None:
        self.joins = joins
        self.level = level
        self.evaluator = Evaluator(level, joins.bounds)
        self.inner = _inner_relations(level)


class PatternLogic:
    """The logic of compiled sets; `step` is its one function."""

    def __init__(
        self,
        *parts: PatternSet,
        patterns: Sequence[TreePattern] | None = None,
        max_cached_rows: int = 5_000_000,
        is_piecewise: bool = False,
    ) -> None:
        """Sets that were compiled apart share history; `patterns` are those that witnesses are numbered by, the first
        set's own when they are not given. Piecewise, a batch that gives more than is held at a time is evaluated in
        pieces."""
        self._is_piecewise = is_piecewise
        self.joins = parts[0] if parts else compile_patterns(())
        numbered = self.joins.patterns if patterns is None else patterns
        self._patterns = {pattern: place for place, pattern in enumerate(numbered)}
        depth = max((len(part.levels) for part in parts), default=0)
        self._parts = [
            [_Part(part, part.levels[place]) for part in parts if place < len(part.levels)]
            for place in range(depth)
        ]
        self.levels = [together([part.level for part in own]) for own in self._parts]
        self._asked = [asked_by(level) for level in self.levels]
        self.caches = [LevelCache(ViewCache(max_rows=max_cached_rows)) for _ in self.levels]

    def start(self) -> dict[str, LevelState]:
        return states_named(LevelState() for _ in self.levels)

    def step(
        self,
        states: Mapping[str, LevelState],
        batch: DocumentBatch,
        number: int,
        sink: Sink | None = None,
        scope: Scope = EVERYTHING,
    ) -> tuple[PatternResults, dict[str, LevelState]]:
        """Evaluate batch `number`. Levels that a stored state does not have start empty. What a sink has taken is not
        among the results. `scope` is that of the lowest level."""
        after: dict[str, LevelState] = {}
        results: list[LevelResults] = []
        made = nothing_derived()
        failures: dict[int, str] = {}
        for place, level in enumerate(self.levels):
            name = f"level{place}"
            given = input_of(level, batch, made)
            before = states.get(name, LevelState())
            clocks = batch.clocks(before.clock)
            taken = self._take_in(place, before, batch, given, clocks, number)
            state, pieces = taken.state, self._found(place, taken, batch, EVERYTHING if place else scope)
            inner: list[tuple[Bindings, Level]] = []
            for part, one in pieces:
                reason = TOO_MANY_OF_ONE if self._is_piecewise else TOO_MANY
                failures |= {
                    key: reason for row in sorted(one.dropped) for key in part.joins.keys_of(place, row)
                }
                inner += [(bindings, one.level) for bindings in one.bindings]
                if sink is None:
                    results.append(one)
                else:
                    sink(one)
            self.caches[place].view.trim(state.oldest)
            # What was trimmed is not there for a repeat of the batch.
            self.caches[place].taken = None
            made = made.joined(derived_of(inner, place, state))
            after[name] = state
        return PatternResults(tuple(results), failures, self._notices(after)), after

    def divided(
        self, states: Mapping[str, LevelState], batch: DocumentBatch, number: int, part: ValueSlice
    ) -> Iterator[LevelResults]:
        """The matches of the joins that are divided by value, as far as they are one slice's; no state is left."""
        for level in self.levels[:1]:
            before = states.get("level0", LevelState())
            given = input_of(level, batch)
            taken = self._take_in(0, before, batch, given, batch.clocks(before.clock), number)
            yield from (one for _, one in self._found(0, taken, batch, Scope(is_divided=True, part=part)))

    def lacking(self, states: Mapping[str, LevelState]) -> dict[str, list[str]]:
        """By level the streams of which it asks for more than its state has taken in."""
        wanted = (
            (name, lacking(level, self._asked[place], states.get(name, LevelState())))
            for place, level in enumerate(self.levels)
            for name in [f"level{place}"]
        )
        return {name: streams for name, streams in wanted if streams}

    def recalled(self, states: Mapping[str, LevelState], recall: Recall) -> dict[str, LevelState]:
        """The states with what their levels newly ask of streams that any state remembers."""
        after = dict(states)
        for name, streams in self.lacking(states).items():
            level, state = self.levels[int(name.removeprefix("level"))], states.get(name, LevelState())
            found = remembered(level, streams, recall.known, recall.clock, self.joins.bounds)
            if not found:
                continue
            batch = recalled_batch(found, recall.witness)
            before = forgetting(state, level, found)
            given = input_of(level, batch)
            rows, texts = self._rows(level, batch, given, before.next_number)
            segment = segment_of(level, recall.number, given, rows, texts, before.next_number)
            after[name] = with_segment(before, segment, recall.clock, before.asked)
        return after

    def saved(self, states: Mapping[str, LevelState], mapped: Mapping[str, LevelState]) -> None:
        """The next step may begin with the same states as read from disk: the caches are valid for those, too."""
        for place, cache in enumerate(self.caches):
            name = f"level{place}"
            if name in states and cache.state is states[name]:
                cache.state = mapped[name]

    def _notices(self, after: Mapping[str, LevelState]) -> dict[int, str]:
        bounds = self.joins.bounds
        notices: dict[int, str] = {}
        for place, parts in enumerate(self._parts):
            for part in parts:
                for one in cut_short(part.level, after[f"level{place}"], bounds):
                    notice = f"its window is cut to the last {bounds.max_documents:,} documents"
                    notices.update(dict.fromkeys(part.joins.keys_of(place, one), notice))
        return notices

    def _take_in(
        self,
        place: int,
        before: LevelState,
        batch: DocumentBatch,
        given: LevelInput,
        clocks: Longs,
        number: int,
    ) -> _Taken:
        """Make a batch the newest segment of history, and have the view cache show it."""
        level, cache = self.levels[place], self.caches[place]
        if cache.taken is not None and cache.holds(before, number, given):
            return cache.taken
        if not cache.is_of(before):
            cache.view = ViewCache(max_rows=cache.view.max_rows)
        cache.view.trim(before.oldest)
        known = compacted(before, reach_of(level, before, self.joins.bounds))
        rows, texts = self._rows(level, batch, given, known.next_number)
        segment = segment_of(level, number, given, rows, texts, known.next_number)
        now = int(clocks[-1]) if len(clocks) else known.clock
        state = with_segment(known, segment, now, self._asked[place])
        # Its values are looked up in history: R_L has all rows with one of them, those of the batch included.
        cache.view.prepare(np.unique(rows.value), lambda values: known.of_values(values, 1))
        cache.view.append(rows)
        is_late = given.time < running_clock(given.time, known.latest)
        clock = clocks[np.searchsorted(batch.seq, given.seq)]
        documents = Documents(segment.number, given.time, clock, is_late)
        cache.state, cache.taken = state, _Taken(before, number, given, state, rows, documents)
        return cache.taken

    def _found(
        self, place: int, taken: _Taken, batch: DocumentBatch, scope: Scope
    ) -> Iterator[tuple[_Part, LevelResults]]:
        """The results of a level, piece by piece."""
        view = self.caches[place].view
        return (
            (part, one)
            for part in self._parts[place]
            for one in self._of_part(part, taken, view, batch, scope)
        )

    def _of_part(
        self, part: _Part, taken: _Taken, view: ViewCache, batch: DocumentBatch, scope: Scope
    ) -> Iterator[LevelResults]:
        documents, state, seq = taken.documents, taken.state, taken.given.seq
        own, bounds = part.evaluator.rows(taken.rows, documents.number), self.joins.bounds
        if not self._is_piecewise:
            evaluation = part.evaluator.run(own, documents, view, state.oldest)
            yield self._results(part, evaluation, state, batch)
            return
        # Documents that one item completes stay together: which of them come first is decided among all of them.
        starts = np.append(_starts(seq), len(seq)).tolist()
        first, width, count = 0, _AT_ONCE, len(starts) - 1
        while first < count:
            last = min(first + width, count)
            is_one = last - first == 1
            room = bounds.max_found if is_one else bounds.max_piece
            piece = slice(starts[first], starts[last])
            evaluation = part.evaluator.run_piece(own, documents, view, state.oldest, piece, room, scope)
            found = None
            if is_one or not evaluation.dropped:
                found = self._results(part, evaluation, state, batch)
            if found is None or (found.dropped and not is_one):
                width = (last - first) // 2
            else:
                yield found
                first = last
                width *= 2 if 4 * part.evaluator.weight(evaluation) < bounds.max_piece else 1

    def _results(
        self, part: _Part, evaluation: Evaluation, state: LevelState, batch: DocumentBatch
    ) -> LevelResults:
        # The kernels leave to us what they cannot know: windows of documents, clocks that went back, own parts.
        matches = [self._in_reach(one, part.level, state, batch) for one in evaluation.found]
        found = [one for one in matches if len(one)]
        bindings, too_many = self._bindings(part, found, state)
        dropped = {
            result for relation, row in evaluation.dropped for result in part.level.members(relation, row)
        }
        return LevelResults(
            part.level, tuple(found), tuple(bindings), state, frozenset(dropped | too_many), evaluation.steps
        )

    def _in_reach(self, found: Found, level: Level, state: LevelState, batch: DocumentBatch) -> Found:
        remembered = within_memory(found, level, state, batch.peaks, self.joins.bounds.lateness_us)
        return without_own_parts(within_counts(remembered, level, state), state)

    def _bindings(
        self, part: _Part, found: Sequence[Found], state: LevelState
    ) -> tuple[list[Bindings], set[int]]:
        """The bindings for constructions and inner joins, and the results that would have too many."""
        room = self.joins.bounds.max_made
        made: list[Bindings] = []
        dropped: set[int] = set()
        for one in found:
            if one.paths is None and one.relation not in part.inner:
                continue
            own, too_many = bindings_of(one, part.level, state, room)
            room -= len(own)
            made.append(own)
            dropped.update(too_many)
        # A template's matches come in parts: a result that is dropped in one gives nothing at all.
        gone = np.array(sorted(dropped), np.int64)
        return [one.take(~np.isin(one.result, gone)) for one in made] if dropped else made, dropped

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
        if len(given.derived):
            place_of = np.empty(len(given.derived), np.int64)
            place_of[given.inner[given.inner >= 0]] = np.flatnonzero(given.inner >= 0)
            found = inner_rows(level, given.derived, numbers[place_of], given.time[place_of])
            parts.append(found[0])
            texts.append(found[1])
        return concatenated(parts, 1).sorted(), joined_texts(texts)


def _starts(seq: Longs) -> Longs:
    """Where the documents of each item begin."""
    return np.flatnonzero(np.append(True, seq[1:] != seq[:-1])[: len(seq)])


def _inner_relations(level: Level) -> frozenset[int]:
    """The relations with a result that a join above reads."""
    has_stream = level.results.is_inner
    return frozenset(place for place, one in enumerate(level.relations) if has_stream[one.members].any())
