"""A document that stops whoever reads it is set aside: its batch goes on without it, the same whenever it is run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from feedweir.acquire.allowance import DEFAULT_ALLOWANCE, Allowance
from feedweir.acquire.landing import Landed
from feedweir.acquire.parse_process import ParseProcess, parse_process
from feedweir.engine.quarantine import Quarantine
from feedweir.engine.runner import Runner
from feedweir.errors import LandingError
from feedweir.keeper.weir import Weir
from tests.acquire.test_parse_process import HOSTILE, SHORT, rss
from tests.engine.engines import NOON, open_weir

STATEMENTS = """
register feed https://example.org/a as Calm;
register feed https://example.org/b as Wild;
create feed All from Calm | Wild;
"""


@pytest.fixture(scope="module")
def hostile() -> Iterator[ParseProcess]:
    process = ParseProcess(SHORT, HOSTILE)
    yield process
    process.end()


def land(weir: Weir, *documents: tuple[str, bytes]) -> None:
    weir.log.append([Landed(source=source, arrived=NOON, body=body) for source, body in documents])


def run(weir: Weir, parser: ParseProcess) -> None:
    weir.refresh_set()
    Runner(weir.directory, weir.commit, parser=parser, tasks=2).run_available()


def titles(weir: Weir, feed: str = "All") -> list[str]:
    return sorted(item.title for item in weir.items(feed))


@pytest.mark.parametrize("title", ["hang", "exit", "hoard"])
def test_the_batch_goes_on_without_a_document_that_is_too_much(
    tmp_path: Path, hostile: ParseProcess, title: str
) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Calm", rss("one")), ("Wild", rss(title)), ("Wild", rss("two")))
        run(weir, hostile)
        assert titles(weir) == ["one", "two"]
        (record,) = weir.quarantine.waiting()
        assert (record.source, record.size, record.number) == ("Wild", len(rss(title)), (1 << 16) + 1)
        (failure,) = weir.catalog.failures.of("source", "Wild")
        assert failure.reason == f"document {record.number} was set aside: {record.reason}"


def test_what_was_set_aside_stays_so_when_the_batch_is_run_again(
    tmp_path: Path, hostile: ParseProcess
) -> None:
    """The second time nothing would be wrong with it."""
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("one")), ("Wild", rss("exit")), ("Wild", rss("two")))
        run(weir, hostile)
        items = {path.name: path.read_bytes() for path in (tmp_path / "items").iterdir()}
        manifest = (tmp_path / "batches" / "000000000001.json").read_bytes()
        for name in ("items", "elements", "batches", "seen"):
            shutil.rmtree(tmp_path / name)
        run(weir, parse_process(DEFAULT_ALLOWANCE))
        assert {path.name: path.read_bytes() for path in (tmp_path / "items").iterdir()} == items
        assert (tmp_path / "batches" / "000000000001.json").read_bytes() == manifest
        assert titles(weir) == ["one", "two"]


def test_a_document_is_tried_again_by_landing_it_anew(tmp_path: Path, hostile: ParseProcess) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")))
        run(weir, hostile)
        (record,) = weir.quarantine.waiting()
        assert weir.retry_set_aside(record.number) == 2
        assert not weir.quarantine.waiting()
        run(weir, parse_process(DEFAULT_ALLOWANCE))
        assert titles(weir) == ["exit"]


def test_what_is_tried_again_in_vain_is_set_aside_again(tmp_path: Path, hostile: ParseProcess) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")))
        run(weir, hostile)
        weir.retry_set_aside(weir.quarantine.waiting()[0].number)
        run(weir, hostile)
        (record,) = weir.quarantine.waiting()
        assert record.number == 2 << 16
        weir.quarantine.settle(record.number, "dropped")
        assert not weir.quarantine.waiting()
        assert weir.quarantine.numbers() == {1 << 16, 2 << 16}


def test_a_source_that_was_dropped_holds_nobody_up(tmp_path: Path, hostile: ParseProcess) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("hang")), ("Calm", rss("one")))
        weir.execute("drop feed All; drop feed Wild; create feed Rest from Calm")
        run(weir, hostile)
        assert titles(weir, "Rest") == ["one"]


def test_a_document_that_is_not_set_aside_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="document 7 is not set aside"):
        Quarantine(tmp_path).record(7)


def many(count: int) -> bytes:
    items: Sequence[str] = [f"<item><title>{n} and more</title></item>" for n in range(count)]
    return f"<rss version='2.0'><channel>{''.join(items)}</channel></rss>".encode()


def test_on_spark_the_batch_goes_on_as_well(spark: SparkSession, tmp_path: Path) -> None:
    """A long document is too much for a short time, and needs no other parser."""
    from feedweir.spark.pipeline import start_pipeline

    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        land(weir, ("Wild", many(9_000)), ("Wild", rss("two")), ("Calm", rss("one")))
        allowance = Allowance(seconds=0.02, seconds_per_megabyte=0)
        query = start_pipeline(spark, weir.directory, weir.commit, tasks=2, allowance=allowance)
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        assert titles(weir) == ["one", "two"]
        (record,) = weir.quarantine.waiting()
        assert record.reason == "it takes more than 0.02 seconds to read"
