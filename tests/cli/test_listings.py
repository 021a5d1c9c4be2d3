"""What `feeds`, `items`, `status` and `config` list, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from feedweir import Weir
from tests.cli.test_commands import Shell


def rows(newsroom: Shell, *command: str) -> list[dict[str, Any]]:
    assert newsroom(*command, "--json") == 0
    return list(json.loads(newsroom.said))


def fact(newsroom: Shell, name: str, *, code: int = 0) -> Any:
    assert newsroom("status", "--json") == code
    return {row["what"]: row["value"] for row in json.loads(newsroom.said)}[name]


def test_a_feed_is_listed_with_its_counts_and_its_definition(newsroom: Shell) -> None:
    water = next(row for row in rows(newsroom, "feeds") if row["name"] == "Water")
    assert (water["kind"], water["owner"], water["items"], water["hits"]) == ("virtual", "acme/ann", 2, 2)
    assert water["definition"].startswith("create feed Water")
    assert water["failure"] in ("", None)
    assert str(water["last"]).startswith("2026-07-08")


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        ("acme/ann", ["Post", "Water"]),
        ("acme/bob", ["Post", "Trade"]),
        ("acme", ["Post", "Trade", "Water"]),
        ("nobody", ["Post"]),
    ],
)
def test_of_an_owner_only_what_concerns_them_is_listed(newsroom: Shell, owner: str, names: list[str]) -> None:
    assert [row["name"] for row in rows(newsroom, "feeds", "--owner", owner)] == names


def test_names_are_cut_down_by_a_part_or_a_pattern(newsroom: Shell) -> None:
    def like(text: str) -> list[str]:
        return [row["name"] for row in rows(newsroom, "feeds", "--like", text)]

    assert like("AT") == ["Water"]
    assert like("t*") == ["Trade"]
    assert like("*t*") == ["Post", "Trade", "Water"]
    assert like("%") == []
    assert like("w_ter") == []


def test_items_are_listed_newest_first_and_as_many_as_asked_for(newsroom: Shell) -> None:
    titles = [row["title"] for row in rows(newsroom, "items", "Post")]
    assert titles == ["River falls again", "Market day", "River [rises]"]
    assert [row["title"] for row in rows(newsroom, "items", "Water", "--limit", "1")] == titles[:1]
    assert newsroom("items", "Water") == 0
    assert "http://example.org/1" in newsroom.said
    assert "River [rises]" in newsroom.said


def test_a_feed_that_has_no_items_is_listed_as_empty(newsroom: Shell) -> None:
    assert newsroom("exec", "create feed Dry from Post where title contains 'desert'") == 0
    assert rows(newsroom, "items", "Dry") == []


def test_what_landed_and_was_not_published_waits(newsroom: Shell, tmp_path: Path) -> None:
    assert fact(newsroom, "segments waiting") == 0
    with Weir.open(tmp_path / "data") as weir:
        weir.push("Post", b"<rss version='2.0'><channel><item><guid>9</guid></item></channel></rss>")
    assert fact(newsroom, "segments waiting") == 1
    assert 0 < fact(newsroom, "bytes waiting") < 10_000
    assert fact(newsroom, "documents waiting") == 1
    assert fact(newsroom, "seconds behind") >= 0
    assert fact(newsroom, "waiting since") is not None


def test_status_says_what_the_last_batch_took_and_what_is_kept(newsroom: Shell) -> None:
    last = fact(newsroom, "last batch")
    assert "items" in last
    assert "bytes read" in last
    assert "whole" in last
    assert "(1 task, skew 1.00)" in last
    kept = fact(newsroom, "bytes kept")
    assert kept["landing"] > 0
    assert kept["items"] > 0


def test_status_says_what_too_large_a_backlog_does(
    newsroom: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fact(newsroom, "slowed") is None
    with Weir.open(tmp_path / "data") as weir:
        weir.push("Post", b"<rss version='2.0'><channel><item><guid>9</guid></item></channel></rss>")
    assert fact(newsroom, "slowed") is None
    monkeypatch.setenv("FEEDWEIR_BACKLOG_BYTES", "100")
    assert fact(newsroom, "slowed") == "pushing clients are asked to wait, and nothing is fetched"


def test_what_waits_for_too_long_stands_still_and_status_says_so_by_its_exit_code(
    newsroom: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Weir.open(tmp_path / "data") as weir:
        weir.push("Post", b"<rss version='2.0'><channel><item><guid>9</guid></item></channel></rss>")
    monkeypatch.setenv("FEEDWEIR_STALLED_AFTER_S", "0")
    assert "documents have been waiting" in fact(newsroom, "stalled", code=4)
    assert newsroom("doctor", "--json") == 4
    (pipeline,) = (row for row in json.loads(newsroom.said) if row["check"] == "pipeline")
    assert pipeline["result"] == "stalled"
    assert pipeline["detail"].startswith("1 ")


def test_an_installation_that_runs_says_since_when(newsroom: Shell, tmp_path: Path) -> None:
    from feedweir.pipeline.charge import in_charge

    assert fact(newsroom, "running since") == "not running"
    with in_charge(tmp_path / "data"):
        assert fact(newsroom, "running since") == "yes"


def test_a_damaged_file_is_counted_by_status_when_it_was_met(newsroom: Shell, tmp_path: Path) -> None:
    for path in (tmp_path / "data" / "items").glob("*.parquet"):
        path.write_bytes(b"")
    assert newsroom("items", "Water", "--json") == 0
    assert json.loads(newsroom.said) == []
    assert newsroom("doctor") == 4
    assert "damaged" in newsroom.said


def test_an_option_counts_more_than_the_environment_and_that_more_than_the_file(
    newsroom: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def value() -> tuple[Any, str]:
        (row,) = (row for row in rows(newsroom, *options, "config") if row["setting"] == "catalog")
        return row["value"], row["origin"]

    options: list[str] = []
    assert value()[1] == "default"
    (tmp_path / "feedweir.toml").write_text("catalog = 'sqlite:///of-file.sqlite'")
    assert value() == ("sqlite:///of-file.sqlite", "feedweir.toml")
    monkeypatch.setenv("FEEDWEIR_CATALOG", "sqlite:///of-environment.sqlite")
    assert value() == ("sqlite:///of-environment.sqlite", "FEEDWEIR_CATALOG")
    options += ["--catalog", "sqlite:///of-option.sqlite"]
    assert value() == ("sqlite:///of-option.sqlite", "--catalog")


def test_another_settings_file_is_taken_in_place_of_the_usual_one(newsroom: Shell, tmp_path: Path) -> None:
    (tmp_path / "feedweir.toml").write_text("port = 1111")
    (tmp_path / "ours.toml").write_text("host = 'localhost'")
    found = {row["setting"]: row for row in rows(newsroom, "--config", "ours.toml", "config")}
    assert (found["host"]["value"], found["host"]["origin"]) == ("localhost", "ours.toml")
    assert found["port"]["origin"] == "default"
