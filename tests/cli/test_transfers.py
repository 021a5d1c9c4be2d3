"""Catalogs and outlines that leave an installation, and come into another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import Shell

OUTLINE = """<opml version="2.0"><head/><body>
<outline text="News"><outline type="rss" text="Alpha" xmlUrl="http://a.example/feed"/>
<outline type="rss" text="Beta" xmlUrl="http://b.example/feed"/></outline>
<outline type="rss" text="Mail" xmlUrl="mailto:ann@example.org"/>
</body></opml>"""


def feeds(shell: Shell, *before: str) -> dict[str, str]:
    assert shell(*before, "feeds", "--json") == 0
    return {row["name"]: row["kind"] for row in json.loads(shell.said)}


def test_an_export_goes_to_the_standard_output_line_by_line(newsroom: Shell) -> None:
    assert newsroom("export", "-") == 0
    lines = [json.loads(line) for line in newsroom.said.splitlines()]
    assert lines[0]["format"] == "feedweir-catalog"
    assert {line["table"] for line in lines[1:]} >= {"feed", "source", "change"}
    assert newsroom.complained == ""


def test_a_file_holds_what_the_standard_output_would(newsroom: Shell, tmp_path: Path) -> None:
    assert newsroom("export", "-") == 0
    shown = newsroom.said
    assert newsroom("export", "all.jsonl") == 0
    assert (tmp_path / "all.jsonl").read_text() == shown
    assert newsroom.said == ""


def test_an_import_keeps_owners_definitions_and_subscriptions(newsroom: Shell) -> None:
    assert newsroom("exec", "subscribe to Water as Desk output file 'a.rss'") == 0
    assert newsroom("export", "all.jsonl") == 0
    assert newsroom("--data", "other", "import", "all.jsonl") == 0
    assert newsroom("--data", "other", "feeds", "--owner", "acme/bob", "--json") == 0
    assert [row["name"] for row in json.loads(newsroom.said)] == ["Post", "Trade"]
    assert newsroom("--data", "other", "log", "Desk") == 0


def test_an_import_into_a_catalog_with_feeds_is_refused_and_changes_nothing(newsroom: Shell) -> None:
    assert newsroom("export", "all.jsonl") == 0
    before = feeds(newsroom)
    assert newsroom("import", "all.jsonl") == 3
    assert "not empty" in newsroom.complained
    assert feeds(newsroom) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ("{}\n", ""),
        ('{"format": "of others", "step": 1}\n', ""),
        ("[1]\n", ""),
        ("\x00\n", "line 1"),
    ],
)
def test_a_file_that_is_no_export_is_refused(newsroom: Shell, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad").write_text(text)
    assert newsroom("--data", "other", "import", "bad") in (2, 3)
    assert told in newsroom.complained
    assert len(newsroom.complained.splitlines()) == 1
    assert feeds(newsroom, "--data", "other") == {}


def test_an_export_that_was_cut_off_changes_nothing(newsroom: Shell, tmp_path: Path) -> None:
    assert newsroom("export", "all.jsonl") == 0
    whole = (tmp_path / "all.jsonl").read_bytes()
    (tmp_path / "half.jsonl").write_bytes(whole[: len(whole) // 2])
    assert newsroom("--data", "other", "import", "half.jsonl") == 2
    assert "half.jsonl, line " in newsroom.complained
    assert feeds(newsroom, "--data", "other") == {}


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n  "])
def test_an_outline_is_known_by_its_content_whatever_its_name(
    newsroom: Shell, tmp_path: Path, start: bytes
) -> None:
    (tmp_path / "subscriptions").write_bytes(start + OUTLINE.encode())
    assert newsroom("import", "subscriptions") == 0
    assert "registered 2 feeds in 1 folders; 0 existed already" in newsroom.said
    assert "Mail" in newsroom.complained
    assert feeds(newsroom).keys() >= {"Alpha", "Beta", "News"}
    assert newsroom("import", "subscriptions") == 0
    assert "2 existed already" in newsroom.said


def test_an_outline_that_is_exported_can_be_imported(newsroom: Shell, tmp_path: Path) -> None:
    assert newsroom("export", "ours.opml") == 0
    assert newsroom("export", "--opml", "-") == 0
    assert newsroom.said.strip() == (tmp_path / "ours.opml").read_text().strip()
    assert newsroom("--data", "other", "import", "ours.opml") == 0
    assert feeds(newsroom, "--data", "other")["Post"] == "source"


def test_an_outline_that_is_none_is_told(newsroom: Shell, tmp_path: Path) -> None:
    (tmp_path / "x.opml").write_text("<html><body>Log in first</body></html>")
    assert newsroom("import", "x.opml") == 3
    assert "OPML" in newsroom.complained
