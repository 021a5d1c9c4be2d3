"""An answer in parts: whatever number of pairs a batch has, no more than some of them are held at a time.

Usually one part holds everything: then the longest list takes in the others while it is put in order. Else every way
of finding gives its pairs sorted by row and then by key, in parts of bounded length; several are merged as they come. A
row whose pairs are more than one part may hold is a bit for each query of the set, read from the first on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from feedweir.match.arrays import Array
from feedweir.match.matches import NOTHING, Matches, Work, merged
from feedweir.match.pair_kernels import in_order, keys_of_bits
from feedweir.match.ways import Listed, Way

PAIRS_AT_ONCE = 1 << 20
"""Pairs that an answer in parts holds at a time, for each way of finding them: found, and as many to be asked."""
NO_LIMIT = (1 << 31) - 1
_BYTES_ASKED_AT_ONCE = 1024

Failures: TypeAlias = tuple[tuple[int, str], ...]
Tell: TypeAlias = Callable[[Array, Array], tuple[Array, Array, Failures]]
"""Of (rows, queries) those that hold by their plain meaning, and the queries that cannot be judged."""


class Finding(NamedTuple):
    """A way of finding queries, and what is known of them."""

    way: Way
    keys: Array
    """Of the queries; `REMOVED` for one that is not wanted."""
    n_first: int
    """The keys of so many queries are in order, and then those of the others."""
    tell: Tell


class Part(NamedTuple):
    matches: Matches
    is_last: bool


def parts_of(findings: Sequence[Finding], n_rows: int, limit: int) -> Iterator[Matches]:
    """All pairs that several ways find, in order and each once; there is at least one part, if an empty one."""
    # the first one has most pairs, as a rule: it is asked last, so that they are still near when they are put in order
    firsts = [finding.way.listed(0, limit) for finding in reversed(findings)][::-1]
    if all(listed.stopped_at == n_rows for listed in firsts):
        return iter([_at_once(findings, firsts)])
    pairs = zip(findings, firsts, strict=True)
    return merged_parts([_stream(finding, listed, n_rows, limit) for finding, listed in pairs])


def _at_once(findings: Sequence[Finding], lists: Sequence[Listed]) -> Matches:
    """Lists of all rows as one; the longest is neither copied nor ordered before the others are."""
    by_length = sorted(zip(findings, lists, strict=True), key=lambda pair: len(pair[1].rows))
    beside = merged([_ordered(finding, listed) for finding, listed in by_length[:-1]])
    whole = _ordered(*by_length[-1], beside) if by_length else beside
    held = whole.work.held if len(lists) < 2 else sum(len(one.rows) for one in lists) + len(whole)
    return replace(
        whole,
        work=replace(whole.work, held=max(whole.work.held, held)),
        observed=tuple(chain.from_iterable(finding.way.observed() for finding in findings)),
    )


def _stream(finding: Finding, listed: Listed, n_rows: int, limit: int) -> Iterator[Part]:
    """The pairs that a way finds, of which the first are listed."""
    first, way = 0, finding.way
    while True:
        is_wide = listed.stopped_at == first < n_rows
        is_last = listed.stopped_at == n_rows
        matches = _ordered(finding, listed)
        yield Part(replace(matches, observed=way.observed()) if is_last else matches, is_last)
        if is_last:
            return
        first = listed.stopped_at + is_wide
        if is_wide:
            yield from (Part(each, False) for each in _wide(finding, first - 1, limit))
        listed = way.listed(first, limit)


def _ordered(finding: Finding, listed: Listed, beside: Matches = NOTHING) -> Matches:
    """What is listed, and what was found beside it, as an answer."""
    rows, queries = listed.rows, listed.queries
    failures: Failures = ()
    if len(listed.asked_rows):
        held_rows, held_queries, failures = finding.tell(listed.asked_rows, listed.asked_queries)
        rows, queries = _row_by_row((rows, queries), (held_rows, held_queries))
    found_rows, found_keys = in_order(rows, queries, finding.keys, finding.n_first, beside.rows, beside.keys)
    all_failures = {**dict(failures), **dict(beside.failures)}
    return Matches(found_rows, found_keys, listed.work + beside.work, tuple(sorted(all_failures.items())))


def _row_by_row(*pairs: tuple[Array, Array]) -> tuple[Array, Array]:
    """Several lists of pairs, each row by row, as one."""
    rows, queries = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], queries[order]


def _wide(finding: Finding, row: int, limit: int) -> Iterator[Matches]:
    """The pairs of one row that has many."""
    n_queries = len(finding.keys)
    found, asked = (np.zeros((n_queries + 7) // 8, np.uint8) for _ in range(2))
    work = finding.way.marked(row, found, asked)
    asked &= ~found
    n_asked, failures = _tell_bits(row, found, asked, finding.tell)
    told = replace(NOTHING, work=work + Work(asked=n_asked), failures=failures)
    runs = ((0, finding.n_first), (finding.n_first, n_queries))
    streams = [_read_bits(found, finding.keys, row, run, limit) for run in runs if run[0] < run[1]]
    return chain([told], merged_parts(streams))


def _read_bits(found: Array, keys: Array, row: int, run: tuple[int, int], limit: int) -> Iterator[Part]:
    """The pairs of a row that has a bit for each of its queries, of which those of a run are in order."""
    query, end = run
    while query < end:
        some, query = keys_of_bits(found, keys, query, end, limit)
        rows = np.full(len(some), row, np.int32)
        yield Part(Matches(rows, some, Work(held=len(some))), query >= end)


def _tell_bits(row: int, found: Array, asked: Array, tell: Tell) -> tuple[int, Failures]:
    """Set the bits in `found` of those asked that hold; how many were asked, and which failed."""
    count, failures = 0, dict[int, str]()
    for start in range(0, len(asked), _BYTES_ASKED_AT_ONCE):
        some = asked[start : start + _BYTES_ASKED_AT_ONCE]
        if not some.any():
            continue
        queries = (8 * start + np.flatnonzero(np.unpackbits(some, bitorder="little"))).astype(np.int32)
        _, held, failed = tell(np.full(len(queries), row, np.int32), queries)
        np.bitwise_or.at(found, held >> 3, np.left_shift(1, held & 7).astype(np.uint8))
        count += len(queries)
        failures |= dict(failed)
    return count, tuple(sorted(failures.items()))


# Several ways together


def merged_parts(streams: Iterable[Iterator[Part]]) -> Iterator[Matches]:
    """Several sorted streams as one, each pair once; there is at least one answer, if an empty one."""
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
    """The next part that has pairs, or the last one; what empty ones tell besides is told with it."""
    empty: list[Matches] = []
    for part in stream:
        if len(part.matches) or part.is_last:
            return Part(joined([*empty, part.matches]), part.is_last) if empty else part
        empty.append(part.matches)
    raise AssertionError("a stream ends with its last part")


def _end_of(matches: Matches) -> tuple[int, int]:
    return int(matches.rows[-1]), int(matches.keys[-1])


def _cut(part: Part, end: tuple[int, int]) -> tuple[Matches, Part]:
    """What lies up to a pair, and the rest; what else an answer tells goes with the first."""
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
