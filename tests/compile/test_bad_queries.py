"""Queries that are hard to compile, from statement to result: exact, in bounded time, and named for what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedweir.errors import LanguageError
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import land, open_weir
from tests.join.stories import Shown

MANY = 10_000
TERMS = [f"term{number}" for number in range(MANY)]
EXPLODING = " and ".join(f"(contains 'a{n}' or contains 'b{n}')" for n in range(40))


def titles(weir: Weir, feed: str) -> list[str]:
    return [item.title[:20] for item in weir.items(feed)]


def run(weir: Weir, *told: str) -> None:
    weir.refresh_set()
    land(weir, [Shown("Post", tuple(enumerate(told)))])
    LocalRunner(weir.directory, weir.commit).run_available()


@pytest.fixture
def weir(tmp_path: Path):  # type: ignore[no-untyped-def]
    with open_weir(tmp_path, "register feed push://Post as Post") as opened:
        yield opened


def test_queries_of_ten_thousand_terms_are_created_planned_and_exact(weir: Weir) -> None:
    any_of = ", ".join(f"'{term}'" for term in TERMS)
    weir.execute(f"create feed Whole from Post where contains '{' '.join(TERMS)}'")
    (made,) = weir.execute(f"create feed Some from Post where contains any of ({any_of})")
    assert "it is found by 1 and then verified as a whole" in made.advice[0]
    run(weir, " ".join(TERMS), "term9999", "nothing", " ".join(TERMS[1:]))
    assert titles(weir, "Whole") == [" ".join(TERMS)[:20]]
    assert len(titles(weir, "Some")) == 3


def test_a_normal_form_that_would_explode_is_found_in_another_way_and_says_so(weir: Weir) -> None:
    (made,) = weir.execute(f"create feed Wide from Post where {EXPLODING}")
    (note,) = made.advice
    assert "1099511627776 conjunctions; it is found by 2 and then verified as a whole" in note
    (told,) = weir.execute("describe Wide")
    assert {"what": "notes", "value": [note.removeprefix("Wide: ")]} in told.rows
    run(weir, " ".join(f"{'ab'[n % 2]}{n}" for n in range(40)), " ".join(f"a{n}" for n in range(39)))
    assert titles(weir, "Wide") == ["a0 b1 a2 b3 a4 b5 a6"]


def test_a_query_without_anything_to_be_found_by_works_and_is_reported_as_costly(weir: Weir) -> None:
    (made,) = weir.execute("create feed Quiet from * where not contains 'storm'")
    assert made.advice == ("Quiet: it requires no word, value or range, so it is evaluated on every item",)
    run(weir, "storm", "calm")
    assert titles(weir, "Quiet") == ["calm"]


def test_words_of_any_script_stop_words_and_one_letter_are_found(weir: Weir) -> None:
    wanted = {"Stop": "the and of", "Right": "שלום", "Left": "مرحبا", "Tokyo": '"東京都"', "Q": "q*"}
    for name, words in wanted.items():
        weir.execute(f"create feed {name} from Post where contains '{words}'")
    told = ("of the and", "קול שלום עולם", "في مرحبا بك", "私は東京都に行く", "a quick fox")
    run(weir, *told)
    assert {name: titles(weir, name) for name in wanted} == {
        name: [title] for name, title in zip(wanted, told, strict=True)
    }


@pytest.mark.parametrize("words", ["☃", "a\0b", "a\ud800b", ""])
def test_what_is_no_word_is_refused_with_its_place(weir: Weir, words: str) -> None:
    with pytest.raises(LanguageError) as caught:
        weir.execute(f"create feed Odd from Post where contains '{words}'")
    assert caught.value.line == 1


@pytest.mark.parametrize("place", [0, 500, 1_980])
def test_an_error_in_a_very_long_line_shows_what_stands_around_it(place: int) -> None:
    text = f"{'x' * place}!{'y' * (1_980 - place)}"
    _, shown, mark = str(LanguageError("odd", text=text, offset=place)).split("\n")
    assert len(shown) < 170
    assert shown[mark.index("^")] == "!"


def test_a_damaged_set_is_refused_and_compiled_again(weir: Weir, caplog: pytest.LogCaptureFixture) -> None:
    weir.execute("create feed Storms from Post where contains 'storm'")
    run(weir, "storm")
    for path in sorted(weir.directory.sets.glob("segments/*/index.arrays")):
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 255
        path.write_bytes(body)
    assert weir.repair_set()
    assert "rebuilt from the definitions: index.arrays of" in caplog.text
    assert not weir.repair_set()
    land(weir, [Shown("Post", ((7, "another storm"),))])
    assert weir.run() == 1
    assert titles(weir, "Storms") == ["another storm", "storm"]


@pytest.mark.parametrize("written", [b"", b"12%5", b"\xf5\x00", b"999"])
def test_what_is_in_force_may_be_lost(weir: Weir, written: bytes) -> None:
    weir.execute("create feed Storms from Post where contains 'storm'")
    run(weir, "storm")
    (weir.directory.sets / "CURRENT").write_bytes(written)
    land(weir, [Shown("Post", ((7, "another storm"),))])
    assert weir.run() == 1
    assert titles(weir, "Storms") == ["another storm", "storm"]
