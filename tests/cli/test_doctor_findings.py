"""What `doctor` finds and mends, and documents that wait for a person to decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from feedweir import Weir
from feedweir.acquire.parse.parse_process import ParseProcess
from feedweir.catalog import Failure
from feedweir.pipeline.local_runner import LocalRunner
from tests.acquire.test_parse_process import HOSTILE, SHORT, rss
from tests.cli.test_commands import Shell


def findings(newsroom: Shell, *options: str, code: int = 0) -> dict[str, tuple[str, str]]:
    assert newsroom("doctor", "--json", *options) == code
    return {row["check"]: (row["result"], row["detail"]) for row in json.loads(newsroom.said)}


def damaged(data: Path, log: str) -> str:
    path = sorted((data / log).glob("[0-9]*"))[0]
    path.write_bytes(path.read_bytes()[:-20])
    return f"{log}/{path.name}"


def test_a_healthy_installation_is_ok_in_every_point(newsroom: Shell) -> None:
    assert {result for result, _ in findings(newsroom).values()} == {"ok"}


@pytest.mark.parametrize("log", ["items", "elements", "seen"])
def test_damaged_logs_are_told_and_made_again(newsroom: Shell, tmp_path: Path, log: str) -> None:
    name = damaged(tmp_path / "data", log)
    result, detail = findings(newsroom, code=4)["logs"]
    assert (result, name in detail) == ("damaged", True)
    assert findings(newsroom, "--repair")["repair"] == ("ok", f"{name} was rebuilt")
    assert {result for result, _ in findings(newsroom).values()} == {"ok"}
    assert newsroom("items", "Water", "--json") == 0
    assert len(json.loads(newsroom.said)) == 2


def test_a_landing_segment_that_is_lost_is_told_as_lost(newsroom: Shell, tmp_path: Path) -> None:
    name = damaged(tmp_path / "data", "landing")
    found = findings(newsroom, "--repair", code=4)
    assert found["repair"][0] == "lost"
    assert name in found["repair"][1]
    assert found["logs"][0] == "ok"
    assert findings(newsroom)["logs"][0] == "ok"


def test_nothing_is_repaired_while_somebody_runs_batches(newsroom: Shell, tmp_path: Path) -> None:
    from feedweir.pipeline.charge import in_charge

    damaged(tmp_path / "data", "items")
    with in_charge(tmp_path / "data"):
        assert newsroom("doctor", "--repair") != 0
    assert newsroom.complained.startswith("feedweir: ")
    assert findings(newsroom, code=4)["logs"][0] == "damaged"


def test_a_catalog_that_cannot_be_opened_is_one_finding_among_the_others(
    newsroom: Shell, tmp_path: Path
) -> None:
    (tmp_path / "data" / "catalog.sqlite").write_bytes(
        b"this is no database, and long enough to be read" * 50
    )
    found = findings(newsroom, code=4)
    assert found["catalog"][0] == "broken"
    assert found["python"][0] == found["java"][0] == "ok"


def test_feeds_that_fail_are_named(newsroom: Shell, tmp_path: Path) -> None:
    with Weir.open(tmp_path / "data") as weir:
        reason = "took too much work on an item"
        weir.catalog.failures.record([Failure(kind="feed", resource="Water", at=weir.clock(), reason=reason)])
    assert findings(newsroom, code=4)["feeds"] == ("failing", "Water")
    assert newsroom("feeds", "--json") == 0
    assert {row["name"]: row["failure"] for row in json.loads(newsroom.said)}["Water"] == reason


@pytest.fixture
def quarantined(newsroom: Shell, tmp_path: Path) -> int:
    """The number of a document that crashed whoever read it."""
    reader = ParseProcess(SHORT, HOSTILE)
    with Weir.open(tmp_path / "data") as weir:
        weir.push("Post", rss("exit"), media_type="application/rss+xml")
        LocalRunner(weir.directory, weir.commit, parser=reader).run_available()
        (record,) = weir.quarantine.waiting()
    reader.end()
    return record.number


def waiting(newsroom: Shell) -> list[int]:
    assert newsroom("quarantine", "list", "--json") == 0
    return [row["number"] for row in json.loads(newsroom.said)]


def test_a_quarantined_document_is_listed_shown_and_counted(newsroom: Shell, quarantined: int) -> None:
    assert waiting(newsroom) == [quarantined]
    assert newsroom("quarantine", "show", str(quarantined), "--json") == 0
    facts = {row["what"]: row["value"] for row in json.loads(newsroom.said)}
    assert (facts["source"], facts["media type"]) == ("Post", "application/rss+xml")
    assert facts["reason"]
    result, detail = findings(newsroom, code=4)["documents"]
    assert (result, "Post" in detail) == ("quarantined", True)


def test_its_body_is_written_as_it_came(newsroom: Shell, quarantined: int) -> None:
    assert newsroom("quarantine", "show", str(quarantined), "--body") == 0
    assert newsroom.said.encode() == rss("exit")


def test_a_document_is_tried_again_behind_what_has_landed(
    newsroom: Shell, quarantined: int, tmp_path: Path
) -> None:
    assert newsroom("quarantine", "retry", str(quarantined)) == 0
    assert "segment 3" in newsroom.said
    assert waiting(newsroom) == []
    with Weir.open(tmp_path / "data") as weir:
        weir.run()
    assert newsroom("items", "Post", "--json") == 0
    assert "exit" in [row["title"] for row in json.loads(newsroom.said)]


def test_a_dropped_document_is_read_by_nobody(newsroom: Shell, quarantined: int, tmp_path: Path) -> None:
    assert newsroom("quarantine", "drop", str(quarantined)) == 0
    assert waiting(newsroom) == []
    assert newsroom("quarantine", "show", str(quarantined)) == 0
    assert "dropped" in newsroom.said
    assert findings(newsroom)["documents"][0] == "ok"
    with Weir.open(tmp_path / "data") as weir:
        weir.run()
    assert newsroom("items", "Post", "--json") == 0
    assert "exit" not in [row["title"] for row in json.loads(newsroom.said)]
