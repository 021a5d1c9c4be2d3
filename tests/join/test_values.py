"""Keys stand for strings: equal strings have equal keys, in every process and for ever, since they are stored."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.string_keys import NO_VALUE, item_keys, keys_of, stable_number

texts = st.lists(st.text(max_size=6), min_size=1, max_size=30)


@given(texts)
def test_two_strings_have_one_key_exactly_when_they_are_equal(chosen: list[str]) -> None:
    first, second = keys_of(chosen)
    keys = list(zip(first.tolist(), second.tolist(), strict=True))
    assert len(set(keys)) == len(set(chosen))
    assert len(set(zip(chosen, keys, strict=True))) == len(set(chosen))


@given(texts)
def test_a_list_and_an_arrow_column_have_the_same_keys(chosen: list[str]) -> None:
    listed, column = keys_of(chosen), keys_of(pa.array(chosen, pa.string()))
    assert [half.tolist() for half in listed] == [half.tolist() for half in column]


def test_no_strings_have_no_keys() -> None:
    first, second = keys_of([])
    assert (len(first), len(second)) == (0, 0)


def test_no_string_has_the_key_that_stands_for_being_there() -> None:
    first, second = keys_of(["", "0", "\0"])
    assert not ((first == NO_VALUE) & (second == NO_VALUE)).any()


def test_the_halves_of_keys_can_be_handed_to_kernels() -> None:
    for half in keys_of(["a", "b", "a"]):
        assert half.dtype == np.int64
        assert half.flags.c_contiguous


def test_source_and_identity_do_not_run_into_each_other() -> None:
    keys = item_keys([("a b", "c"), ("a", "b c"), ("a b", "c")])
    assert keys[0] == keys[2]
    assert keys[0] != keys[1]
    assert len(item_keys([])) == 0


def test_a_number_of_a_definition_fits_in_63_bits_and_is_the_one_that_is_stored() -> None:
    assert stable_number("source Post") == 2_112_304_894_023_803_716
    assert all(0 <= stable_number(str(n)) < 1 << 63 for n in range(1_000))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_number_is_the_same_in_a_process_that_hashes_otherwise(seed: str) -> None:
    code = "from feedweir.items.string_keys import stable_number as n, keys_of as k; print(n('a'), k(['a'])[0][0])"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
        text=True,
    )
    assert printed.stdout.split() == [str(stable_number("a")), str(keys_of(["a"])[0][0])]
