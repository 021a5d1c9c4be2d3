"""The view cache, driven at random beside a plain list of everything that ever came."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from feedweir.join.patterns.arena_kernels import EMPTY, Table, find_all
from feedweir.join.patterns.binding_rows import BindingRows, no_rows
from feedweir.join.patterns.view_cache import PRESENT, ViewCache

VALUES = tuple(range(-3, 9))
VARIABLES = (5, 1 << 40)

values = st.lists(st.sampled_from(VALUES), max_size=5, unique=True)


def rows_of(document: int, keys: list[tuple[int, int]], width: int) -> BindingRows:
    count = len(keys)
    value, variable = np.array(keys, np.int64).reshape(-1, 2).T
    number = np.full(count, document, np.int64)
    path = np.tile(np.arange(width, dtype=np.int32), (count, 1))
    return BindingRows(value.copy(), value * 3, variable.copy(), number, number * 100, path).sorted()


def find(table: Table, value: int, variable: int) -> int:
    slots = find_all(table, np.array([value], np.int64), np.array([variable], np.int64))
    return int(slots[0])


class Caching(RuleBasedStateMachine):
    """A batch prepares its values and appends its rows; now and then too much is held."""

    @initialize(max_rows=st.sampled_from((3, 10, 10_000)))
    def begin(self, max_rows: int) -> None:
        self.cache = ViewCache(max_rows=max_rows)
        self.history: list[BindingRows] = []
        self.document = 0
        self.oldest = 0
        self.present: set[int] = set()

    def everything(self) -> list[tuple[int, int, int, int]]:
        return [
            row
            for rows in self.history
            for row in zip(
                rows.value.tolist(),
                rows.variable.tolist(),
                rows.document.tolist(),
                rows.check.tolist(),
                strict=True,
            )
        ]

    def of_values(self, asked: np.ndarray) -> BindingRows:
        parts = [rows.take(np.isin(rows.value, asked)) for rows in self.history]
        if not parts:
            return no_rows(1)
        width = max(part.path.shape[1] for part in parts)
        wide = [part.widened(width) for part in parts]
        columns = (np.concatenate([getattr(part, name) for part in wide]) for name in BindingRows.__slots__)
        return BindingRows(*columns).sorted()

    @rule(
        own=values,
        variables=st.lists(st.sampled_from(VARIABLES), min_size=5, max_size=5),
        width=st.integers(1, 3),
    )
    def a_batch_comes(self, own: list[int], variables: list[int], width: int) -> None:
        rows = rows_of(self.document, list(zip(own, variables, strict=False)), width)
        asked = np.unique(rows.value)
        self.cache.prepare(asked, self.of_values)
        self.cache.append(rows)
        self.history.append(rows)
        self.present |= set(asked.tolist())
        self.document += 1

    @rule(back=st.integers(0, 4))
    def what_is_old_may_be_dropped(self, back: int) -> None:
        held = self.cache.used_rows
        self.oldest = max(self.oldest, self.document - back)
        self.cache.trim(self.oldest)
        if held > self.cache.max_rows:
            assert self.cache.used_rows <= self.cache.max_rows
            self.present = set(self.cache._present()[0].tolist())
        else:
            assert self.cache.used_rows == held

    @invariant()
    def a_present_value_has_all_its_rows_in_order(self) -> None:
        expected = [row for row in self.everything() if row[0] in self.present and row[2] >= self.oldest]
        found = []
        for value in sorted(self.present):
            assert find(self.cache.table, value, PRESENT) != EMPTY
            for variable in VARIABLES:
                documents = self.slice_of(value, variable)
                assert [one for one, _ in documents] == sorted(one for one, _ in documents)
                found += [(value, variable, one, check) for one, check in documents if one >= self.oldest]
        assert sorted(found) == sorted(expected)

    def slice_of(self, value: int, variable: int) -> list[tuple[int, int]]:
        slot = find(self.cache.table, value, variable)
        if slot == EMPTY:
            return []
        start = int(self.cache.slices.start[slot])
        stop = start + int(self.cache.slices.size[slot])
        arena = self.cache.arena
        return list(zip(arena.document[start:stop].tolist(), arena.check[start:stop].tolist(), strict=True))

    @invariant()
    def hits_and_misses_are_counted_for_every_value_asked_for(self) -> None:
        asked = sum(len(np.unique(rows.value)) for rows in self.history)
        assert self.cache.hits + self.cache.misses == asked


Caching.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestCaching = Caching.TestCase


def test_a_thousand_values_are_all_found_again_after_the_tables_have_grown() -> None:
    cache = ViewCache()
    keys = [(value, 7) for value in range(5_000)]
    cache.prepare(np.arange(5_000), lambda _: no_rows(1))
    cache.append(rows_of(0, keys, 1))
    slots = [find(cache.table, value, 7) for value, _ in keys]
    assert EMPTY not in slots
    assert cache.slices.size[slots].tolist() == [1] * 5_000
    assert find(cache.table, 5_000, 7) == EMPTY


def test_the_values_used_longest_ago_go_first() -> None:
    cache = ViewCache(max_rows=4)
    for document, value in enumerate([1, 2, 3, 2, 1]):
        asked = np.array([value], np.int64)
        cache.prepare(asked, lambda _: no_rows(1))
        cache.append(rows_of(document, [(value, 5)], 1))
    cache.trim(0)
    assert sorted(cache._present()[0].tolist()) == [1]
    assert cache.used_rows <= 4
