"""The programs and the ten questions of `docs/tables.md`, run as they stand over a small installation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from feedweir.catalog import EntryOutcome
from feedweir.service.installation import Weir
from feedweir.tables.table_kinds import TABLES
from tests.tables.test_open_tables import NOON, STATEMENTS, document

GUIDE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
QUESTIONS = re.findall(r"^(\w[^\n]*\?)\n\n```sql\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)
IN_SPARK = ("date_diff('second', published, arrived)", "unix_timestamp(arrived) - unix_timestamp(published)")
DATES = "<pubDate>Mon, 01 Jun 2026 10:00:00 GMT</pubDate>"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weir]:
    """An edit, a join, a document that cannot be read, and one delivery that was sent."""
    with Weir.open(tmp_path_factory.mktemp("guide"), clock=lambda: NOON) as weir:
        weir.execute(STATEMENTS)
        for source, body in (
            ("A", document(1, 2)),
            ("B", document(11)),
            ("A", document(1, word="broad river").replace(b"<author>", f"{DATES}<author>".encode())),
            ("B", b"no feed at all"),
            ("A", document(3).replace(b"<author>", f"{DATES}<author>".encode())),
        ):
            weir.push(source, body)
            weir.run()
        entries = weir.catalog.outbox.claim(100, worker="w", now=NOON, lease_s=60)
        weir.catalog.outbox.settle(
            [EntryOutcome(id=one.id, state="sent") for one in entries], worker="w", now=NOON
        )
        weir.tidy()
        yield weir


def test_every_table_and_column_is_described(house: Weir) -> None:
    columns = GUIDE.split("## Columns")[1].split("## Ten questions")[0]
    for kind in TABLES.values():
        (said,) = re.findall(rf"^`{kind.name}`: (.*?)\n\n", columns, re.DOTALL | re.MULTILINE)
        assert set(kind.schema.names) <= {*re.findall(r"`(\w+)`", said)}, kind.name
        assert f"| `{kind.place(Path('.'))}` |" in GUIDE


def test_the_programs_run(spark: SparkSession, house: Weir, tmp_path: Path) -> None:
    assert len(PROGRAMS) == 4
    for program in PROGRAMS:
        for place in ("water", "checkpoint"):
            program = program.replace(f'"{place}"', f'"{tmp_path / place}"')
        exec(program.replace("/srv/feedweir", str(house.directory.root)), {"spark": spark})
    water = next(one.id for one in house.catalog.feeds.all() if one.name == "Water")
    assert water == 3, "as the guide has it"
    found = spark.read.parquet(str(tmp_path / "water")).collect()
    assert sorted(row.seq for row in found) == sorted(house.store.seqs(water).tolist())


def test_both_engines_answer_the_ten_questions_alike(spark: SparkSession, house: Weir) -> None:
    assert len(QUESTIONS) == 10
    answers: dict[str, list[tuple[object, ...]]] = {}
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for kind in TABLES.values():
            data = DeltaTable(kind.place(house.directory.root)).to_pyarrow_dataset()
            connection.register(kind.name, data)
            frame = spark.read.format("feedweir").option("table", kind.name).load(str(house.directory.root))
            frame.createOrReplaceTempView(kind.name)
        for question, sql in QUESTIONS:
            answers[question] = connection.sql(sql).fetchall()
            by_spark = [tuple(row) for row in spark.sql(sql.replace(*IN_SPARK)).collect()]
            wanted = [tuple(map(plain, row)) for row in answers[question]]
            assert [tuple(map(plain, row)) for row in by_spark] == wanted, question
    assert all(answers.values()), "a question without an answer says little"
    assert ("Water", 5) in answers["Which feeds have most items?"]
    assert answers["Which sources fail?"][0][:2] == ("B", 1)
    assert [row[2] for row in answers["How does an item read now, after all its edits?"]] == [
        "The broad river at 1"
    ]


def plain(value: object) -> object:
    """Moments without their zone, numbers as they are shown."""
    if hasattr(value, "isoformat"):
        return value.isoformat()[:19]
    return float(value) if isinstance(value, (int, float)) else value
