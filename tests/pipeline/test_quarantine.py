"""A document that stops whoever reads it is quarantined: its batch goes on without it, the same whenever it is run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE, Allowance
from feedweir.acquire.parse.parse_process import ParseProcess, parse_process
from feedweir.errors import LandingError
from feedweir.logs.landing import Landed
from feedweir.logs.seals import read_json
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.quarantine import Quarantine
from feedweir.service.installation import Weir
from tests.acquire.test_parse_process import HOSTILE, SHORT, rss
from tests.engines import NOON, open_weir

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
    LocalRunner(weir.directory, weir.commit, parser=parser, tasks=2).run_available()


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
        assert failure.reason == f"document {record.number} is quarantined: {record.reason}"


def test_what_was_quarantined_stays_so_when_the_batch_is_run_again(
    tmp_path: Path, hostile: ParseProcess
) -> None:
    """The second time nothing would be wrong with it."""
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("one")), ("Wild", rss("exit")), ("Wild", rss("two")))
        run(weir, hostile)
        (manifest,) = weir.store.manifests()
        items = weir.store.item_table([manifest])
        for name in ("items", "elements", "batches", "seen"):
            shutil.rmtree(tmp_path / name)
        run(weir, parse_process(DEFAULT_ALLOWANCE))
        (again,) = weir.store.manifests()
        assert weir.store.item_table([again]).equals(items)
        assert again.sources == manifest.sources
        assert titles(weir) == ["one", "two"]


def test_a_document_is_tried_again_by_landing_it_anew(tmp_path: Path, hostile: ParseProcess) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")))
        run(weir, hostile)
        (record,) = weir.quarantine.waiting()
        assert weir.retry_quarantined(record.number) == 2
        assert not weir.quarantine.waiting()
        run(weir, parse_process(DEFAULT_ALLOWANCE))
        assert titles(weir) == ["exit"]


def test_what_is_tried_again_in_vain_is_quarantined_again(tmp_path: Path, hostile: ParseProcess) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")))
        run(weir, hostile)
        weir.retry_quarantined(weir.quarantine.waiting()[0].number)
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


def test_a_document_that_is_not_quarantined_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="document 7 is not quarantined"):
        Quarantine(tmp_path).record(7)


DAMAGES = (b"", b'{"num', b"[1]", b'{"number": 65536}', b"\xff\xfe")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_told_by_its_name_and_holds_nobody_up(
    tmp_path: Path, hostile: ParseProcess, damage: bytes
) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")), ("Calm", rss("one")))
        run(weir, hostile)
        path = tmp_path / "quarantine" / "65536.json"
        before = path.read_bytes()
        path.write_bytes(damage)
        assert list(weir.damages()) == ["quarantine/65536.json"]
        (record,) = weir.quarantine.waiting()
        assert (record.number, record.reason.partition(":")[0]) == (65536, "its record 65536.json is damaged")
        land(weir, ("Wild", rss("two")))
        run(weir, hostile)
        assert titles(weir) == ["one", "two"]
        repaired = weir.repair_logs()
        assert (repaired.made, repaired.left) == (("quarantine/65536.json",), {})
        told, again = read_json(path), json.loads(before)
        assert {name: told[name] for name in ("source", "size", "reason", "state")} == {
            name: again[name] for name in ("source", "size", "reason", "state")
        }


def test_a_changed_letter_in_a_record_is_damage(tmp_path: Path, hostile: ParseProcess) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")))
        run(weir, hostile)
        path = tmp_path / "quarantine" / "65536.json"
        path.write_bytes(path.read_bytes().replace(b"Wild", b"Mild"))
        assert weir.damages() == {"quarantine/65536.json": "its checksum is wrong"}


def test_the_batch_of_a_document_whose_record_is_damaged_is_run_again_without_it(
    tmp_path: Path, hostile: ParseProcess
) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, ("Wild", rss("exit")), ("Calm", rss("one")))
        run(weir, hostile)
        (tmp_path / "quarantine" / "65536.json").write_bytes(b"{")
        for name in ("items", "elements", "batches", "seen"):
            shutil.rmtree(tmp_path / name)
        run(weir, parse_process(DEFAULT_ALLOWANCE))
        assert titles(weir) == ["one"]
        failure = weir.store.manifests()[0].sources["Wild"].failure
        assert failure.startswith("document 65536 is quarantined: its record 65536.json is damaged")


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
