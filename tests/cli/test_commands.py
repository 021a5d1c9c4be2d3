"""The command line as a newcomer would use it."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from feedweir.cli import main
from feedweir.config import Settings
from tests.acquire.scripted_origin import ScriptedOrigin

DOCUMENT = b"""<rss version='2.0'><channel><title>P</title>
<item><guid>1</guid><title>River rises</title></item></channel></rss>"""
STATEMENTS = """register feed http://example.org/p as Post;
create feed Water from Post as $p where $p[title contains 'river']"""


class Shell:
    """Runs `feedweir` in a directory of its own; remembers what it said."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, directory: Path
    ) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(directory)
        self.said = self.complained = ""

    def __call__(self, *arguments: str) -> int:
        self._monkeypatch.setattr(sys, "argv", ["feedweir", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        self.said, self.complained = self._capsys.readouterr()
        return code


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    return Shell(capsys, monkeypatch, tmp_path)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    from feedweir import Weir

    assert shell("exec", STATEMENTS) == 0
    with Weir.open("data") as weir:
        weir.push("Post", DOCUMENT)
        weir.run()
    return shell


def test_statements_are_carried_out_and_listed(filled: Shell) -> None:
    assert filled("feeds", "--json") == 0
    rows = {row["name"]: row for row in json.loads(filled.said)}
    assert rows["Water"]["items"] == rows["Post"]["items"] == 1
    assert filled("items", "Water") == 0
    assert "River rises" in filled.said


def test_statements_may_come_from_a_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("-- ours\nregister feed http://example.org/p as Post;")
    assert shell("exec", "-f", "s.txt") == 0
    assert "registered Post" in shell.said


def test_a_list_of_feeds_can_be_cut_and_continued(shell: Shell) -> None:
    made = ";".join(f"register feed push://{name} as {name}" for name in ("River", "Riverbed", "Bridge"))
    assert shell("exec", made) == 0

    def names(*options: str) -> list[str]:
        assert shell("feeds", "--json", *options) == 0
        return [row["name"] for row in json.loads(shell.said)]

    assert names("--limit", "2") == ["Bridge", "River"]
    assert names("--limit", "2", "--after", "River") == ["Riverbed"]
    assert names("--like", "river") == ["River", "Riverbed"]
    assert names("--like", "r*r") == ["River"]


def test_every_setting_is_shown_with_its_origin_and_no_secret(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("feedweir.toml").write_text('port = 9000\nhost = "localhost"\nsmtp_password = "hush"\n')
    Path("token").write_text("sesame\n")
    monkeypatch.setenv("FEEDWEIR_HOST", "127.0.0.2")
    monkeypatch.setenv("FEEDWEIR_TOKEN_FILE", "token")
    monkeypatch.setenv("FEEDWEIR_CATALOG", "postgresql://ann:pa%40ss@db/feeds")
    assert shell("--data", "elsewhere", "config", "--json") == 0
    found = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(shell.said)}
    assert set(found) == {field.name for field in fields(Settings)}
    assert found["port"] == (9000, "feedweir.toml")
    assert found["host"] == ("127.0.0.2", "FEEDWEIR_HOST")
    assert found["token"] == ("***", "FEEDWEIR_TOKEN_FILE")
    assert found["data"] == ("elsewhere", "--data")
    assert found["smtp_user"] == ("", "default")
    assert found["catalog"] == ("postgresql://ann:***@db/feeds", "FEEDWEIR_CATALOG")
    assert not {"hush", "sesame"} & set(shell.said.split('"'))


def test_a_refused_statement_says_where_and_changes_nothing(filled: Shell) -> None:
    assert filled("exec", "register feed http://x.y/ as New; create feed F from Pots") == 3
    assert "line 1, column" in filled.complained
    assert "did you mean `Post`" in filled.complained
    filled("feeds", "--json")
    assert "New" not in filled.said


def test_brackets_of_a_definition_are_shown(filled: Shell) -> None:
    assert filled("exec", "describe feed Water") == 0
    assert "$p[title contains 'river']" in filled.said


def test_the_log_of_a_dropped_subscription_can_be_read_and_nothing_is_sent_to_it(filled: Shell) -> None:
    assert filled("exec", "subscribe to Water as Desk output file 'a.rss'; drop subscription Desk") == 0
    assert filled("log", "Desk", "--json") == filled("dead", "Desk", "--json") == 0
    assert json.loads(filled.said) == []
    assert filled("replay", "Desk") == 3
    assert "the subscription 'Desk' was dropped" in filled.complained
    assert filled("log", "Disk") == 3
    assert "there is no subscription 'Disk'" in filled.complained


def test_a_feed_in_use_is_not_dropped(filled: Shell) -> None:
    assert filled("exec", "drop feed Post") == 3
    assert "still used by Water" in filled.complained


def test_an_unknown_feed_suggests_near_names(filled: Shell) -> None:
    assert filled("items", "Watre") == 3
    assert "Water" in filled.complained


def test_status_and_doctor_tell_how_it_goes(filled: Shell) -> None:
    assert filled("status", "--json") == 0
    facts = {row["what"]: row["value"] for row in json.loads(filled.said)}
    assert facts["items"] == 1
    assert facts["segments waiting"] == 0
    assert filled("doctor") == 0
    assert "java" in filled.said


def test_the_doctor_finds_a_damaged_set(filled: Shell, tmp_path: Path) -> None:
    for path in (tmp_path / "data" / "sets").rglob("*"):
        if path.is_file() and path.name != "CURRENT":
            path.write_bytes(path.read_bytes()[:-1])
    assert filled("doctor") == 4
    assert "broken" in filled.said


def test_what_is_exported_can_be_imported(filled: Shell, tmp_path: Path) -> None:
    assert filled("export", "all.jsonl") == 0
    assert filled("--data", "other", "import", "all.jsonl") == 0
    assert filled("--data", "other", "feeds", "--json") == 0
    assert {row["name"] for row in json.loads(filled.said)} == {"Post", "Water"}


def test_what_is_imported_is_counted_and_compiled_at_once(filled: Shell, tmp_path: Path) -> None:
    assert filled("export", "all.jsonl") == 0
    assert filled("--data", "other", "import", "all.jsonl") == 0
    assert "imported 1 sources and 1 feeds" in filled.said
    assert (tmp_path / "other" / "sets" / "CURRENT").exists()


def test_a_damaged_export_is_refused_with_its_line(filled: Shell, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}x\n")
    assert filled("--data", "other", "import", "bad.jsonl") == 2
    assert "line 1" in filled.complained


def test_an_outline_is_imported_from_its_address(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOrigin() as origin:
        origin.shows("/subs", b"<opml><body><outline text='A' xmlUrl='http://a.example/'/></body></opml>")
        assert shell("import", origin.url("/subs")) == 3
        assert "not on the public internet" in shell.complained
        monkeypatch.setenv("FEEDWEIR_ALLOW_PRIVATE", "yes")
        assert shell("import", origin.url("/subs")) == 0
        assert "registered 1 feeds" in shell.said
        assert shell("import", origin.url("/none")) == 3
        assert "HTTP 404" in shell.complained
    assert shell("import", "nowhere.opml") == 2
    assert "there is no file" in shell.complained


def test_help_teaches(shell: Shell) -> None:
    assert shell("--help") == 0
    assert "register feed" in shell.said
    assert "Exit codes" in shell.said
    assert shell("--version") == 0
    assert shell.said.startswith("feedweir ")


def test_serving_to_others_needs_a_token(shell: Shell) -> None:
    assert shell("run", "--host", "0.0.0.0") == 2
    assert "FEEDWEIR_TOKEN" in shell.complained


def test_a_wrong_setting_is_a_usage_error(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDWEIR_PROT", "1")
    assert shell("feeds") == 2
    assert "did you mean `port`" in shell.complained
