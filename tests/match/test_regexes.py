"""Regular expressions: what must stand in a text, and that sets of them find what each finds by itself."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.regexes.regex_literals import levelled, pieces_of
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import Matches
from feedweir.plan.query import Query
from feedweir.text import regular_expressions
from tests.match.generated import START, items, regexes
from tests.naive import holds

many = settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
texts = st.lists(
    st.sampled_from(
        ("a b", "ab", "ABC B", "abc bab", "straße", "bc", "東京 a", "12", "ſtraße", "\u212aiwi", "\n", " ")
    ),
    max_size=6,
).map("".join)


@pytest.mark.parametrize(
    ("pattern", "flags", "pieces"),
    [
        ("muse", "", [b"muse"]),
        (r"\bMuse\s+(tour|tours)\b", "", [b"muse"]),
        (r"\d+ (albums|concerts)", "", [b"albums", b"concerts"]),
        ("album|jazz", "i", [b"album", b"jazz"]),
        ("album|x", "", []),
        ("(album)?jazz", "", [b"jazz"]),
        ("(album)+x", "", [b"album"]),
        ("(album){0,3}x", "", []),
        ("albums?", "", [b"album"]),
        ("albums+", "", [b"albums"]),
        (r"a\.b\/c", "", [b"a.b/c"]),
        (r"\x41bcdef", "", [b"bcdef"]),
        (r"\pLbcdef\p{Greek}", "", [b"bcdef"]),
        ("[albums]", "", []),
        ("[^]album]jazz", "", [b"jazz"]),
        ("[[:alpha:]]jazz", "", [b"jazz"]),
        ("größer", "", ["größer".encode()]),
        ("größer", "i", []),
        ("(?i)größer", "", []),
        (r"\Qalbum\E", "", []),
        ("{album", "", [b"album"]),
    ],
)
def test_a_piece_that_every_match_needs_is_found_in_the_expression(
    pattern: str, flags: str, pieces: list[bytes]
) -> None:
    assert list(pieces_of(pattern, flags)) == pieces


@given(regexes(), texts)
@many
@example(Matches(None, "kiwis", "i"), "\u212aiwiſ")
def test_a_text_that_matches_has_one_of_the_pieces(atom: Matches, text: str) -> None:
    pieces = pieces_of(atom.pattern, atom.flags)
    if pieces and regular_expressions.has_match(atom.pattern, atom.flags, text):
        assert any(piece in levelled(text.encode()) for piece in pieces)


@given(st.lists(regexes(), min_size=1, max_size=12, unique=True), st.lists(items(), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_expressions_together_find_what_each_finds(atoms: list[Matches], batch: list[Item]) -> None:
    queries = [Query(key, (), atom) for key, atom in enumerate(atoms)]
    found = compiled_in_memory(table_of(queries)).match(batch_of(batch))
    expected = [
        (row, key) for row, item in enumerate(batch) for key, atom in enumerate(atoms) if holds(atom, item)
    ]
    assert sorted(zip(found.rows.tolist(), found.keys.tolist(), strict=True)) == expected


def test_expressions_that_need_a_piece_are_tried_where_it_stands_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = [Query(n, (), Matches("title", rf"word{n:03d}\d*x", "")) for n in range(500)]
    found = compiled_in_memory(table_of(queries))
    batch = batch_of(
        [
            Item(source="s", identity=str(n), title=f"a WORD{n:03d} word{n:03d}x", arrived=START)
            for n in range(40)
        ]
    )
    matches = found.match(batch)
    assert matches.rows.tolist() == matches.keys.tolist() == list(range(40))
    (group,) = found.index.families["regexes"]._groups.values()
    assert len(group.searched) == 40
    assert not group.sets


def test_thousands_of_expressions_without_a_piece_fit_in_sets() -> None:
    queries = [
        Query(n, (), Matches("title", rf"[a-z]{{{n % 9 + 1},40}}\d{{{n % 7}}}[{chr(97 + n % 26)}]", ""))
        for n in range(1_000)
    ]
    found = compiled_in_memory(table_of(queries)).match(
        batch_of([Item(source="s", identity="1", title="rock12z 9 abc1234q", arrived=START)])
    )
    item = Item(source="s", identity="1", title="rock12z 9 abc1234q", arrived=START)
    assert found.keys.tolist() == [query.key for query in queries if holds(query.predicate, item)]


def test_the_end_of_a_text_is_the_end_of_the_text_and_not_before_a_new_line() -> None:
    assert not regular_expressions.has_match("a$", "", "a\n")
    assert regular_expressions.has_match("a$", "m", "a\nb")
