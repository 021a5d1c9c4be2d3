"""What tasks write down for joins, what joins publish, and what of it is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.numbering import document_number, first_seq
from feedweir.join.constructed import Construction
from feedweir.join.history_floor import oldest_remembered
from feedweir.join.task_output import StreamLog, WitnessLog, WitnessRows, shown_and_hidden, witnesses_of
from feedweir.logs import seals
from feedweir.logs.batches import Assignment, Manifest
from feedweir.logs.files import replace_arrow
from feedweir.logs.joined_log import (
    ANNOTATION_SCHEMA,
    MADE_SCHEMA,
    JoinedLog,
    annotations_in,
    made_in,
    partners_in,
)
from feedweir.logs.store import ELEMENT_SCHEMA
from feedweir.match.trees import compile_trees
from feedweir.plan.predicates import PatternNode, TreePattern


def pattern(name: str, variable: str) -> TreePattern:
    return TreePattern(PatternNode("//", name, (), variable))


TREES = compile_trees([pattern("t", "x"), pattern("u", "y")])


def witnesses(documents: Mapping[int, str]) -> WitnessRows:
    return witnesses_of(TREES, list(documents.values()), np.array(list(documents), np.int64))


def bound(rows: WitnessRows) -> set[tuple[int, int, str]]:
    """(document, pattern, value)."""
    tables = rows.tables()
    values = {
        (document, node): value
        for document, node, value in zip(
            tables.value_document.tolist(), tables.value_node.tolist(), tables.values, strict=True
        )
    }
    pairs = zip(tables.document.tolist(), tables.pattern.tolist(), tables.node2.tolist(), strict=True)
    return {(document, number, values[document, node]) for document, number, node in pairs}


def test_witnesses_are_under_the_numbers_of_their_documents() -> None:
    found = witnesses({70: "<a><t>red</t></a>", 50: "<u>blue</u>", 60: "<a/>"})
    assert bound(found) == {(70, 0, "red"), (50, 1, "blue")}
    assert bound(found.of(np.array([50, 60]))) == {(50, 1, "blue")}
    assert bound(found.renamed(np.array([50, 60, 70]), np.array([3, 4, 5]))) == {
        (5, 0, "red"),
        (3, 1, "blue"),
    }


def test_witnesses_of_several_tasks_are_put_together() -> None:
    both = witnesses({1: "<t>a</t>"}).joined(witnesses({2: "<t>b</t>"}))
    assert bound(both) == {(1, 0, "a"), (2, 0, "b")}
    assert bound(WitnessRows.none().joined(both)) == bound(both)


def test_a_document_that_cannot_be_read_has_no_witnesses_and_is_named() -> None:
    found = witnesses({1: "<t>a</t>", 2: "<t", 3: "<t>c</t>"})
    assert bound(found) == {(1, 0, "a"), (3, 0, "c")}
    assert [number for number, _ in found.refused] == [2]


def test_values_are_in_the_order_of_documents_and_nodes_as_the_join_room_reads_them() -> None:
    tables = witnesses({9: "<a><t>z</t><t>y</t></a>", 4: "<t>x</t>"}).tables()
    keys = list(zip(tables.value_document.tolist(), tables.value_node.tolist(), strict=True))
    assert keys == sorted(keys)
    assert tables.document.dtype == np.int32


FIRST = Assignment(after=3, upto=5, version=1, task=0)
SECOND = Assignment(after=3, upto=5, version=1, task=1)
BATCH = Manifest(3, 5, 1, (), (), 0, 0, attempts=(FIRST.name, SECOND.name))


def test_a_shard_reads_what_all_tasks_of_its_batch_wrote_for_it(tmp_path: Path) -> None:
    log = WitnessLog(tmp_path)
    log.write(FIRST, 2, witnesses({1: "<t>a</t>"}))
    log.write(SECOND, 2, witnesses({2: "<t>b</t>"}))
    log.write(SECOND, 6, witnesses({3: "<t>c</t>"}))
    assert bound(log.read(BATCH, 2)) == {(1, 0, "a"), (2, 0, "b")}
    assert bound(log.read(BATCH, 6)) == {(3, 0, "c")}
    assert bound(log.read(BATCH, 7)) == set()


def test_of_several_attempts_only_those_count_that_the_batch_names(tmp_path: Path) -> None:
    log = WitnessLog(tmp_path)
    for attempt, text in (("", "a"), ("5eed", "b"), ("beef", "c")):
        log.write(replace(FIRST, attempt=attempt), 2, witnesses({1: f"<t>{text}</t>"}))
    assert bound(log.read(BATCH, 2)) == {(1, 0, "a")}
    assert bound(log.read(replace(BATCH, attempts=(f"{FIRST.name}-beef",)), 2)) == {(1, 0, "c")}
    assert bound(log.read(replace(BATCH, attempts=()), 2)) == set()


def test_what_a_published_batch_and_those_before_it_wrote_is_removed(tmp_path: Path) -> None:
    log = WitnessLog(tmp_path)
    log.write(FIRST, 2, witnesses({1: "<t>a</t>"}))
    later = Assignment(5, 8, 1)
    log.write(later, 2, witnesses({2: "<t>b</t>"}))
    log.forget(5)
    assert bound(log.read(BATCH, 2)) == set()
    assert bound(log.read(Manifest(5, 8, 1, (), (), 0, 0, attempts=(later.name,)), 2)) == {(2, 0, "b")}


def test_nothing_is_written_where_nothing_is_bound(tmp_path: Path) -> None:
    WitnessLog(tmp_path).write(FIRST, 2, witnesses({1: "<a/>"}))
    assert list(tmp_path.iterdir()) == []


def element_table(pairs: Sequence[tuple[int, int]]) -> pa.Table:
    feeds, seqs = zip(*sorted(pairs), strict=True) if pairs else ((), ())
    return pa.table([pa.array(feeds, pa.int64()), pa.array(seqs, pa.int64())], schema=ELEMENT_SCHEMA)


@settings(max_examples=25)
@given(
    parts=st.lists(
        st.lists(st.tuples(st.sampled_from((-7, -3, 2, 5)), st.integers(0, 9)), unique=True), max_size=4
    )
)
def test_streams_that_no_reader_sees_are_kept_apart_and_read_by_key(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[tuple[int, int]]]
) -> None:
    log = StreamLog(tmp_path_factory.mktemp("streams"))
    for number, part in enumerate(parts):
        shown, hidden = shown_and_hidden(element_table(part))
        assert all(row["feed"] > 0 for row in shown.to_pylist())
        assert shown.num_rows + hidden.num_rows == len(part)
        log.write(FIRST, number, hidden)
    members = log.read(BATCH).members([-7, -3, -1])
    everything = {pair for part in parts for pair in part}
    expected = {key: sorted(seq for own, seq in everything if own == key) for key in (-7, -3)}
    assert {key: seqs.tolist() for key, seqs in members.items()} == {k: s for k, s in expected.items() if s}


def seq_in(segment: int, place: int = 0) -> int:
    return first_seq(document_number(segment, 0)) + place


def published(*batches: tuple[int, int]) -> list[Manifest]:
    return [
        Manifest(
            after,
            upto,
            1,
            (),
            (),
            0,
            0,
            annotation_files=(f"{upto}.parquet",),
            made_files=(f"{upto}.parquet",),
        )
        for after, upto in batches
    ]


def read_all(path: Path, read: Callable[[Path], pa.Table], nothing: pa.Table) -> pa.Table:
    return read(path) if path.exists() else nothing


def annotation_rows(rows: Sequence[tuple[int, int, int, str, int]]) -> pa.Table:
    columns = list(zip(*sorted(rows), strict=True)) or [()] * 5
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, ANNOTATION_SCHEMA, strict=True)],
        schema=ANNOTATION_SCHEMA,
    )


def made_rows(rows: Sequence[tuple[int, int, list[int], str, bool]]) -> pa.Table:
    columns = list(zip(*sorted(rows), strict=True)) or [()] * 5
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, MADE_SCHEMA, strict=True)],
        schema=MADE_SCHEMA,
    )


@pytest.fixture
def log(tmp_path: Path) -> JoinedLog:
    batches = published((0, 4), (4, 6))
    log = JoinedLog(tmp_path, lambda: batches, lambda seqs: {seq: -seq for seq in seqs}, read_all)
    log.write_annotations(
        "4.parquet",
        annotation_rows(
            [
                (7, seq_in(4), 90, "w", seq_in(1)),
                (7, seq_in(4), 90, "v", seq_in(2)),
                (7, seq_in(4, 1), 91, "w", seq_in(1)),
                (8, seq_in(4), 90, "w", seq_in(3)),
            ]
        ),
    )
    log.write_annotations("6.parquet", annotation_rows([(7, seq_in(4), 90, "w", seq_in(6))]))
    log.write_made(
        "4.parquet",
        made_rows(
            [
                (7, seq_in(4), [seq_in(1), seq_in(4)], "<x/>", True),
                (7, seq_in(4), [seq_in(2), seq_in(4)], "", False),
            ]
        ),
    )
    log.write_made(
        "6.parquet",
        made_rows(
            [(9, seq_in(6), [seq_in(6)], "", False), (9, seq_in(6), [seq_in(5), seq_in(6)], "", False)]
        ),
    )
    return log


def test_an_elements_partners_are_those_of_all_batches_in_order(log: JoinedLog) -> None:
    found = log.annotations(7, [seq_in(4), seq_in(4, 1), seq_in(5)])
    assert found == {
        seq_in(4): {"v": (seq_in(2),), "w": (seq_in(1), seq_in(6))},
        seq_in(4, 1): {"w": (seq_in(1),)},
    }
    assert log.annotations(8, [seq_in(4)]) == {seq_in(4): {"w": (seq_in(3),)}}
    assert log.annotations(7, []) == {}


def test_all_wordings_of_an_item_are_found_by_its_key(log: JoinedLog) -> None:
    assert set(log.notes(7, [90])["partner"].to_pylist()) == {seq_in(1), seq_in(2), seq_in(6)}
    assert log.notes(7, [92]).num_rows == 0


def test_who_told_what_an_item_told_again_is_found_from_that_item(log: JoinedLog) -> None:
    assert log.tellers(7, seq_in(1), "w") == (seq_in(4), seq_in(4, 1))
    assert log.tellers(7, seq_in(1), "v") == ()


def test_an_item_is_with_its_partners_on_whichever_side_and_with_what_was_made_of_it(log: JoinedLog) -> None:
    assert log.partners(7, seq_in(1)) == tuple(sorted([seq_in(4), seq_in(4, 1)]))
    assert log.partners(7, seq_in(4)) == tuple(sorted([seq_in(1), seq_in(2), seq_in(6)]))
    assert log.partners(9, seq_in(6)) == (seq_in(5),)
    assert log.partners(9, seq_in(5)) == (seq_in(6),)


def test_the_documents_of_an_element_are_read_from_the_batch_that_brought_it(log: JoinedLog) -> None:
    found = log.made(7, [seq_in(4)])
    assert found == {
        seq_in(4): (
            Construction((seq_in(1), seq_in(4)), "<x/>", is_selected=True),
            Construction((seq_in(2), seq_in(4))),
        )
    }
    assert log.made(7, [seq_in(6)]) == {}
    made_of = {one.made_of for one in log.made(9, [seq_in(6)])[seq_in(6)]}
    assert made_of == {(seq_in(6),), (seq_in(5), seq_in(6))}


def test_tables_of_several_batches_are_sorted_together(log: JoinedLog) -> None:
    annotations = log.annotation_table(published((0, 4), (4, 6)))
    rows = [tuple(row.values()) for row in annotations.to_pylist()]
    assert rows == sorted(rows)
    assert len(rows) == 5
    assert log.made_table(published((0, 4), (4, 6)))["feed"].to_pylist() == [7, 7, 9, 9]


def test_an_older_file_without_the_keys_of_items_is_read_with_them(log: JoinedLog) -> None:
    older = annotation_rows([(7, seq_in(4), 0, "w", seq_in(3))]).drop_columns(["item"])
    log.write_annotations("6.parquet", older)
    assert log.notes(7, [-seq_in(4)])["partner"].to_pylist() == [seq_in(3)]


def test_partners_do_not_repeat_and_an_item_is_not_its_own() -> None:
    noted = annotation_rows([(7, 5, 0, "w", 3), (7, 5, 0, "v", 3), (7, 6, 0, "w", 5)])
    made = made_rows([(7, 9, [5, 9], "", False), (7, 8, [4, 8], "", False)])
    assert partners_in(noted, made, 5) == (3, 6, 9)
    assert partners_in(noted, made, 77) == ()


def test_a_document_that_two_shards_made_is_one() -> None:
    rows = made_rows([(7, 9, [5, 9], "", False), (7, 9, [5, 9], "", False), (7, 9, [4, 9], "", False)])
    assert made_in(rows) == {9: (Construction((4, 9)), Construction((5, 9)))}


def test_partners_stand_under_their_join() -> None:
    assert annotations_in(annotation_rows([(7, 5, 0, "v", 3), (7, 5, 0, "w", 3), (7, 5, 0, "w", 4)])) == {
        5: {"v": (3,), "w": (3, 4)}
    }


def sealed(path: Path, table: pa.Table) -> None:
    replace_arrow(path, table)


def test_the_oldest_item_that_joins_remember_is_found_wherever_it_is(tmp_path: Path) -> None:
    assert oldest_remembered(tmp_path) == 0
    sealed(tmp_path / "3" / "level0" / "a.documents.arrow", pa.table({"seq": [50, 60], "number": [0, 1]}))
    assert oldest_remembered(tmp_path) == 50
    sealed(tmp_path / "4" / "windows" / "segments" / "b.arrow", pa.table({"seq": [40]}))
    assert oldest_remembered(tmp_path) == 40
    sealed(tmp_path / "3" / "level0" / "a.derived.arrow", pa.table({"number": [1], "items": [[30, 60]]}))
    assert oldest_remembered(tmp_path) == 30
    state = tmp_path / "3" / "state-000000000001.json"
    state.write_bytes(
        seals.sealed_json({"note": {"parts": [[-1, [20, 30], "", False]]}}, seals.name_of(state))
    )
    assert oldest_remembered(tmp_path) == 20


def test_constructed_documents_have_no_numbers_of_their_own(tmp_path: Path) -> None:
    sealed(tmp_path / "3" / "level0" / "a.derived.arrow", pa.table({"number": [1], "items": [[-5, 60]]}))
    sealed(tmp_path / "3" / "level0" / "a.rows.arrow", pa.table({"value": [1]}))
    assert oldest_remembered(tmp_path) == 60


def test_a_damaged_file_may_be_made_again_from_everything(tmp_path: Path) -> None:
    sealed(tmp_path / "3" / "level0" / "a.documents.arrow", pa.table({"seq": [50]}))
    (tmp_path / "3" / "level0" / "b.documents.arrow").write_bytes(b"damaged")
    assert oldest_remembered(tmp_path) == 1
    (tmp_path / "3" / "level0" / "b.documents.arrow").unlink()
    (tmp_path / "3" / "state-000000000001.json").write_text("{")
    assert oldest_remembered(tmp_path) == 1


def test_drafts_are_nobodys_memory(tmp_path: Path) -> None:
    sealed(tmp_path / "3" / "level0" / ".a.documents.arrow.77", pa.table({"seq": [5]}))
    (tmp_path / "3" / "level0" / ".a.documents.arrow.77").rename(tmp_path / "3" / "level0" / ".a.arrow")
    assert oldest_remembered(tmp_path) == 0
