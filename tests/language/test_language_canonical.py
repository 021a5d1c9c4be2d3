"""What is written and what is printed for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from feedweir.errors import LanguageError
from feedweir.language import format_predicate
from tests.language.reading import parse_predicate

FIXTURE = (Path(__file__).parent / "canonical.txt").read_text(encoding="utf-8")
PAIRS = re.findall(r"^(?!--)(.+)\n(=>|!!) (.*)$", FIXTURE, re.MULTILINE)


@pytest.mark.parametrize(("written", "kind", "expected"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_a_predicate_is_printed_in_its_canonical_form(written: str, kind: str, expected: str) -> None:
    if kind == "!!":
        with pytest.raises(LanguageError) as caught:
            parse_predicate(written)
        assert caught.value.message == expected
        return
    predicate = parse_predicate(written)
    assert format_predicate(predicate) == expected
    assert parse_predicate(expected) == predicate


def test_every_pair_of_the_fixture_is_read() -> None:
    assert len(PAIRS) == FIXTURE.count("\n=> ") + FIXTURE.count("\n!! ")
