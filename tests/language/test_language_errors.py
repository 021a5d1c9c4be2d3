"""An error says where, what, and what might help."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from feedweir.errors import LanguageError
from feedweir.language import check, parse
from tests.plan.made import World

FIXTURE = (Path(__file__).parent / "errors.txt").read_text(encoding="utf-8")
CASES = re.findall(r"^(?!--)(.+)\n(\d+) (.*) \|(.*)$", FIXTURE, re.MULTILINE)


def world() -> World:
    found = World(sources=("A", "B"))
    found.queries = {"V": parse("from A")[0].query, "W": parse("from V")[0].query}  # type: ignore[union-attr]
    return found


def error_of(text: str) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        check(parse(text)[0], world())
    return caught.value


@pytest.mark.parametrize(("text", "column", "message", "hint"), CASES, ids=[case[0] for case in CASES])
def test_an_error_has_its_column_message_and_hint(text: str, column: str, message: str, hint: str) -> None:
    error = error_of(text)
    assert (error.line, error.column, error.message) == (1, int(column), message)
    assert hint.strip() in error.hint


def test_every_case_of_the_fixture_is_read() -> None:
    assert len(CASES) == len(re.findall(r"^\d+ ", FIXTURE, re.MULTILINE))


def test_an_error_far_down_a_script_has_its_line_and_caret() -> None:
    error = error_of("-- one\nregister feed http://x.y as Z;\n\n  create feed N frm A;")
    assert (error.line, error.column) == (4, 17)
    lines = str(error).splitlines()
    assert lines[1] == "      create feed N frm A;"
    assert lines[2].index("^") == lines[1].index("frm")
    assert "expected: `from`" in lines


def test_a_name_is_marked_in_its_own_statement_not_in_an_earlier_one() -> None:
    text = "register feed http://x.y as Nope; create feed N from A | Nope"
    with pytest.raises(LanguageError) as caught:
        check(parse(text)[1], world())
    assert caught.value.column == text.rindex("Nope") + 1


def test_near_names_are_suggested_among_many() -> None:
    known = World(sources=(*(f"feed{number}" for number in range(500)), "GuardianWorld"))
    with pytest.raises(LanguageError, match="did you mean `GuardianWorld`"):
        check(parse("from guardianworld")[0], known)


def test_reading_ones_own_feed_is_refused_however_deep() -> None:
    found = World(sources=("A",))
    for number in range(1, 1500):
        found.queries[f"F{number}"] = parse(f"from F{number - 1}")[0].query  # type: ignore[union-attr]
    with pytest.raises(LanguageError, match="F0 → F1499 → F1498 → F1497 → … → F3 → F2 → F1 → F0"):
        check(parse("create feed F0 from F1499")[0], found)


@pytest.mark.parametrize("character", ["\0", "\ud83d"])
def test_what_could_not_be_stored_is_refused(character: str) -> None:
    error = error_of(f"create feed é from A where title = '{character}'")
    assert error.column == 37
    assert str(error).encode()
