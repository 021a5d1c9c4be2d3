"""An answer in parts: whatever number of pairs a batch has, no more than some of them are held at a time.

Usually one part holds everything: then the longest list takes in the others while it is sorted. Otherwise each strategy
gives its pairs sorted by row and then by key, in parts of bounded length, and these streams are merged as they come. A
row that has more pairs than one part may hold is a bit for each query of the set, which is read from the first bit on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from feedweir.match.arrays import Array
from feedweir.match.index.filter_forest import Observed
from feedweir.match.matches import NOTHING, Matches, Work, merged
from feedweir.match.matching.pair_kernels import in_order, keys_of_bits
from feedweir.match.matching.strategies import Failures, RawPairs, Strategy, Verify

PAIRS_AT_ONCE = 1 << 20
"""Pairs that an answer in parts holds at a time for each strategy: found, and as many to be verified."""
NO_LIMIT = (1 << 31) - 1
_BYTES_ASKED_AT_ONCE = 1024


class Part(NamedTuple):
    matches: Matches
    is_last: bool


def parts_of(strategies: Sequence[Strategy], n_rows: int, limit: int) -> Iterator[Matches]:
    """All pairs that several strategies find, sorted and each once, in at least one part, which may be empty."""
    # the first one has most pairs, as a rule: it runs last, so that they are still in the cache when they are sorted
    firsts = [strategy.pairs_from(0, limit) for strategy in reversed(strategies)][::-1]
    if all(pairs.stopped_at == n_rows for pairs in firsts):
        return iter([_at_once(strategies, firsts)])
    begun = zip(strategies, firsts, strict=True)
    return merged_parts([_stream(strategy, pairs, n_rows, limit) for strategy, pairs in begun])


def _at_once(strategies: Sequence[Strategy], lists: Sequence[RawPairs]) -> Matches:
    """Lists of all rows as one; the longest is neither copied nor sorted before the others are."""
    if len(lists) == 1:
        return _sorted(strategies[0], lists[0], observed=strategies[0].observed())
    by_length = sorted(zip(strategies, lists, strict=True), key=lambda pair: len(pair[1].rows))
    others = merged([_sorted(strategy, pairs) for strategy, pairs in by_length[:-1]])
    whole = _sorted(*by_length[-1], others) if by_length else others
    held = sum(len(one.rows) for one in lists) + len(whole)
    return replace(
        whole,
        work=replace(whole.work, held=max(whole.work.held, held)),
        observed=tuple(chain.from_iterable(strategy.observed() for strategy in strategies)),
    )


def _stream(strategy: Strategy, pairs: RawPairs, n_rows: int, limit: int) -> Iterator[Part]:
    """The pairs that a strategy finds, of which it has listed the first."""
    first = 0
    while True:
        is_wide = pairs.stopped_at == first < n_rows
        is_last = pairs.stopped_at == n_rows
        matches = _sorted(strategy, pairs)
        yield Part(replace(matches, observed=strategy.observed()) if is_last else matches, is_last)
        if is_last:
            return
        first = pairs.stopped_at + is_wide
        if is_wide:
            yield from (Part(each, False) for each in _wide(strategy, first - 1, limit))
        pairs = strategy.pairs_from(first, limit)


def _sorted(
    strategy: Strategy, pairs: RawPairs, others: Matches = NOTHING, observed: tuple[Observed, ...] = ()
) -> Matches:
    """The listed pairs, after verifying them where needed, and what others have found, as one answer."""
    rows, queries, reporting = pairs.rows, pairs.queries, strategy.reporting
    failures: Failures = others.failures
    if len(pairs.asked_rows):
        held_rows, held_queries, failed = reporting.verify(pairs.asked_rows, pairs.asked_queries)
        rows, queries = _row_by_row((rows, queries), (held_rows, held_queries))
        failures = tuple(sorted({**dict(failed), **dict(failures)}.items()))
    found_rows, found_keys = in_order(
        rows, queries, reporting.keys, reporting.n_first, others.rows, others.keys
    )
    work = pairs.work if others is NOTHING else pairs.work + others.work
    return Matches(found_rows, found_keys, work, failures, observed)


def _row_by_row(*pairs: tuple[Array, Array]) -> tuple[Array, Array]:
    """Several lists of pairs, each row by row, as one."""
    rows, queries = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], queries[order]


def _wide(strategy: Strategy, row: int, limit: int) -> Iterator[Matches]:
    """The pairs of one row that has many."""
    keys, n_first = strategy.reporting.keys, strategy.reporting.n_first
    found, asked = (np.zeros((len(keys) + 7) // 8, np.uint8) for _ in range(2))
    work = strategy.mark_row(row, found, asked)
    asked &= ~found
    n_asked, failures = _verify_bits(row, found, asked, strategy.reporting.verify)
    no_pairs = replace(NOTHING, work=work + Work(asked=n_asked), failures=failures)
    runs = ((0, n_first), (n_first, len(keys)))
    streams = [_read_bits(found, keys, row, run, limit) for run in runs if run[0] < run[1]]
    return chain([no_pairs], merged_parts(streams))


def _read_bits(found: Array, keys: Array, row: int, run: tuple[int, int], limit: int) -> Iterator[Part]:
    """The pairs of a row that has a bit for each query, for one run of queries whose keys are sorted."""
    query, end = run
    while query < end:
        some, query = keys_of_bits(found, keys, query, end, limit)
        rows = np.full(len(some), row, np.int32)
        yield Part(Matches(rows, some, Work(held=len(some))), query >= end)


def _verify_bits(row: int, found: Array, asked: Array, verify: Verify) -> tuple[int, Failures]:
    """Set the bits in `found` of those asked that hold; how many were asked, and which failed."""
    count, failures = 0, dict[int, str]()
    for start in range(0, len(asked), _BYTES_ASKED_AT_ONCE):
        some = asked[start : start + _BYTES_ASKED_AT_ONCE]
        if not some.any():
            continue
        queries = (8 * start + np.flatnonzero(np.unpackbits(some, bitorder="little"))).astype(np.int32)
        _, held, failed = verify(np.full(len(queries), row, np.int32), queries)
        np.bitwise_or.at(found, held >> 3, np.left_shift(1, held & 7).astype(np.uint8))
        count += len(queries)
        failures |= dict(failed)
    return count, tuple(sorted(failures.items()))


# Several streams together


def merged_parts(streams: Iterable[Iterator[Part]]) -> Iterator[Matches]:
    """Several sorted streams as one, each pair once, in at least one answer, which may be empty."""
    heads = [(_filled(stream), stream) for stream in streams]
    while any(not head.is_last for head, _ in heads):
        # nothing that is still to come lies at or before the first of these ends
        end = min(_end_of(head.matches) for head, _ in heads if not head.is_last)
        cut = [_cut(head, end) for head, _ in heads]
        yield _with_held([before for before, _ in cut], [head.matches for head, _ in heads])
        heads = [
            (rest if rest.is_last or len(rest.matches) else _filled(stream), stream)
            for (_, rest), (_, stream) in zip(cut, heads, strict=True)
        ]
    whole = [head.matches for head, _ in heads]
    yield _with_held(whole, whole)


def joined(parts: Iterable[Matches]) -> Matches:
    """Parts that follow each other as one answer."""
    all_parts = list(parts)
    if len(all_parts) == 1:
        return all_parts[0]
    return Matches(
        np.concatenate([np.empty(0, np.int32), *(part.rows for part in all_parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.keys for part in all_parts)]),
        sum((part.work for part in all_parts), Work()),
        tuple(sorted(dict(chain.from_iterable(part.failures for part in all_parts)).items())),
        tuple(chain.from_iterable(part.observed for part in all_parts)),
    )


def _filled(stream: Iterator[Part]) -> Part:
    """The next part that has pairs, or the last one; it takes over the work and failures of empty parts before it."""
    empty: list[Matches] = []
    for part in stream:
        if len(part.matches) or part.is_last:
            return Part(joined([*empty, part.matches]), part.is_last) if empty else part
        empty.append(part.matches)
    raise AssertionError("a stream ends with its last part")


def _end_of(matches: Matches) -> tuple[int, int]:
    return int(matches.rows[-1]), int(matches.keys[-1])


def _cut(part: Part, end: tuple[int, int]) -> tuple[Matches, Part]:
    """The pairs up to a place, and the rest; the work and failures of the answer go with the first."""
    matches, (row, key) = part.matches, end
    first, last = (int(np.searchsorted(matches.rows, row, side)) for side in ("left", "right"))
    place = first + int(np.searchsorted(matches.keys[first:last], key, "right"))
    before = replace(matches, rows=matches.rows[:place], keys=matches.keys[:place])
    return before, Part(Matches(matches.rows[place:], matches.keys[place:]), part.is_last)


def _with_held(parts: list[Matches], open_parts: list[Matches]) -> Matches:
    """Parts merged, with the number of pairs that were in memory for it."""
    if len(parts) == 1:
        return parts[0]
    one = merged(parts)
    held = sum(map(len, open_parts)) + len(one)
    return replace(one, work=replace(one.work, held=max(one.work.held, held)))
