"""The list of what is compiled ahead names kernels and types that there are."""

from pathlib import Path

import pytest

from feedweir.errors import FeedweirError
from feedweir.kernels.declare import IS_COMPILING
from feedweir.kernels.notation import read, written
from feedweir.kernels.signatures import Signature, add_to_list, entries_in, entry_of, not_listed

LINES = (
    "feedweir.match.index.trie_kernels:drop_repeats(int64[::1], int32[::1])",
    "feedweir.text.date_kernels:read_moments(readonly uint8[::1], int64[::1])",
)


@pytest.mark.skipif(not IS_COMPILING, reason="without a compiler there are no kernels")
@pytest.mark.parametrize("entry", entries_in(), ids=lambda entry: entry.kernel)
def test_each_listed_kernel_is_there(entry: Signature) -> None:
    kernel, types = entry.found()
    assert len(types) == len(kernel.py_func.__code__.co_varnames[: kernel.py_func.__code__.co_argcount])


def test_the_list_is_sorted_and_says_nothing_twice() -> None:
    assert list(entries_in()) == sorted(set(entries_in()))


@pytest.mark.parametrize(
    "line",
    [
        "feedweir.match.index.trie_kernels:was_removed(int64)",
        "feedweir.match.were_removed_kernels:find(int64)",
        "feedweir.match.index.trie_kernels:drop_repeats(int65[::1], int32[::1])",
    ],
)
def test_a_line_about_what_is_not_there_is_told(line: str) -> None:
    with pytest.raises(
        FeedweirError, match=r"signatures\.txt lists feedweir\.match\.[\w.]+:\w+, but there is no"
    ):
        entry_of(line).found()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int64",
        "bool, float64, uint8",
        "int64[::1], int64[:], int64[:,::1], int64[::1,:], bool[:,:,:]",
        "readonly uint8[::1], unaligned int32[:], readonly unaligned int64[::1]",
        "(int64, int64), (int64, (float64[::1], bool)), int64",
        "feedweir.match.matching.match_kernels:Vocabulary(int64[::1], int64), int8",
    ],
)
def test_types_are_read_as_they_are_written(text: str) -> None:
    assert written(read(text)) == text


@pytest.mark.parametrize("text", ["int64)", "(int64", "int64 int64", "readonly", "int64[::1]]"])
def test_what_is_no_list_of_types_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of types"):
        read(text)


def test_what_was_compiled_and_is_not_listed_is_added_once(tmp_path: Path) -> None:
    file = tmp_path / "signatures.txt"
    file.write_text(f"{LINES[0]}\n")
    new = not_listed([*LINES, LINES[1]], file)
    assert [str(entry) for entry in new] == [LINES[1]]
    add_to_list(new, file)
    assert not not_listed(LINES, file)
    assert file.read_text().splitlines() == sorted(LINES)
