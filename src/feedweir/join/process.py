"""A step of the stream: states and a batch in, results and new states out.

Levels are evaluated one after the other; what a level makes is read by the levels above it in the same step, in its
place in the sequence. A step reads and writes nothing else, so it runs in a process, in a task, or in a test alike; the
caches hold nothing but what can be read again from the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.batch import DocumentBatch, DocumentTexts, NoWitnesses, WitnessSource
from feedweir.join.cache import ViewCache
from feedweir.join.compiled import JoinSet, Level
from feedweir.join.derived import Bindings, Derived, bindings_of, derived_of, members_of
from feedweir.join.evaluate import Evaluator, Found
from feedweir.join.evaluate_kernels import Documents
from feedweir.join.intake import Texts, intake
from feedweir.join.query import filled, is_inner
from feedweir.join.rows import BindingRows, concatenated, ranges
from feedweir.join.state import JoinState, Reach, Segment, compacted, extended, states_named
from feedweir.join.values import NO_VALUE, keys_of, stable_number
from feedweir.join.variables import result_variable
from feedweir.join.windows import FOREVER, JoinBounds
from feedweir.plan.predicates import TreePattern

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """One result: the query's key, the items that belong together from left to right, and the constructed document."""

    key: int
    items: tuple[int, ...]
    xml: str = ""


@dataclass(frozen=True, slots=True)
class LevelResults:
    """Matches of one level, kept as found: a match of many equal queries is held once."""

    level: Level
    found: tuple[Found, ...]
    bindings: tuple[Bindings, ...]
    state: JoinState

    def count(self) -> int:
        """How many (query, pair) results there are, without making them."""
        results = [self.level.results[one.result] for one in self.bindings]
        total = sum(result.key is not None and bool(result.outputs) for result in results)
        return total + sum(_members_count(found, self.level) for found in self.found if found.paths is None)

    @property
    def has_derived(self) -> bool:
        """Whether any document is more than the item of its number."""
        return any(segment.derived for segment in self.state.segments)

    def pairs(self, keys: frozenset[int]) -> Longs:
        """(key, left item, right item) of the matches of these queries, which construct nothing: each once."""
        found = [np.empty((0, 3), np.int64)]
        key_of = np.array([-1 if one.key not in keys else one.key for one in self.level.results], np.int64)
        for one in (each for each in self.found if each.paths is None):
            relation = self.level.relations[one.relation]
            low, high = relation.members_ptr[one.row], relation.members_ptr[one.row + 1]
            place = np.repeat(np.arange(len(one)), high - low)
            member = ranges(low, high)
            key = key_of[relation.members[member]]
            taken = (key >= 0) & (one.needed[place] <= relation.member_length[member])
            found.append(np.column_stack([key[taken], one.left[place[taken]], one.right[place[taken]]]))
        rows = np.concatenate(found)
        numbers, inverse = np.unique(rows[:, 1:], return_inverse=True)
        rows[:, 1:] = self.state.sequence(numbers)[0][inverse.reshape(-1, 2)]
        rows = rows[np.lexsort(rows.T[::-1])]
        is_first = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]
        return np.asarray(rows[is_first])

    def matches(self, without: frozenset[int] = frozenset()) -> Iterator[Match]:
        for found in self.found:
            if found.paths is not None:
                continue
            items = _ItemsOf(self.state)
            for result, places in members_of(found, self.level):
                plain = self.level.results[result]
                if plain.key is not None and plain.key not in without:
                    for place in places.tolist():
                        together = items[int(found.left[place])] + items[int(found.right[place])]
                        yield Match(plain.key, together, plain.select)
        for one in self.bindings:
            result_of = self.level.results[one.result]
            if result_of.key is not None and result_of.outputs:
                xml = filled(result_of.select, dict(zip(result_of.outputs, one.texts, strict=True)))
                items_of = self.state.items_of(one.left) + self.state.items_of(one.right)
                yield Match(result_of.key, items_of, xml)


class _ItemsOf(dict[int, tuple[int, ...]]):
    """The items of documents, looked up when they are first asked for."""

    def __init__(self, state: JoinState) -> None:
        self._state = state

    def __missing__(self, number: int) -> tuple[int, ...]:
        self[number] = self._state.items_of(number)
        return self[number]


def _members_count(found: Found, level: Level) -> int:
    relation = level.relations[found.relation]
    sizes = np.diff(relation.members_ptr)
    total = 0
    if (relation.member_length == np.repeat(relation.length, sizes)).all():
        return int(sizes[found.row].sum())
    for _, places in members_of(found, level):
        total += len(places)
    return total


@dataclass(frozen=True, slots=True)
class JoinResults:
    levels: tuple[LevelResults, ...]
    published: tuple[Derived, ...] = ()
    """Documents of published streams, in order."""
    notices: tuple[str, ...] = ()
    """What an operator should know: bounds that cut windows short."""

    def count(self) -> int:
        return sum(level.count() for level in self.levels)

    def matches(self, without: frozenset[int] = frozenset()) -> list[Match]:
        """All results but those of some queries, distinct and sorted; bulk readers take `levels`."""
        found = {match for level in self.levels for match in level.matches(without)}
        return sorted(found, key=lambda match: (max(match.items), match.key, match.items, match.xml))

    def table(self) -> pa.Table:
        """The results as columns: key, items, xml."""
        found = self.matches()
        return pa.table(
            {
                "key": pa.array([match.key for match in found], pa.int64()),
                "items": pa.array([match.items for match in found], pa.list_(pa.int64())),
                "xml": pa.array([match.xml for match in found], pa.string()),
            }
        )


@dataclass(slots=True)
class LevelCache:
    """The view cache of a level, and the state that it reflects; with any other state it starts anew."""

    view: ViewCache = field(default_factory=ViewCache)
    state: JoinState | None = None


@dataclass(frozen=True, slots=True)
class _Input:
    """The documents of a batch that one level reads, in order; `rows` are of those not given by witnesses."""

    seq: Longs
    sub: Longs
    time: Longs
    members: Mapping[str, NDArray[np.bool_]]
    base: Longs
    """Which rows of the batch are among them, or -1."""
    derived: tuple[Derived | None, ...]
    ids: Longs | None = None
    """By row of the batch what matches report."""

    def made_of(self, first: int) -> dict[int, tuple[int, ...]]:
        """By number, from `first` on, the items of documents that are not just the item of their number."""
        found = {first + place: one.items for place, one in enumerate(self.derived) if one is not None}
        if self.ids is not None:
            own = np.where(self.base >= 0, self.ids[self.base], self.seq)
            for place in np.flatnonzero((self.base >= 0) & (own != self.seq)).tolist():
                found[first + place] = (int(own[place]),)
        return found


class JoinLogic:
    """The logic of a compiled set; `step` is its one function."""

    def __init__(
        self,
        joins: JoinSet,
        *,
        witnesses: WitnessSource | None = None,
        documents: DocumentTexts | None = None,
        patterns: Sequence[TreePattern] | None = None,
        max_cached_rows: int = 20_000_000,
    ) -> None:
        """`patterns` are those that witnesses are numbered by; the set's own when they are not given."""
        self.joins = joins
        self._witnesses = witnesses
        self._texts_of: Callable[[Sequence[int]], Sequence[str]] | None = (
            documents.texts if documents else None
        )
        numbered = joins.patterns if patterns is None else patterns
        self._patterns = {pattern: place for place, pattern in enumerate(numbered)}
        self._evaluators = [Evaluator(level, joins.bounds) for level in joins.levels]
        self._publishing = [_publishing(level) for level in joins.levels]
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
            given = _input_of(level, batch, made)
            before = states.get(name, JoinState())
            clocks = batch.clocks(before.clock)
            found, state = self._level(place, before, batch, given, clocks, number)
            made += derived_of(found.bindings, level, place, state, self._texts_of)
            results.append(found)
            after[name] = state
        published = tuple(one for one in made if one.xml is not None)
        notices = [
            _notice(level, after[f"level{place}"], self.joins.bounds)
            for place, level in enumerate(self.joins.levels)
        ]
        return JoinResults(tuple(results), published, tuple(notice for notice in notices if notice)), after

    def _level(
        self, place: int, before: JoinState, batch: DocumentBatch, given: _Input, clocks: Longs, number: int
    ) -> tuple[LevelResults, JoinState]:
        level, evaluator, cache = self.joins.levels[place], self._evaluators[place], self.caches[place]
        if cache.state is not before:
            cache.view = ViewCache(max_rows=cache.view.max_rows)
        before = compacted(before, _reach(level, before, self.joins.bounds))
        rows, texts = self._rows(level, batch, given, before.next_number)
        clock = clocks[np.searchsorted(batch.seq, given.seq)]
        segment = _segment(level, number, given, rows, texts, before.next_number)
        state = extended(before, segment, int(clocks[-1]) if len(clocks) else before.clock)
        numbers = segment.number
        cache.view.prepare(np.unique(rows.value), lambda values: before.of_values(values, 1))
        cache.view.append(rows)
        documents = Documents(numbers, given.time, clock, given.time < clock)
        oldest = state.oldest
        found = [
            kept
            for one in evaluator.run(evaluator.rows(rows, numbers), documents, cache.view, oldest)
            if len(kept := _distinct(_counted(one, level, state), state))
        ]
        cache.view.trim(oldest)
        cache.state = state
        wide = max([1, *(len(variable.places) for variable in level.variables)])
        needs = [one if one.paths is not None else None for one in found]
        bindings = [way for one in needs if one is not None for way in bindings_of(one, level, state, wide)]
        bindings += _plain_published([one for one in found if one.relation in self._publishing[place]], level)
        return LevelResults(level, tuple(found), tuple(bindings), state), state

    def _rows(
        self, level: Level, batch: DocumentBatch, given: _Input, first: int
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
        documents = [(place, one) for place, one in enumerate(given.derived) if one is not None]
        published = [(place, one) for place, one in documents if one.xml is not None]
        if published:
            found = self._published(level, published, given, numbers)
            parts.append(found[0])
            texts.append(found[1])
        inner = [(place, one) for place, one in documents if one.xml is None]
        if inner:
            found = _inner_rows(level, inner, numbers, given.time)
            parts.append(found[0])
            texts.append(found[1])
        return concatenated(parts, 1).sorted(), _joined_texts(texts)

    def _published(
        self, level: Level, published: list[tuple[int, Derived]], given: _Input, numbers: Longs
    ) -> tuple[BindingRows, Texts]:
        places = np.array([place for place, _ in published], np.int64)
        documents = [one.xml or "" for _, one in published]
        found = self._witnesses.witnesses(documents) if self._witnesses else NoWitnesses()
        members = {stream: marks[places] for stream, marks in given.members.items()}
        return intake(level, self._patterns, found, members, numbers[places], given.time[places])


def _publishing(level: Level) -> frozenset[int]:
    """The relations with a result whose matches are documents of a stream."""
    has_stream = np.array([bool(result.stream) for result in level.results], np.bool_)
    return frozenset(place for place, one in enumerate(level.relations) if has_stream[one.members].any())


def _plain_published(found: Sequence[Found], level: Level) -> list[Bindings]:
    """Matches without outputs whose results are documents all the same."""
    made: list[Bindings] = []
    for one in found:
        if one.paths is not None:
            continue
        for result, places in members_of(one, level):
            if level.results[result].stream:
                pairs = zip(one.left[places].tolist(), one.right[places].tolist(), strict=True)
                made += [Bindings(result, left, right, (), (), ()) for left, right in pairs]
    return made


def _counted(found: Found, level: Level, state: JoinState) -> Found:
    """Windows in documents: how many documents of its stream the earlier one is back, and those within the window."""
    relation = level.relations[found.relation]
    is_count = relation.mode[found.row] >= 2
    if not is_count.any():
        return found
    needed = found.needed.copy()
    later, earlier = np.maximum(found.left, found.right), np.minimum(found.left, found.right)
    sides = np.array(relation.template.sides)
    side = np.where(found.left < found.right, 0, 1)
    first_end = [int(np.flatnonzero(sides == one)[0]) for one in (0, 1)]
    for stream in sorted(level.horizon_documents):
        dense = {place for place, variable in enumerate(level.variables) if variable.stream == stream}
        variable = np.where(
            side == 0,
            relation.variables[found.row, first_end[0]],
            relation.variables[found.row, first_end[1]],
        )
        chosen = is_count & np.isin(variable, list(dense))
        if not chosen.any():
            continue
        numbers = state.stream_documents(stable_number(stream))
        back = _events_back if is_inner(stream) else _documents_back
        needed[chosen] = back(numbers, later[chosen], earlier[chosen], state)
    within = ~is_count | (needed <= relation.length[found.row])
    counted = Found(found.relation, found.row, found.left, found.right, needed, found.paths, found.values)
    return counted.take(within)


def _events_back(numbers: Longs, later: Longs, earlier: Longs, state: JoinState) -> Longs:
    """The matches of an inner join that one document completes are one event, which comes after that document."""
    completed = np.unique(state.sequence(numbers)[0])
    place = np.searchsorted(numbers, earlier)
    held = np.append(numbers, FOREVER)[place] == earlier
    first, last = state.sequence(earlier)[0], state.sequence(later)[0]
    back = np.searchsorted(completed, last) - np.searchsorted(completed, first, "right") + 1
    return np.where(held, back, FOREVER)


def _distinct(found: Found, state: JoinState) -> Found:
    """Without matches that have a document twice: one that an inner join found does not meet its own parts again."""
    if not len(found) or not any(segment.derived for segment in state.segments):
        return found
    derived = np.array([number for one in state.segments for number in one.derived], np.int64)
    doubtful = np.flatnonzero(np.isin(found.left, derived) | np.isin(found.right, derived))
    pairs = zip(found.left[doubtful].tolist(), found.right[doubtful].tolist(), strict=True)
    met = [set(state.items_of(one)).isdisjoint(state.items_of(other)) for one, other in pairs]
    kept = np.ones(len(found), np.bool_)
    kept[doubtful] = met
    return found.take(kept)


def _documents_back(numbers: Longs, later: Longs, earlier: Longs, _state: JoinState) -> Longs:
    """By the numbers that a stream still holds; the view cache may know documents that have left every window."""
    place = np.searchsorted(numbers, earlier)
    held = np.append(numbers, FOREVER)[place] == earlier
    return np.where(held, np.searchsorted(numbers, later) - place, FOREVER)


def _reach(level: Level, state: JoinState, bounds: JoinBounds) -> Reach:
    time = state.clock - level.horizon_us - bounds.lateness_us if level.horizon_us >= 0 else FOREVER
    streams = {}
    for stream, count in level.horizon_documents.items():
        numbers = state.stream_documents(stable_number(stream))
        if is_inner(stream):
            # All matches that one document completed are one event, and stay as long as it does.
            numbers = numbers[np.unique(state.sequence(numbers)[0], return_index=True)[1]]
        streams[stable_number(stream)] = int(numbers[-count]) if len(numbers) >= count else 0
    return Reach(time, state.next_number - bounds.max_documents, streams)


def _notice(level: Level, state: JoinState, bounds: JoinBounds) -> str:
    """Said when the longest time window reaches further back than the documents that may be kept."""
    first = state.next_number - bounds.max_documents
    if first <= 0 or level.horizon_us < 0:
        return ""
    cut = [one for segment in state.segments for one in segment.time[segment.number >= first][:1].tolist()]
    if not cut or min(cut) <= state.clock - level.horizon_us:
        return ""
    longest = [
        level.results[place].key
        for relation in level.relations
        for place in relation.members[relation.member_length == level.horizon_us].tolist()
    ]
    named = ", ".join(f"query {key}" for key in longest[:3] if key is not None) or "an inner join"
    return f"windows are cut to the last {bounds.max_documents:,} documents; the longest is that of {named}"


def _input_of(level: Level, batch: DocumentBatch, made: Sequence[Derived]) -> _Input:
    """The batch's items and the documents made below, those that the level reads, in sequence order."""
    wanted = set(level.streams)
    marks = np.zeros(len(batch), np.bool_)
    for stream in level.streams:
        if stream in batch.members:
            marks[batch.members[stream]] = True
    base = np.flatnonzero(marks)
    derived = [one for one in made if one.stream in wanted]
    seq = np.concatenate([batch.seq[base], np.array([one.seq for one in derived], np.int64)])
    sub = np.concatenate([batch.subs[base], np.array([one.sub for one in derived], np.int64)])
    time = np.concatenate([batch.time_us[base], np.array([one.time_us for one in derived], np.int64)])
    order = np.lexsort((sub, seq))
    origin = np.concatenate([base, np.full(len(derived), -1)])[order]
    documents = tuple(None if place < len(base) else derived[place - len(base)] for place in order.tolist())
    members = _members(level, batch, origin, documents)
    return _Input(seq[order], sub[order], time[order], members, origin, documents, batch.ids)


def _members(
    level: Level, batch: DocumentBatch, origin: Longs, documents: Sequence[Derived | None]
) -> dict[str, NDArray[np.bool_]]:
    members = {}
    for stream in level.streams:
        marks = np.array([one is not None and one.stream == stream for one in documents], np.bool_)
        if stream in batch.members:
            marks |= np.isin(origin, batch.members[stream])
        members[stream] = marks
    return members


def _segment(
    level: Level, number: int, given: _Input, rows: BindingRows, texts: Texts, first: int
) -> Segment:
    numbers = np.arange(first, first + len(given.seq), dtype=np.int64)
    counted = [
        (stable_number(stream), numbers[given.members[stream]]) for stream in sorted(level.horizon_documents)
    ]
    none = np.empty(0, np.int64)
    return Segment(
        number,
        number,
        rows,
        numbers,
        given.seq,
        given.sub,
        given.time,
        given.made_of(first),
        np.concatenate([none, *(np.full(len(held), stream, np.int64) for stream, held in counted)]),
        np.concatenate([none, *(held for _, held in counted)]),
        texts.document,
        texts.node,
        pa.array(texts.text, pa.string()),
    )


def _inner_rows(
    level: Level, inner: list[tuple[int, Derived]], numbers: Longs, times: Longs
) -> tuple[BindingRows, Texts]:
    """Results of inner joins: each variable is bound once, below one root, which joins without equalities meet on."""
    known = {variable.number: place for place, variable in enumerate(level.variables)}
    rows: list[tuple[int, int, int, int, int, int]] = []
    texts: list[tuple[int, int, str]] = []
    for place, document in inner:
        root = result_variable(document.stream, "").number
        if root in known:
            rows.append((NO_VALUE, NO_VALUE, root, int(numbers[place]), int(times[place]), -1))
        for column, name in enumerate(document.names):
            number = result_variable(document.stream, name).number
            if number not in known:
                continue
            rows.append(
                (*keys_at(document, column), number, int(numbers[place]), int(times[place]), column + 1)
            )
            if known[number] in level.text_variables:
                texts.append((int(numbers[place]), column + 1, document.texts[column]))
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    path = np.column_stack([np.zeros(len(rows), np.int32), columns[5].astype(np.int32)])
    found = BindingRows(columns[0], columns[1], columns[2], columns[3], columns[4], path)
    texts.sort()
    return found, Texts(
        np.array([one[0] for one in texts], np.int64),
        np.array([one[1] for one in texts], np.int32),
        [one[2] for one in texts],
    )


def keys_at(document: Derived, column: int) -> tuple[int, int]:
    """The key of a variable's value; a loose end's comes from its text."""
    if document.keys[column] != (0, 0):
        return document.keys[column]
    value, check = keys_of([document.texts[column]])
    return int(value[0]), int(check[0])


def _joined_texts(parts: Sequence[Texts]) -> Texts:
    document = np.concatenate([np.empty(0, np.int64), *(part.document for part in parts)])
    node = np.concatenate([np.empty(0, np.int32), *(part.node for part in parts)])
    text = [one for part in parts for one in part.text]
    order = np.lexsort((node, document))
    return Texts(document[order], node[order], [text[place] for place in order.tolist()])
