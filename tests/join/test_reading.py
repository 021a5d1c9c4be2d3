"""What a level takes in of a batch: rows of bindings as every embedding gives them, in the order of the stream."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import reduce

import numpy as np
from hypothesis import given, settings
from lxml import etree

from feedweir.items.string_keys import NO_VALUE, keys_of, stable_number
from feedweir.join.patterns.binding_rows import Texts, intake, no_rows
from feedweir.join.patterns.inner_results import Derived
from feedweir.join.patterns.level_history import Compositions
from feedweir.join.patterns.level_input import DocumentBatch, inner_rows, input_of, joined_texts, segment_of
from feedweir.join.patterns.pattern_set import Level, compile_patterns
from feedweir.join.patterns.variables import PatternQuery, result_variable
from feedweir.join.ragged import Ragged
from feedweir.match.trees import compile_trees
from feedweir.plan.nodes import Block, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.join.naive import Document, item
from tests.join.running import batch_of
from tests.join.strategies import documents, queries
from tests.join.test_join_levels import chain, compiled, same
from tests.match_trees import naive

DAY = TimeSpan(timedelta(days=1))


def base_level(chosen: list[PatternQuery]) -> tuple[Level, dict[TreePattern, int]]:
    joins = compile_patterns(chosen)
    return joins.levels[0], {pattern: place for place, pattern in enumerate(joins.patterns)}


@settings(max_examples=40, deadline=None)
@given(queries(), documents(max_size=4))
def test_the_rows_of_a_batch_are_those_of_every_embedding_of_every_variable(
    chosen: list[PatternQuery], stream: list[Document]
) -> None:
    level, patterns = base_level(chosen)
    batch = batch_of(stream, compile_trees(list(patterns)))
    numbers = np.arange(500, 500 + len(stream), dtype=np.int64)
    members = {
        name: np.isin(np.arange(len(stream)), rows)
        for name, rows in batch.members.items()
        if name in level.streams
    }
    rows, texts = intake(level, patterns, batch.witnesses, members, numbers, batch.time_us)
    expected, shown = set(), set()
    for row, one in enumerate(stream):
        nodes = naive.document(etree.fromstring(one.xml))
        for dense, variable in enumerate(level.variables):
            if variable.stream not in one.streams or variable.pattern is None:
                continue
            for way in naive.embeddings(variable.pattern, nodes):
                path = tuple(way[place] for place in variable.places)
                value = nodes[path[-1]].value
                key = NO_VALUE if variable.is_presence else int(keys_of([value])[0][0])
                expected.add((key, variable.number, 500 + row, one.time, path))
                if dense in level.text_variables:
                    shown.add((500 + row, path[-1], value))
    columns = (rows.value, rows.variable, rows.document, rows.time)
    found = [
        (*row, tuple(node for node in path if node >= 0))
        for row, path in zip(
            zip(*(c.tolist() for c in columns), strict=True), rows.path.tolist(), strict=True
        )
    ]
    assert {(v, name, d, t, p) for v, name, d, t, p in found} == expected
    assert set(zip(texts.document.tolist(), texts.node.tolist(), texts.text, strict=True)) == shown


def test_variables_that_bind_nothing_give_no_rows() -> None:
    level, patterns = base_level([PatternQuery(1, same(1))])
    batch = batch_of([item(1, 1, "<other/>", "source S")], compile_trees(list(patterns)))
    members = {"source S": np.ones(1, np.bool_)}
    rows, texts = intake(level, patterns, batch.witnesses, members, np.array([0]), batch.time_us)
    assert len(rows) == 0
    assert len(texts.document) == 0


def upper_level() -> tuple[Level, str]:
    joins = compiled(chain("<o>{$a} {$c}</o>"))
    (made,) = (one.stream for one in joins.levels[0].results)
    return joins.levels[1], made


def derived(stream: str, seq: int, sub: int, *, text: str = "v", keys: tuple[int, int] = (0, 0)) -> Derived:
    column = np.array([seq], np.int64)
    return Derived(
        np.zeros(1, np.int32),
        column,
        np.array([sub], np.int64),
        column * 10,
        Ragged.of([(seq - 1, seq)]),
        np.array([[keys, keys]], np.int64),
        np.array([[text, text]], object),
        (stream,),
        (("a", "b"),),
    )


def derived_after(*parts: Derived) -> Derived:
    """Several, of which those of one stream are one part of the whole."""
    names = tuple(dict.fromkeys(part.streams[0] for part in parts))
    together = reduce(Derived.joined, parts)
    places = np.array([names.index(part.streams[0]) for part in parts], np.int32)
    return replace(together, stream=places, streams=names, names=(("a", "b"),) * len(names))


def rows_of(made: Compositions) -> dict[int, tuple[int, ...]]:
    return dict(zip(made.number.tolist(), map(tuple, made.items.padded(-1).tolist()), strict=True))


def batch(seqs: list[int], streams: dict[str, list[int]]) -> DocumentBatch:
    trees = compile_trees([])
    rows = {name: np.array(members, np.int32) for name, members in streams.items()}
    column = np.array(seqs, np.int64)
    return DocumentBatch(column, column * 10, rows, trees.witnesses(["<a/>"] * len(seqs)))


def test_a_level_reads_its_streams_and_what_joins_below_made_in_the_order_of_the_stream() -> None:
    level, made = upper_level()
    given_batch = batch([5, 6, 7], {"source U": [0, 2], "source S": [1]})
    given = input_of(
        level, given_batch, derived_after(derived(made, 6, 1), derived("join 9", 6, 2), derived(made, 5, 1))
    )
    assert given.seq.tolist() == [5, 5, 6, 7]
    assert given.base.tolist() == [0, -1, -1, 2]
    assert (given.inner >= 0).tolist() == [False, True, True, False]
    assert given.members["source U"].tolist() == [True, False, False, True]
    assert given.members[made].tolist() == [False, True, True, False]
    assert rows_of(given.made_of(100)) == {101: (4, 5), 102: (5, 6)}


def test_documents_that_are_called_otherwise_say_what_they_are() -> None:
    level, _ = upper_level()
    plain = batch([5, 5], {"source U": [0, 1]})
    named = DocumentBatch(
        plain.seq, plain.time_us, plain.members, plain.witnesses, np.array([0, 1]), np.array([5, -77])
    )
    assert rows_of(input_of(level, named).made_of(10)) == {11: (-77,)}


def test_a_segment_holds_what_was_read_under_numbers_that_go_on() -> None:
    level, made = upper_level()
    given = input_of(level, batch([5, 6], {"source U": [1]}), derived(made, 5, 3))
    texts = Texts(np.array([41]), np.array([2], np.int32), ["x"])
    found = segment_of(level, 8, given, no_rows(1), texts, 40)
    assert (found.first, found.last) == (8, 8)
    assert found.number.tolist() == [40, 41]
    assert found.seq.tolist() == [5, 6]
    assert found.sub.tolist() == [3, 0]
    assert rows_of(found.derived) == {40: (4, 5)}
    members = set(zip(found.member_stream.tolist(), found.member_number.tolist(), strict=True))
    assert members == {(stable_number(made), 40), (stable_number("source U"), 41)}


def test_results_of_an_inner_join_bind_each_variable_once_below_one_root() -> None:
    level, made = upper_level()
    known = keys_of(["v"])
    inner = derived_after(derived(made, 5, 1), derived(made, 6, 1, keys=(8, 9)))
    numbers = np.array([42, 43], np.int64)
    rows, texts = inner_rows(level, inner, numbers, numbers * 10)
    wanted = {result_variable(made, name).number for name in ("a", "b")} & {
        one.number for one in level.variables
    }
    assert set(rows.variable.tolist()) == wanted
    by_document = dict(
        zip(rows.document.tolist(), zip(rows.value.tolist(), rows.check.tolist(), strict=True), strict=True)
    )
    assert by_document[42] == (int(known[0][0]), int(known[1][0])), "a value without a key is digested"
    assert by_document[43] == (8, 9)
    assert set(texts.document.tolist()) == {42, 43}


def test_texts_of_several_parts_are_sorted_by_document_and_node() -> None:
    one = Texts(np.array([3, 9]), np.array([1, 0], np.int32), ["c", "e"])
    other = Texts(np.array([3, 1]), np.array([0, 5], np.int32), ["b", "a"])
    together = joined_texts([one, other])
    assert list(together.text) == ["a", "b", "c", "e"]
    assert list(joined_texts([]).text) == []


def test_a_block_that_binds_one_node_under_two_names_has_a_row_for_each() -> None:
    root = PatternNode("/", "d", (PatternNode("/", "x", (), "p"),), "q")
    join = PatternJoin(
        "join",
        Block(Source("S"), TreePattern(root)),
        Block(Source("S"), TreePattern(PatternNode("/", "d", (PatternNode("/", "x", (), "r"),)))),
        (("p", "r"), ("q", "r")),
        DAY,
    )
    (level,) = compiled(join).levels
    assert len(level.variables) == 3
