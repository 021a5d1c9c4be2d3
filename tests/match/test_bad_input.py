"""Odd queries and odd texts are exact, damaged sets are refused, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from feedweir.errors import CompiledSetError
from feedweir.items.model import Enclosure, Item
from feedweir.items.schema import ITEM_SCHEMA, batch_of
from feedweir.match import (
    CompiledSet,
    KeywordQueries,
    Work,
    apply_changes,
    compile_set,
    write_version,
)
from feedweir.match.arrays import frozen
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.match.sets.sealed import open_sealed
from feedweir.match.words.dictionary import packed, packed_dictionary
from feedweir.match.words.dictionary_kernels import look_up
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Not,
    Or,
    PatternNode,
    Predicate,
    SharesLink,
    Term,
    TreePattern,
)
from feedweir.plan.query import Query
from feedweir.text.analyser import analyse, analyse_raw
from tests.match.test_matching import naive_pairs, pairs_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def item(title: str, **more: object) -> Item:
    return Item(source="s", identity="1", title=title, arrived=NOW, **more)  # type: ignore[arg-type]


def compiled(directory: Path, *predicates: Predicate) -> CompiledSet:
    compile_set([Query(key, (), predicate) for key, predicate in enumerate(predicates)], directory / "set")
    return open_compiled(directory / "set")


def words(*terms: str) -> Contains:
    return Contains(None, tuple(map(Term, terms)), len(terms))


def keys(compiled_set: CompiledSet, one: Item) -> list[int]:
    return compiled_set.match(batch_of([one])).keys.tolist()


def test_a_query_of_only_stop_words_matches_like_any_other(tmp_path: Path) -> None:
    opened = compiled(tmp_path, words("the", "of", "and"), words("the who"))
    assert keys(opened, item("the end of the road and the who")) == [0, 1]
    assert keys(opened, item("the end of it")) == []


def test_an_empty_link_is_a_link_wherever_the_plain_meaning_has_it_as_one(tmp_path: Path) -> None:
    asked = [
        Query(key, (), SharesLink(attribute, ("#",)))
        for key, attribute in enumerate(("enclosure", "m:x", "links"))
    ]
    batch = [item("x", enclosures=(Enclosure(url=""),), extensions=(("m:x", ""),), links=("",)), item("y")]
    compile_set(asked, tmp_path / "set")
    assert pairs_of(open_compiled(tmp_path / "set").match(batch_of(batch))) == naive_pairs(asked, batch)
    assert naive_pairs(asked, batch) == [(0, 0), (0, 1)]


def test_a_query_of_ten_thousand_terms_is_exact(tmp_path: Path) -> None:
    terms = [f"w{number}" for number in range(10_000)]
    any_of, most_of = (Contains(None, tuple(map(Term, terms)), least) for least in (1, 9_999))
    opened = compiled(tmp_path, words(*terms), any_of, most_of)
    assert keys(opened, item(" ".join(terms))) == [0, 1, 2]
    assert keys(opened, item(" ".join(terms[1:]))) == [1, 2]
    assert keys(opened, item(" ".join(terms[2:]))) == [1]
    assert keys(opened, item("w17 x")) == [1]
    assert keys(opened, item("x")) == []


def test_a_normal_form_that_would_explode_is_bounded_and_noted_and_exact(tmp_path: Path) -> None:
    choices = tuple(Or(tuple(words(f"{letter}{number}") for letter in "abcdefgh")) for number in range(40))
    opened = compiled(tmp_path, And(choices), AtLeast(20, choices))
    assert [(note.key, note.kind) for note in opened.notes] == [(0, "wide"), (1, "wide")]
    assert "found by 8 and then verified as a whole" in opened.notes[0].text
    assert keys(opened, item(" ".join(f"c{number}" for number in range(40)))) == [0, 1]
    assert keys(opened, item(" ".join(f"c{number}" for number in range(20)))) == [1]
    assert keys(opened, item(" ".join(f"c{number}" for number in range(19)))) == []


def test_queries_without_a_positive_atom_work_and_are_reported_as_costly(tmp_path: Path) -> None:
    opened = compiled(tmp_path, Not(words("war")), And(()), words("peace"))
    assert keys(opened, item("quiet")) == [0, 1]
    assert [(note.key, note.kind) for note in opened.notes] == [(0, "costly"), (1, "costly")]


def test_a_query_that_nothing_satisfies_is_noted(tmp_path: Path) -> None:
    opened = compiled(tmp_path, Or(()), words("!"), Compare("revision", "=", 1.5))
    assert [note.kind for note in opened.notes] == ["never"] * 3
    assert keys(opened, item("! a")) == []


def test_a_prefix_of_one_letter_is_exact(tmp_path: Path) -> None:
    prefix = Contains(None, (Term("b", is_prefix=True),), 1)
    long_prefix = Contains(None, (Term("x" * 80, is_prefix=True),), 1)
    opened = compiled(tmp_path, prefix, long_prefix, Contains("title", (Term("big b", is_prefix=True),), 1))
    assert keys(opened, item("a big bang")) == [0, 2]
    assert keys(opened, item("ab cb db")) == []
    assert keys(opened, item("x" * 81)) == [1]
    assert keys(opened, item("x" * 79)) == []


def test_text_from_right_to_left_without_spaces_and_composed_is_exact(tmp_path: Path) -> None:
    opened = compiled(
        tmp_path, words("שלום"), words("東京"), words("ZÜRICH"), words("مرحبا بالعالم"), words("ß")
    )
    assert keys(opened, item("שלום, עולם")) == [0]
    assert keys(opened, item("新東京国際空港")) == [1]
    assert keys(opened, item("京東")) == []
    assert keys(opened, item("zu\u0308rich")) == [2]
    assert keys(opened, item("مرحبا بالعالم")) == [3]
    assert keys(opened, item("SS")) == [4]


def test_bytes_that_are_not_utf8_separate_words_and_lose_none(tmp_path: Path) -> None:
    opened = compiled(tmp_path, words("good"), words("end"))
    batch = batch_of([item("x" * 9)])
    columns = [_broken() if name == "title" else batch.column(name) for name in ITEM_SCHEMA.names]
    assert opened.match(pa.RecordBatch.from_arrays(columns, schema=ITEM_SCHEMA)).keys.tolist() == [0, 1]


def _broken() -> pa.Array:
    data = b"good\xff\xfeend"
    offsets = np.array([0, len(data)], np.int32)
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def test_lone_surrogates_in_a_query_match_nothing_and_break_nothing(tmp_path: Path) -> None:
    strange = "\ud800"
    predicates = (words(strange), words("a" + strange), Compare("title", "=", strange), words("fine"))
    assert keys(compiled(tmp_path, *predicates), item("fine a")) == [1, 3]


def test_words_that_collide_in_the_hash_stay_apart() -> None:
    strings = [f"word{number}".encode() for number in range(200)]
    text, starts, lengths = packed(strings)
    weak = np.arange(200, dtype=np.uint64) % np.uint64(3)
    dictionary = packed_dictionary(text, np.append(starts, len(text)), weak, exact_bytes=0)
    entries = np.empty(200, np.int32)
    look_up(dictionary, weak, frozen(text), starts, lengths, entries)
    assert entries.tolist() == list(range(200))
    other_text, other_starts, other_lengths = packed([b"nowhere", b"word1000"])
    missed = np.empty(2, np.int32)
    look_up(dictionary, weak[:2], frozen(other_text), other_starts, other_lengths, missed)
    assert missed.tolist() == [-1, -1]


def test_no_two_short_words_have_one_hash() -> None:
    """What lets equal hashes of up to eight bytes stand for equal words: a length is no byte of UTF-8."""
    from feedweir.text.text_kernels import SHORT_MARK

    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])).encode()
    assert set(text).isdisjoint(range(SHORT_MARK, SHORT_MARK + 8))


def test_an_item_that_matches_two_hundred_thousand_subscriptions_reports_them_all(tmp_path: Path) -> None:
    n = 200_000
    lists = pa.array(
        [["storm"] if key % 2 else ["storm", "coast"] for key in range(n)], pa.list_(pa.string())
    )
    compile_set(KeywordQueries(pa.array(np.arange(n)), lists), tmp_path / "set")
    found = open_compiled(tmp_path / "set").match(batch_of([item("calm"), item("a storm at the coast")]))
    assert (found.rows == 1).all()
    assert np.array_equal(found.keys, np.arange(n))


def test_columns_and_objects_mean_the_same(tmp_path: Path) -> None:
    terms = [["a", "b"], ["a b"], ["A-b", "c"], ["!"], ["a", "a"], ["x"] * 12]
    compile_set(KeywordQueries(pa.array(range(6), pa.int64()), pa.array(terms)), tmp_path / "columns")
    objects = [Query(key, (), words(*some)) for key, some in enumerate(terms)]
    batch = [item("a b c"), item("b a x"), item("c")]
    found = open_compiled(tmp_path / "columns").match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(objects, batch)


@pytest.mark.parametrize("name", ["index.arrays", "queries.arrow", "notes.json", "manifest.json"])
def test_a_damaged_set_is_refused_and_can_be_rebuilt(tmp_path: Path, name: str) -> None:
    compiled(tmp_path, words("a"))
    path = tmp_path / "set" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(CompiledSetError):
        open_compiled(tmp_path / "set")
    assert keys(compiled(tmp_path, words("a")), item("a")) == [0]


def test_no_byte_of_a_manifest_can_change_unnoticed(tmp_path: Path) -> None:
    compiled(tmp_path, words("a"), Compare("published", ">", NOW))
    path = tmp_path / "set" / "manifest.json"
    whole = path.read_bytes()
    for place in [place for place, byte in enumerate(whole) if byte not in b" \n"]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CompiledSetError):
            open_sealed(tmp_path / "set")
    path.write_bytes(whole)
    open_sealed(tmp_path / "set")


def test_a_set_that_lacks_a_file_or_is_none_is_refused(tmp_path: Path) -> None:
    compiled(tmp_path, words("a"))
    (tmp_path / "set" / "index.arrays").unlink()
    with pytest.raises(CompiledSetError, match="lacks"):
        open_compiled(tmp_path / "set")
    with pytest.raises(CompiledSetError, match="not a compiled set"):
        open_compiled(tmp_path / "nothing")


def test_a_failed_compilation_leaves_the_old_set(tmp_path: Path) -> None:
    compiled(tmp_path, words("a"))

    def broken() -> object:
        yield Query(1, (), words("b"))
        raise RuntimeError("the catalog went away")

    with pytest.raises(RuntimeError):
        compile_set(broken(), tmp_path / "set")  # type: ignore[arg-type]
    assert keys(open_compiled(tmp_path / "set"), item("a b")) == [0]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_nothing_is_touched_but_what_can_match(tmp_path: Path) -> None:
    predicates = [words(f"rare{key}", "common") for key in range(500)]
    opened = compiled(tmp_path, *predicates)
    matches = opened.match(batch_of([item("common words only"), item("common rare7")]))
    assert pairs_of(matches) == [(1, 7)]
    assert replace(matches.work, held=0) == Work(tests=1, candidates=1)


def test_ranges_are_found_without_trying_each(tmp_path: Path) -> None:
    hours = [
        Compare("published", op, datetime(2026, 1, 1, hour, tzinfo=UTC))
        for hour in range(24)
        for op in ("<", ">=")
    ]
    ranges = [And((hours[2 * low + 1], hours[2 * low + 2])) for low in range(23)]
    opened = compiled(tmp_path, *ranges)
    matches = opened.match(batch_of([item("x", published=datetime(2026, 1, 1, 7, 30, tzinfo=UTC))]))
    assert matches.keys.tolist() == [7]
    assert matches.work.candidates == 1


def test_compilation_is_deterministic_and_tells_its_progress(tmp_path: Path) -> None:
    queries = [Query(key, ("b", "a"), Or((words("x", str(key)), Not(words("y"))))) for key in range(50)]
    seen: list[tuple[int, int]] = []
    compile_set(queries, tmp_path / "one", progress=lambda done, total: seen.append((done, total)))
    compile_set(reversed(queries), tmp_path / "two")
    assert seen[-1] == (50, 50)
    for name in ("index.arrays", "queries.arrow"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_tokens_of_queries_and_items_are_those_of_the_one_analyser() -> None:
    import feedweir.match.index.keywords
    import feedweir.match.matching.batch_facts

    assert feedweir.match.index.keywords.analyse is analyse
    assert feedweir.match.matching.batch_facts.analyse_raw is analyse_raw


def test_changes_to_a_damaged_version_are_refused(tmp_path: Path) -> None:
    write_version(tmp_path / "set", 1, [Query(1, (), words("a"))])
    (tmp_path / "set" / "versions" / "1" / "manifest.json").write_text("{}")
    with pytest.raises(CompiledSetError):
        apply_changes(tmp_path / "set", [Query(2, (), words("b"))])


def test_a_query_that_fails_is_named_and_the_others_are_answered(tmp_path: Path) -> None:
    without_zone = Compare("published", ">", datetime(2026, 1, 1))
    too_large = TreePattern(PatternNode("//", "a", tuple(PatternNode("/", f"n{n}") for n in range(1000))))
    opened = compiled(tmp_path, words("a"), without_zone, And((words("a"), too_large)))
    assert [(note.key, note.kind) for note in opened.notes] == [(1, "broken")]
    found = opened.match(batch_of([item("a", published=NOW, raw="<item/>")]))
    assert found.keys.tolist() == [0]
    assert [key for key, _ in found.failures] == [2]


def test_words_in_more_attributes_than_a_scope_has_bits_are_exact(tmp_path: Path) -> None:
    names = [f"e:n{number}" for number in range(90)]
    predicates = [Contains(name, (Term("a b"), Term("c", is_prefix=True)), 2) for name in names]
    opened = compiled(tmp_path, *predicates, *(Not(Contains(name, (Term("a"),), 1)) for name in names))
    said = tuple((name, "a b cd") for name in names[::7])
    found = keys(opened, item("a b c", extensions=said))
    assert found == [*range(0, 90, 7), *(90 + number for number in range(90) if number % 7)]
