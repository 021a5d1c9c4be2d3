"""Many plain pieces in many texts: found where `in` finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feedweir.match.regexes.piece_finder import PieceFinder, piece_finder


def found_in(finder: PieceFinder, texts: list[bytes]) -> set[tuple[int, int]]:
    ends = np.cumsum([len(text) + 1 for text in texts])
    owners, pieces = finder.found_in(np.frombuffer(b"\0".join((*texts, b"")), np.uint8), ends)
    return set(zip(owners.tolist(), pieces.tolist(), strict=True))


letters = st.lists(st.sampled_from("ab"), min_size=4, max_size=7).map(lambda some: "".join(some).encode())
longer = st.lists(st.sampled_from("abc"), max_size=20).map(lambda some: "".join(some).encode())


@settings(max_examples=200, deadline=None)
@given(st.lists(letters, min_size=1, max_size=8), st.lists(longer, min_size=1, max_size=5))
@example([b"abab"], [b"ab", b"ab", b""])
def test_pieces_are_found_in_the_texts_that_have_them(pieces: list[bytes], texts: list[bytes]) -> None:
    expected = {(t, p) for t, text in enumerate(texts) for p, piece in enumerate(pieces) if piece in text}
    assert found_in(piece_finder(pieces), texts) == expected


def test_a_piece_does_not_stand_across_two_texts() -> None:
    finder = piece_finder([b"night", b"ight\0fa"])
    assert found_in(finder, [b"knight", b"fall", b"nigh", b"t"]) == {(0, 0)}


def test_pieces_that_share_their_rarest_bytes_are_told_apart() -> None:
    finder = piece_finder([b"storms", b"storm", b"astorm", b"torm"])
    assert found_in(finder, [b"a storm", b"storms", b"astorm"]) == {
        (0, 1),
        (0, 3),
        (1, 0),
        (1, 1),
        (1, 3),
        (2, 1),
        (2, 2),
        (2, 3),
    }


@pytest.mark.parametrize("text", [b"", b"ab", b"abc"])
def test_texts_shorter_than_any_piece_have_none(text: bytes) -> None:
    assert found_in(piece_finder([b"abcd"]), [text]) == set()


def test_bytes_above_ascii_are_bytes_like_any_other() -> None:
    finder = piece_finder(["größer".encode(), bytes((255,) * 4), bytes(4)])
    assert found_in(finder, ["viel größer".encode(), b"a" + bytes((255,) * 5), b"groesser"]) == {
        (0, 0),
        (1, 1),
    }


def test_a_piece_of_each_text_is_found_however_many_there_are() -> None:
    pieces = [f"piece{n:04d}".encode() for n in range(2_000)]
    texts = [b"x " + pieces[n] + b" y" for n in range(0, 2_000, 7)]
    assert found_in(piece_finder(pieces), texts) == {(n, 7 * n) for n in range(len(texts))}
