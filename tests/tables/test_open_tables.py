"""The logs as Delta tables: always what was published, whoever died, merged, deleted or meddled in between."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from feedweir.catalog import EntryOutcome
from feedweir.logs.files import open_arrow, replace_arrow
from feedweir.logs.sorted_files import open_sorted
from feedweir.pipeline.compaction import FAN_IN, compact
from feedweir.pipeline.conversion import convert_older
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.retention import Retention, bound_of
from feedweir.service.installation import Weir
from feedweir.service.table_loop import TableLoop
from feedweir.tables.delta_table import APP
from feedweir.tables.open_tables import OpenTables
from feedweir.tables.table_kinds import BATCHES, DELIVERIES, ELEMENTS, FEEDS, ITEMS, SOURCES, TABLES
from tests.tables.readers import assert_equal, by_deltalake, by_engine, rows_of

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
    register feed https://a.example/feed as A;
    register feed https://b.example/feed as B;
    create feed Water from * where title contains 'river';
    create feed Near from A as $a join last 1 day on B as $b with $a[author = window.author];
    create feed Once from distinct last 1 day *;
    subscribe to Water output mail 'ann@example.org';
"""


def document(*numbers: int, word: str = "river") -> bytes:
    items = "".join(
        f"<item><guid>{one}</guid><author>ann</author><title>The {word} at {one % 5}</title></item>"
        for one in numbers
    )
    return f"<rss version='2.0'><channel><title>Post</title>{items}</channel></rss>".encode()


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: NOON) as opened:
        opened.execute(STATEMENTS)
        opened.refresh_set()
        yield opened


def batch(weir: Weir, number: int) -> None:
    """A batch, published and committed, which the tables do not know of."""
    weir.push("A" if number % 2 else "B", document(2 * number, 2 * number + 1))
    LocalRunner(weir.directory, weir.commit).run_available()


def commits(place: Path) -> list[dict[str, Any]]:
    """The actions of a table's log, oldest first."""
    logs = sorted((place / "_delta_log").glob("*.json"))
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def version(weir: Weir, name: str = "elements") -> int:
    return DeltaTable(weir.directory.root / name).version()


def test_all_readers_find_what_was_published_and_a_repeat_is_nothing(weir: Weir) -> None:
    for number in range(4):
        batch(weir, number)
    weir.push("A", document(1, word="brook"))  # an edit
    LocalRunner(weir.directory, weir.commit).run_available()
    assert not (weir.directory.root / "items" / "_delta_log").exists()
    weir.follow_tables()
    assert assert_equal(weir.directory.root) > 30
    before = version(weir)
    weir.follow_tables()
    OpenTables(weir.directory.root, weir.store, weir.catalog).follow()
    assert version(weir) == before
    assert DeltaTable(weir.directory.root / "items").transaction_version(APP) == weir.store.latest() == 5


def test_filters_on_any_column_find_what_they_ask_for(weir: Weir) -> None:
    for number in range(3):
        batch(weir, number)
    weir.tidy()
    for kind in TABLES.values():
        data = DeltaTable(kind.place(weir.directory.root)).to_pyarrow_dataset()
        rows = data.to_table()
        for field in kind.schema:
            if rows.num_rows and not pa.types.is_nested(field.type):
                value = rows[field.name][0]
                if value.is_valid:
                    wanted = pc.sum(pc.equal(rows[field.name], value)).as_py()
                    found = data.count_rows(filter=pc.field(field.name) == value)
                    assert found == wanted > 0, (kind.name, field.name)


def test_whoever_stops_anywhere_the_next_catches_up_and_streams_see_every_row_once(weir: Weir) -> None:
    for number in range(3 * FAN_IN):
        batch(weir, number)
        if number % 3 == 0:
            weir.follow_tables()
        if number % FAN_IN == FAN_IN - 1:
            OpenTables(weir.directory.root, weir.store, weir.catalog).follow()  # another process
            compact(weir.store)
    assert len(weir.store.manifests()) < 12
    weir.follow_tables()
    assert_equal(weir.directory.root)
    for kind in (ITEMS, ELEMENTS):
        place = kind.place(weir.directory.root)
        added = [one["add"] for one in commits(place) if "add" in one and one["add"]["dataChange"]]
        told = sum(json.loads(one["stats"])["numRecords"] for one in added)
        assert told == by_engine(kind, weir.directory.root).num_rows, "as a reader of changes sees it"
        removed = [one["remove"] for one in commits(place) if "remove" in one]
        assert removed
        assert not any(one["dataChange"] for one in removed), "a merge changes no row"


def test_a_merge_that_the_tables_did_not_see_coming_loses_nothing(weir: Weir) -> None:
    batch(weir, 0)
    weir.follow_tables()
    for number in range(1, FAN_IN + 1):
        batch(weir, number)
    compact(weir.store)
    weir.follow_tables()
    assert_equal(weir.directory.root)


def test_who_began_to_read_before_a_merge_can_go_on(weir: Weir) -> None:
    for number in range(FAN_IN + 1):
        batch(weir, number)
    weir.follow_tables()
    opened = DeltaTable(weir.directory.root / "elements")
    wanted = rows_of(by_engine(ELEMENTS, weir.directory.root), ELEMENTS)
    weir.tidy()
    assert version(weir) > opened.version()
    assert rows_of(opened.to_pyarrow_table(), ELEMENTS) == wanted
    weir.store.remove_leftovers(datetime.now(UTC) + timedelta(hours=2))
    assert_equal(weir.directory.root)
    files = {path.name for path in (weir.directory.root / "elements").glob("*.parquet")}
    assert len(files) == len(DeltaTable(weir.directory.root / "elements").file_uris())


def test_what_others_did_to_a_table_is_undone_and_told(weir: Weir, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        batch(weir, number)
    weir.follow_tables()
    items, elements = (DeltaTable(weir.directory.root / name) for name in ("items", "elements"))
    items.delete("source = 'A'")
    elements.optimize.compact()
    write_deltalake(elements, pa.table({"feed": [9], "seq": [9]}), mode="append")
    with caplog.at_level(logging.WARNING):
        weir.tidy()
    for table in (items, elements):
        table.update_incremental()
        table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    assert weir.damages() == {}
    assert_equal(weir.directory.root)
    told = [one.getMessage() for one in caplog.records if "was changed by others" in one.getMessage()]
    assert {one.split()[1] for one in told} == {"items", "elements"}


def test_files_that_others_deleted_are_named_and_made_again(weir: Weir) -> None:
    for number in range(3):
        batch(weir, number)
    weir.follow_tables()
    elements = DeltaTable(weir.directory.root / "elements")
    elements.delete()
    elements.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    batch(weir, 3)
    OpenTables(weir.directory.root, weir.store, weir.catalog).follow()
    assert_equal(weir.directory.root)
    lost = {one for one in weir.damages() if one.startswith("elements/")}
    assert len(lost) > 2
    assert lost <= {*weir.repair_logs().made}
    OpenTables(weir.directory.root, weir.store, weir.catalog).follow()
    assert weir.damages() == {}
    assert assert_equal(weir.directory.root) > 20


def test_a_log_that_was_damaged_or_deleted_is_made_anew(weir: Weir, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        batch(weir, number)
    weir.follow_tables()
    for path in (weir.directory.root / "items" / "_delta_log").glob("*.json"):
        path.write_text("no log")
    for path in (weir.directory.root / "elements" / "_delta_log").iterdir():
        path.unlink()
    OpenTables(weir.directory.root, weir.store, weir.catalog).follow()
    assert_equal(weir.directory.root)
    assert "the log of table items cannot be read and is made anew" in caplog.text


def test_what_expires_leaves_the_tables(tmp_path: Path) -> None:
    now = [NOON]
    kept = Retention(items=bound_of("3 days"))
    with Weir.open(tmp_path, clock=lambda: now[0], retention=kept) as weir:
        weir.execute("; ".join(STATEMENTS.split(";")[:3]))
        for day in range(9):
            now[0] = NOON + timedelta(days=day)
            weir.push("B", document(day))
            weir.run()
        rows = by_deltalake(ITEMS, tmp_path)
        assert 3 <= rows.num_rows < 9
        assert pc.min(rows["arrived"]).as_py() >= NOON + timedelta(days=4)
        assert_equal(tmp_path)
        changes = [one["remove"]["dataChange"] for one in commits(tmp_path / "items") if "remove" in one]
        assert any(changes)


def test_batches_sources_and_deliveries_have_a_row_for_each(weir: Weir) -> None:
    for number in range(20):
        weir.push("A" if number % 2 else "B", document(2 * number, 2 * number + 1))
        weir.run()
        entries = weir.catalog.outbox.claim(100, worker="w", now=NOON, lease_s=60)
        outcomes = [EntryOutcome(id=one.id, state="sent") for one in entries]
        weir.catalog.outbox.settle(outcomes, worker="w", now=NOON)
    weir.tidy()
    root = weir.directory.root
    batches = by_deltalake(BATCHES, root).sort_by("batch")
    assert batches["batch"].to_pylist() == list(range(1, 21))
    assert batches["items"].to_pylist() == [2] * 20
    assert batches["committed"].to_pylist() == [NOON] * 20
    sources = by_deltalake(SOURCES, root).sort_by("batch").to_pylist()
    assert [(one["source"], one["items"], one["title"]) for one in sources] == [
        ("B", 2, "Post"),
        ("A", 2, "Post"),
    ] * 10
    deliveries = by_deltalake(DELIVERIES, root).sort_by("id").to_pylist()
    assert [one["id"] for one in deliveries] == list(range(1, 37)), "what a first document brings is history"
    assert {one["outcome"] for one in deliveries} == {"sent"}
    seqs = sorted(by_engine(ITEMS, root)["seq"].to_pylist())
    assert sorted(one["seq"] for one in deliveries) == seqs[4:]
    assert len(DeltaTable(root / "tables" / "batches").file_uris()) < 20, "small files are merged"


def test_feeds_have_the_names_of_today_and_keep_those_of_dropped_ones(weir: Weir) -> None:
    batch(weir, 0)
    weir.follow_tables()
    weir.execute("create feed Sea from A; create feed Calm from B")
    (sea, calm) = (weir.catalog.feeds.named(name).id for name in ("Sea", "Calm"))
    weir.tidy()
    weir.execute("alter feed Sea rename to Ocean; drop feed Calm")
    weir.tidy()
    rows = {one["feed"]: one for one in by_deltalake(FEEDS, weir.directory.root).to_pylist()}
    assert (rows[sea]["name"], rows[sea]["dropped"]) == ("Ocean", False)
    assert (rows[calm]["name"], rows[calm]["dropped"]) == ("Calm", True)
    assert len(rows) == 7


def test_logs_of_an_older_version_become_tables(weir: Weir) -> None:
    for number in range(4):
        batch(weir, number)
    wanted = {kind.name: rows_of(by_engine(kind, weir.directory.root), kind) for kind in (ELEMENTS, ITEMS)}
    root = weir.directory.root
    for manifest in weir.store.manifests():
        plain = manifest.to_json()
        for name in ("element", "annotation", "made"):
            folder = {"element": "elements", "annotation": "annotations"}.get(name, name)
            key = f"{name}_files"
            for one in plain[key]:
                replace_arrow(
                    root / folder / one.replace(".parquet", ".arrow"),
                    open_sorted(root / folder / one).table(),
                )
                (root / folder / one).unlink()
            plain[key] = [one.replace(".parquet", ".arrow") for one in plain[key]]
        weir.store.rewrite(manifest, type(manifest).from_json(plain))
    assert open_arrow(next((root / "elements").glob("*.arrow"))).num_rows
    weir.tidy()
    assert convert_older(weir.store) == 0
    assert_equal(root)
    for kind in (ELEMENTS, ITEMS):
        assert rows_of(by_deltalake(kind, root), kind) == wanted[kind.name]


def test_a_loop_follows_what_was_published_before_it_ended(weir: Weir) -> None:
    loop = TableLoop(weir)
    loop.start()
    batch(weir, 0)
    loop.wake()
    loop.stop()
    assert loop.trouble() is None
    assert_equal(weir.directory.root)


def test_whoever_wants_no_tables_gets_none(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON, tables=False) as weir:
        weir.execute(STATEMENTS)
        weir.push("A", document(1))
        weir.run()
        assert not list(tmp_path.rglob("_delta_log"))
