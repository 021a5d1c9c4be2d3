"""How much a word says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.rarity import LONGEST, weight


def test_a_rare_word_says_more_than_a_common_one() -> None:
    for common, rare in [
        ("the", "volcano"),
        ("and", "parliament"),
        ("of", "earthquake"),
        ("is", "zirconium"),
    ]:
        assert weight(common) < weight(rare)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_every_word_has_a_weight_that_depends_on_its_beginning_alone(word: str) -> None:
    assert 0 <= weight(word) < 20
    assert weight(word) == weight(word[:LONGEST])


def test_the_weights_are_those_of_the_pinned_vectors() -> None:
    assert [round(weight(word), 3) for word in ("the", "volcano", "é")] == [1.258, 5.003, 3.569]
