"""The documents of a batch while it is joined: items and what is constructed of them, by row, and the tables made of
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.batch_documents import BatchDocuments, Elements, JoinInput
from feedweir.join.clock import Clock, times_of
from feedweir.join.constructed import (
    Construction,
    constructed,
    is_whole,
    item_of,
    items_shown,
    parts_of,
)
from feedweir.join.patterns.rounds import document_batch, id_of
from feedweir.join.result_tables import annotation_table, element_table, in_order, late_rows, made_table
from feedweir.join.streams import JoinFeed, JoinSet
from feedweir.join.task_output import WitnessRows
from feedweir.join.windows.annotation_stages import LatePartner
from feedweir.join.windows.features import IDENTITY, Compared, Feature, compared_of, feature_of, whole_batch
from feedweir.match.trees import compile_trees
from feedweir.plan.nodes import AnnotationJoin, Distinct, Filter, LastItems, Source, Union, Window
from feedweir.plan.predicate_wire import predicate_to_json
from feedweir.plan.predicates import Contains, PatternNode, Relates, Term, TreePattern

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
RED = Contains("title", (Term("red"),), 1)
TITLE = feature_of("value", "title")


def item(seq: int, title: str = "", **fields: object) -> Item:
    raw = f"<item><title>{title}</title></item>"
    given = {"arrived": NOON + timedelta(hours=seq), "published": NOON, "raw": raw, **fields}
    return Item(source="A", identity=str(seq), seq=seq, title=title, **given)  # type: ignore[arg-type]


OLDER = [item(2, "old red"), item(3, "old blue")]
ITEMS = [item(10, "red"), item(12, "blue"), item(15, "red sea")]
READS: list[list[int]] = []


def reading(known: Sequence[Item]):  # type: ignore[no-untyped-def]
    by_seq = {one.seq: one for one in known}

    def read(seqs: Sequence[int]) -> dict[int, Item]:
        READS.append(list(seqs))
        return {seq: by_seq[seq] for seq in seqs}

    return read


def table_of(known: Sequence[Item]):  # type: ignore[no-untyped-def]
    def read(seqs: Sequence[int], names: Sequence[str]) -> pa.Table:
        READS.append(list(seqs))
        chosen = [one for one in known if one.seq in set(seqs)]
        return pa.Table.from_batches([batch_of(chosen)]).select(list(names))

    return read


def join_input(found: dict[int, list[int]] | None = None) -> JoinInput:
    seq = np.array([one.seq for one in ITEMS], np.int64)
    in_feed = {(1, 2)}
    return JoinInput(
        number=1,
        found={key: np.array(seqs, np.int64) for key, seqs in (found or {}).items()},
        times=times_of(batch_of(ITEMS), Clock()),
        witnesses=WitnessRows.none(),
        items=reading(ITEMS),
        compared=Compared(seq, table_of(ITEMS)),
        older=reading(OLDER),
        older_columns=table_of(OLDER),
        is_in=lambda feeds, seqs: np.array(
            [pair in in_feed for pair in zip(feeds.tolist(), seqs.tolist(), strict=True)], np.bool_
        ),
        annotations=lambda feed, seqs: {2: {"w": (3,)}} if feed == 1 and 2 in seqs else {},
    )


def documents(*features: Feature) -> BatchDocuments:
    READS.clear()
    return BatchDocuments(join_input(), features)


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_items_are_rows_in_the_order_of_the_stream_and_what_is_made_comes_after_them() -> None:
    held = documents()
    assert held.rows(rows(10, 15)).tolist() == [0, 2]
    made = held.put(Construction((10, 12)))
    assert made == 3
    assert held.put(Construction((10, 12))) == 3, "the same document is one"
    assert held.put(Construction((3, 10))) == 4
    assert held.seqs(rows(0, 3, 2, 4)).tolist() == [10, 12, 15, 10]
    assert held.is_made(rows(0, 3)).tolist() == [False, True]
    assert [held.at(held.place(row)) for row in range(5)] == [0, 1, 2, 3, 4]


def test_what_is_made_stands_right_after_the_item_that_completed_it() -> None:
    held = documents()
    of_last, of_first = held.put(Construction((10, 15))), held.put(Construction((2, 10)))
    assert held.in_order(rows(of_last, 2, 0, of_first, 1, 0)).tolist() == [0, of_first, 1, 2, of_last]
    assert held.in_order(rows(2, 0, 2)).tolist() == [0, 2]
    assert held.in_order(rows()).tolist() == []


def test_an_item_is_read_once_from_the_batch_or_from_the_log() -> None:
    held = documents()
    assert [one.item.title for one in held.readings([0, 2])] == ["red", "red sea"]
    assert held.item(0).title == "red"
    assert held.older(3).item.title == "old blue"
    assert held.item(held.put(Construction((2, 10)))).made_of == (2, 10)
    assert READS == [[10, 15], [3], [2]]


def test_what_is_made_has_the_latest_time_of_its_parts_and_is_compared_as_it_is() -> None:
    held = documents(TITLE, IDENTITY)
    made = held.put(Construction((10, 12), "<x><title>red</title></x>", is_selected=True))
    order = held.in_order(rows(0, 1, 2, made))
    given = held.compared(order, {-5: rows(0)})
    assert given.seq.tolist() == [10, 12, 12, 15]
    assert given.is_made.tolist() == [False, False, True, False]
    titles = [
        given.columns[TITLE].data[a:b].tolist()
        for a, b in zip(given.columns[TITLE].ptr, given.columns[TITLE].ptr[1:], strict=False)
    ]
    assert titles[0] == titles[2] != titles[1]
    noon_us = int(NOON.timestamp()) * 1_000_000
    assert given.time_us.tolist() == [noon_us] * 4
    assert given.arrived_us.tolist() == [noon_us + hours * 3_600_000_000 for hours in (10, 12, 12, 15)]
    assert len(set(held.identities(rows(0, made, 0)).tolist())) == 2


def test_features_are_read_once_however_often_rows_are_asked_for() -> None:
    READS.clear()
    compared = Compared(rows(10, 12, 15), table_of(ITEMS))
    first = compared.columns(rows(0, 2), [TITLE])[TITLE]
    again = compared.columns(rows(2, 1, 2), [TITLE])[TITLE]
    assert READS == [[10, 15], [12]]
    assert again.take(rows(0)).data.tolist() == first.take(rows(1)).data.tolist()
    assert again.take(rows(2)).data.tolist() == again.take(rows(0)).data.tolist()


def test_a_condition_is_decided_of_each_item_once() -> None:
    feature = Feature("condition", predicate_to_json(RED))
    assert np.diff(compared_of(feature, batch_of(ITEMS)).ptr).tolist() == [1, 0, 1]


def test_a_condition_that_takes_too_long_holds_of_nothing() -> None:
    many = TreePattern(
        PatternNode(
            "//",
            "a",
            (*(PatternNode("//", "b", (), f"v{n}") for n in range(9)), PatternNode("//", "z")),
        )
    )
    costly = item(1, raw="<a>" + "<b>x</b>" * 50 + "</a>")
    feature = Feature("condition", predicate_to_json(many))
    assert np.diff(compared_of(feature, batch_of([costly, item(2)])).ptr).tolist() == [0, 0]


def test_a_table_in_pieces_is_one_batch_and_an_empty_one_keeps_its_columns() -> None:
    piece = pa.table({"a": [1, 2]})
    assert whole_batch(pa.concat_tables([piece, piece])).num_rows == 4
    assert whole_batch(piece.slice(0, 0)).schema == piece.schema


@given(st.permutations(range(3)))
def test_times_of_items_are_found_in_whatever_order_they_are_read(order: list[int]) -> None:
    shuffled = [ITEMS[place] for place in order]
    found, expected = times_of(batch_of(shuffled), Clock()), times_of(batch_of(ITEMS), Clock())
    assert found.seq.tolist() == [10, 12, 15]
    assert found.clock == expected.clock
    time, clock = found.at(rows(15, 10))
    assert time.tolist() == expected.time_us[[2, 0]].tolist()
    assert clock.tolist() == expected.clock_us[[2, 0]].tolist()


def test_an_undated_item_and_one_dated_ahead_have_the_time_of_their_arrival() -> None:
    some = [item(1, published=None), item(2, published=NOON + timedelta(days=900))]
    arrived = [int(one.arrived.timestamp()) * 1_000_000 for one in some]
    assert times_of(batch_of(some), Clock()).time_us.tolist() == arrived


def test_documents_of_streams_are_a_batch_with_the_witnesses_of_what_was_made() -> None:
    held = documents()
    trees = compile_trees([TreePattern(PatternNode("//", "title", (), "x"))])
    made = held.put(Construction((10, 12), "<x><title>new</title></x>", is_selected=True))
    members = {-5: [held.place(0), held.place(made)], -6: [held.place(1)]}
    found = document_batch(
        members, join_input().times, WitnessRows.none(), lambda place: held.item(held.at(place)), trees
    )
    assert found.seq.tolist() == [10, 12, 12]
    assert found.subs.tolist() == [0, 0, 1]
    assert found.members == {"feed -5": pytest.approx([0, 2]), "feed -6": pytest.approx([1])}
    assert found.ids is not None
    assert found.ids.tolist() == [10, 12, id_of(held.place(made))]
    assert found.ids[2] < 0
    assert list(found.witnesses.values) == ["new"]


def test_what_is_called_by_its_place_has_one_name_everywhere() -> None:
    assert id_of((7, (), "")) == 7
    places = [(7, (3, 7), "a"), (7, (3, 7), "b"), (7, (7,), "a")]
    assert len({id_of(place) for place in places}) == 3
    assert all(id_of(place) < 0 for place in places)


def with_made() -> tuple[BatchDocuments, int, int]:
    held = documents(IDENTITY)
    return held, held.put(Construction((10, 12))), held.put(Construction((3, 12), "<x/>", is_selected=True))


def elements(numbers: Sequence[int], notes: Sequence[tuple[int, int, int]] = ()) -> Elements:
    return Elements(np.array(numbers, np.int64), np.array(notes, np.int64).reshape(-1, 3))


def test_an_element_is_told_once_for_all_documents_that_it_stands_for() -> None:
    held, first, second = with_made()
    table = element_table({1: elements([0, 1, first, second]), 4: elements([2])}, held)
    assert [tuple(row.values()) for row in table.to_pylist()] == [(1, 10), (1, 12), (4, 15)]
    assert element_table({}, held).num_rows == 0


def test_documents_are_told_with_the_item_that_stands_beside_them() -> None:
    held, first, second = with_made()
    table = made_table({1: elements([0, 1, first, second]), 4: elements([2])}, held)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (1, 12, [], "", False),
        (1, 12, [10, 12], "", False),
        (1, 12, [3, 12], "<x/>", True),
    ]
    assert made_table({4: elements([2])}, held).num_rows == 0


def test_partners_are_told_once_in_order_with_the_key_of_the_item() -> None:
    held, *_ = with_made()
    notes = [(0, 1, 2), (0, 0, 3), (0, 1, 2), (2, 0, 10)]
    table = annotation_table({1: elements([0, 2], notes), 3: elements([1])}, [], held, ["v", "w"])
    found = [(row["feed"], row["seq"], row["join"], row["partner"]) for row in table.to_pylist()]
    assert found == [(1, 10, "v", 3), (1, 10, "w", 2), (1, 15, "v", 10)]
    keys = held.identities(rows(0, 2)).tolist()
    assert table["item"].to_pylist() == [keys[0], keys[0], keys[1]]


def test_what_an_earlier_element_found_late_is_told_where_it_is_shown() -> None:
    story = Distinct("d", Source("A"), LastItems(9), Relates(None, "tells", None, 0.4))
    joined = AnnotationJoin("w", story, Window(Source("B"), LastItems(3)), Relates("title", "=", "title"))
    joins = JoinSet(
        [
            JoinFeed(1, Filter(story, RED)),
            JoinFeed(2, story),
            JoinFeed(3, Union((joined, Filter(story, RED)))),
        ]
    )
    key = next(one.key for one in joins.computed.values() if isinstance(one.node, Distinct))
    late = list(late_rows(joins, [LatePartner(key, 2, 77, "d", 12)]))
    assert [(note.feed, len(note.paths)) for note in late] == [(1, 1), (2, 1), (3, 2)]
    held = documents(IDENTITY)
    table = annotation_table({}, late, held, ["d"])
    assert [tuple(row.values()) for row in table.to_pylist()] == [(1, 2, 77, "d", 12)], "only feed 1 has it"
    assert list(late_rows(joins, [])) == []


def test_where_ways_meet_a_late_partner_is_noted_only_if_the_element_came_on_one_of_them() -> None:
    story = Distinct("d", Source("A"), LastItems(9), Relates(None, "tells", None, 0.4))
    blue = Contains("title", (Term("blue"),), 1)
    joined = AnnotationJoin("w", story, Window(Source("B"), LastItems(3)), Relates("title", "=", "title"))
    other = replace(joined, identifier="v")
    for ways, is_noted in [
        ((Filter(story, RED), Source("C")), True),
        ((Filter(story, blue), Source("C")), False),
        ((joined, Source("C")), True),
        ((other, Source("C")), False),
        ((Filter(story, blue), joined), True),
    ]:
        joins = JoinSet([JoinFeed(1, Union(ways))])
        key = next(one.key for one in joins.computed.values() if isinstance(one.node, Distinct))
        late = late_rows(joins, [LatePartner(key, 2, 77, "d", 12)])
        table = annotation_table({}, late, documents(IDENTITY), ["d"])
        assert table.num_rows == is_noted, ways


def test_tables_of_one_kind_are_sorted_together_only_when_there_are_several() -> None:
    held, *_ = with_made()
    one, other = (element_table({feed: elements([0])}, held) for feed in (7, 2))
    nothing = one.slice(0, 0)
    assert in_order(nothing, one) is one
    assert in_order(one, nothing, other)["feed"].to_pylist() == [2, 7]
    assert in_order(nothing, nothing).num_rows == 0


BY_SEQ = {one.seq: one for one in [*OLDER, *ITEMS]}


def test_documents_side_by_side_are_those_of_items_and_of_constructions() -> None:
    held = documents()
    xml = held.side_by_side([10, Construction((3,), "<x/>", is_selected=True)])
    assert xml == f"<result>{BY_SEQ[10].raw}<x/></result>"


def test_what_is_made_of_what_was_made_counts_with_its_items() -> None:
    inner = item_of(Construction((2, 10), "<x>1</x>", is_selected=True), BY_SEQ)
    found = constructed([inner, BY_SEQ[12]], "", {})
    assert found.made_of == (2, 10, 12)
    assert "<x>1</x>" in found.xml
    assert not found.is_selected
    assert constructed([BY_SEQ[2], BY_SEQ[12]], "", {}).xml == "", (
        "items stand side by side whenever they are shown"
    )


def test_documents_have_identities_of_their_own() -> None:
    made = [
        Construction((2, 10)),
        Construction((2, 12)),
        Construction((2, 10), "<x/>", is_selected=True),
        Construction((2, 10), "<y/>", is_selected=True),
        Construction((2, 10), "<x/>"),
    ]
    assert len({one.identity for one in made}) == len(made)
    assert made[0].place == (10, (2, 10), "2+10:result")
    assert Construction(()).place == (0, (), "")


@pytest.mark.parametrize("xml", ["<x", "plain text", "<x>\ud800</x>", ""])
def test_a_construction_that_is_no_document_is_shown_with_what_its_item_has(xml: str) -> None:
    found = item_of(Construction((2, 10), xml, is_selected=True), BY_SEQ)
    assert (found.source, found.seq, found.made_of) == ("A", 10, (2, 10))
    assert found.link == BY_SEQ[10].link


def test_a_document_is_not_shown_while_a_part_of_it_is_missing() -> None:
    whole, broken = Construction((10,), "<x/>", is_selected=True), Construction((10, 999))
    assert [is_whole(one, BY_SEQ) for one in (whole, broken)] == [True, False]
    shown = items_shown([BY_SEQ[10], BY_SEQ[12]], {10: (whole, broken, Construction(()))}, BY_SEQ)
    assert [one.made_of for one in shown] == [(10,), (), ()]
    assert [one.seq for one in shown] == [10, 10, 12]
    assert parts_of({10: (whole, broken), 12: (Construction(()),)}) == [10, 999]


def test_the_latest_item_gives_what_a_document_side_by_side_shows() -> None:
    linked = {
        2: replace(BY_SEQ[2], links=("http://a", "http://b")),
        10: replace(BY_SEQ[10], links=("http://b",)),
    }
    found = item_of(Construction((2, 10)), linked)
    assert (found.title, found.links) == ("red", ("http://a", "http://b"))
