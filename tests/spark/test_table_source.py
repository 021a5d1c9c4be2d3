"""The tables as a Spark source: the rows of the engine, in batch and in streams, whatever is merged meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from feedweir.pipeline.compaction import FAN_IN
from feedweir.service.installation import Weir
from feedweir.tables.table_kinds import ANNOTATIONS, ELEMENTS, ITEMS, TABLES
from tests.tables.readers import by_engine
from tests.tables.test_open_tables import NOON, STATEMENTS, batch


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weir]:
    with Weir.open(tmp_path_factory.mktemp("house"), clock=lambda: NOON) as weir:
        weir.execute(STATEMENTS)
        weir.refresh_set()
        for number in range(5):
            batch(weir, number)
        weir.tidy()
        yield weir


def table(spark: SparkSession, weir: Weir, name: str, **options: object) -> DataFrame:
    reader = spark.read.format("feedweir").option("table", name).options(**options)  # type: ignore[arg-type]
    return reader.load(str(weir.directory.root))


def test_every_table_has_the_rows_of_the_engine(spark: SparkSession, house: Weir) -> None:
    for kind in (ITEMS, ELEMENTS, ANNOTATIONS):
        found = [tuple(row) for row in table(spark, house, kind.name).collect()]
        wanted = by_engine(kind, house.directory.root)
        assert len(found) == wanted.num_rows > 0
        place = wanted.schema.names.index("seq")
        assert sorted(row[place] for row in found) == sorted(wanted["seq"].to_pylist())
    item = table(spark, house, "items").orderBy("seq").first()
    assert item is not None
    first = by_engine(ITEMS, house.directory.root).slice(0, 1).to_pylist()[0]
    assert (item.title, item.authors, item.revision) == (first["title"], first["authors"], first["revision"])
    assert item.arrived.astimezone(UTC) == first["arrived"]
    assert table(spark, house, "batches").count() == 5
    assert table(spark, house, "deliveries").collect() == [], "nothing was sent yet"


def test_one_data_frame_can_be_scanned_twice_with_other_filters(spark: SparkSession, house: Weir) -> None:
    elements = table(spark, house, "elements")
    feeds = [row.feed for row in elements.select("feed").distinct().orderBy("feed").collect()]
    counts = [elements.where(col("feed") == feed).count() for feed in feeds]
    assert sum(counts) == elements.count()
    one, other = (elements.where(col("feed") == feed) for feed in feeds[:2])
    assert one.union(other).count() == counts[0] + counts[1]
    seqs = {row.seq for row in one.join(other, "seq").collect()}
    assert seqs == {row.seq for row in one.collect()} & {row.seq for row in other.collect()}


def test_options_read_less(spark: SparkSession, house: Weir) -> None:
    (water,) = (one.id for one in house.catalog.feeds.all() if one.name == "Water")
    found = table(spark, house, "elements", feed=water, after=3, columns="seq")
    assert found.columns == ["seq"]
    wanted = [seq for seq in house.store.seqs(water).tolist() if seq >> 32 > 3]
    assert sorted(row.seq for row in found.collect()) == sorted(wanted)
    assert len(wanted) == 4


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"table": "item"}, "there is no table item.*did you mean `items`"),
        ({"table": "items", "columns": "seq, titel"}, "no column titel.*did you mean `title`"),
        ({"table": "items", "after": "noon"}, "option after: 'noon' is not a number"),
        ({"table": "items", "feed": "3"}, "items has no column feed"),
    ],
)
def test_what_is_not_there_is_said(
    spark: SparkSession, house: Weir, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(Exception, match=f"(?s){reason}"):
        spark.read.format("feedweir").options(**options).load(str(house.directory.root)).count()


def test_what_feeds_are_called_is_read_whole(spark: SparkSession, house: Weir) -> None:
    assert {row.name for row in table(spark, house, "feeds").collect()} == {"A", "B", "Water", "Near", "Once"}
    stream = spark.readStream.format("feedweir").option("table", "feeds").load(str(house.directory.root))
    query = stream.writeStream.format("noop").trigger(availableNow=True).start()
    with pytest.raises(Exception, match="table feeds is no stream"):
        query.awaitTermination()


def test_a_place_that_is_no_installation_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not an installation"):
        spark.read.format("feedweir").load(str(tmp_path)).count()


def test_a_stream_goes_on_where_it_rested_and_sees_every_row_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def collected(frame: DataFrame, _: int) -> None:
        seen.extend((row.feed, row.seq) for row in frame.collect())

    with Weir.open(tmp_path / "house", clock=lambda: datetime(2026, 6, 1, tzinfo=UTC)) as weir:
        weir.execute(STATEMENTS)
        weir.refresh_set()
        numbers = iter(range(100))
        for many in (1, FAN_IN + 2, 3):
            for number in islice(numbers, many):
                batch(weir, number)
            weir.tidy()
            stream = (
                spark.readStream.format("feedweir").option("table", "elements").load(str(tmp_path / "house"))
            )
            query = (
                stream.writeStream.foreachBatch(collected)
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            wanted = by_engine(ELEMENTS, tmp_path / "house")
            assert sorted(seen) == sorted(zip(*wanted.to_pydict().values(), strict=True))
        assert len(weir.store.manifests()) < weir.store.latest(), "batches were merged between"


def test_all_tables_have_a_schema_before_anything_was_published(spark: SparkSession, tmp_path: Path) -> None:
    with Weir.open(tmp_path) as weir:
        weir.push(*register(weir))
        for name in TABLES:
            assert table(spark, weir, name).count() == 0


def register(weir: Weir) -> tuple[str, bytes]:
    weir.execute("register feed https://a.example/feed as A")
    return "A", b"<rss/>"
