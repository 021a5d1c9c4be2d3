"""What a person may get wrong on the command line: each mistake has its exit code, and a message that helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_commands import Shell

NOT_UNDERSTOOD, REFUSED, FAILED = 2, 3, 1


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["feeds", "--lmit", "3"], "No such option: --lmit"),
        (["items"], "Missing argument 'feed'"),
        (["why", "1"], "Missing argument 'feed'"),
        (["feeds", "--limit", "0"], "'--limit'"),
        (["items", "Post", "--limit", "none"], "'--limit'"),
        (["quarantine", "show", "first"], "'number'"),
        (["replay", "Desk", "--since", "yesterday"], "'--since'"),
        (["exec"], "feedweir exec --help"),
        (["exec", "show feeds", "--file", "x"], "feedweir exec --help"),
        (["match"], "feedweir match --help"),
        (["match", "1", "--file", "x"], "feedweir match --help"),
        (["explain", "Water", "--dot", "--json"], "--dot and --json"),
        (["plan", "Post", "--dot", "--json"], "--dot and --json"),
        (["search", "river", "--owner", "acme/"], "acme/ann"),
        (["feeds", "--owner", "/ann"], "acme/ann"),
        (["match", "1", "--owner", "a//b"], "acme/ann"),
        (["exec", "show feeds", "--owner", " "], "acme/ann"),
        (["run", "--host", "0.0.0.0"], "FEEDWEIR_TOKEN"),
    ],
)
def test_a_command_that_is_not_understood_says_which_part(
    newsroom: Shell, command: list[str], told: str
) -> None:
    assert newsroom(*command) == NOT_UNDERSTOOD
    assert told in newsroom.complained
    assert newsroom.said == ""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["items", "Nowhere"], "there is no feed 'Nowhere'"),
        (["items", "Wter"], "`Water`"),
        (["why", "1", "Wter"], "`Water`"),
        (["why", "77", "Water"], "there is no item 77"),
        (["why", "no such guid", "Water"], "there is no item 'no such guid'"),
        (["match", "77"], "there is no item 77"),
        (["plan", "Water"], "Water"),
        (["plan", "Psot"], "`Post`"),
        (["explain", "from Nope"], "line 1, column 6"),
        (["explain", "show feeds"], "from News where"),
        (["preview", "register feed http://x.y/ as X"], "from News where"),
        (["preview", "from Post; from Post"], "from News where"),
        (["backtest", "from Post where titel contains 'x'"], "did you mean `title`"),
        (["search", "river ("], "line 1, column 7"),
        (["exec", "drop feed Post"], "Trade"),
        (["exec", "create feed Water from Post"], "Water"),
        (["exec", "register feed"], "expected: a URL"),
        (["log", "99"], "show subscriptions"),
        (["dead", "Desk"], "there is no subscription 'Desk'"),
        (["replay", "Desk"], "there is no subscription 'Desk'"),
        (["quarantine", "show", "5"], "feedweir quarantine list"),
        (["quarantine", "retry", "5"], "feedweir quarantine list"),
        (["quarantine", "drop", "5"], "feedweir quarantine list"),
    ],
)
def test_a_name_or_a_statement_that_is_refused_is_told_with_what_would_do(
    newsroom: Shell, command: list[str], told: str
) -> None:
    assert newsroom(*command) == REFUSED
    assert told in newsroom.complained
    assert newsroom.said == ""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["--config", "nope.toml", "feeds"], "nope.toml"),
        (["exec", "--file", "nope.txt"], "nope.txt"),
        (["match", "--file", "nope.rss"], "nope.rss"),
        (["import", "nope.opml"], "nope.opml"),
        (["import", "."], "there is no file ."),
        (["bounces", "nowhere"], "nowhere"),
        (["export", "no/such/directory/all.jsonl"], "no/such/directory/all.jsonl"),
        (["export", "no/such/directory/all.opml"], "no/such/directory/all.opml"),
        (["export", "."], "."),
    ],
)
def test_a_file_that_cannot_be_opened_is_told_by_its_name(
    newsroom: Shell, command: list[str], told: str
) -> None:
    assert newsroom(*command) == NOT_UNDERSTOOD
    assert told in newsroom.complained
    assert "Errno" not in newsroom.complained
    assert len(newsroom.complained.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("port = 'many'", "port"),
        ("prot = 80", "did you mean `port`"),
        ("fetch = 'perhaps'", "fetch"),
        ("allowed_hosts = 7", "allowed_hosts"),
        ("requests_per_second = -1", "requests_per_second"),
        ("port =", "feedweir.toml"),
        ("retain_items = 'long'", "retain_items"),
    ],
)
def test_a_wrong_settings_file_is_told_by_the_setting(
    newsroom: Shell, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "feedweir.toml").write_text(text)
    assert newsroom("feeds") == NOT_UNDERSTOOD
    assert told in newsroom.complained


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("PUBLIC_READS", "some", "none, feeds, all"),
        ("FETCH_ON", "moon", "auto, driver, executors"),
        ("SMTP_SECURITY", "much", "none, starttls, tls"),
        ("REFRESH", "plannd", "did you mean `planned`"),
        ("LOG_LEVEL", "DEBUG", "debug, info, warning, error"),
    ],
)
def test_run_refuses_a_setting_with_its_choices_before_it_serves(
    newsroom: Shell, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"FEEDWEIR_{setting}", value)
    monkeypatch.setenv("FEEDWEIR_SMTP_HOST", "localhost")
    monkeypatch.setenv("FEEDWEIR_PORT", "0")
    assert newsroom("run") == NOT_UNDERSTOOD
    assert told in newsroom.complained


def test_a_secret_file_that_is_not_there_is_told_by_its_variable(
    newsroom: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEEDWEIR_TOKEN_FILE", "nowhere")
    assert newsroom("feeds") == NOT_UNDERSTOOD
    assert "FEEDWEIR_TOKEN_FILE" in newsroom.complained


def test_a_data_directory_that_cannot_be_made_has_failed(newsroom: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert newsroom("--data", "file/data", "feeds") == FAILED
    assert "file/data" in newsroom.complained


def test_a_password_in_an_address_is_in_no_message(newsroom: Shell) -> None:
    code = newsroom("--catalog", "postgresql://ann:hush@127.0.0.1:1/x", "feeds")
    assert code != 0
    assert "127.0.0.1" in newsroom.complained
    assert "hush" not in newsroom.complained


def test_statements_after_a_refused_one_change_nothing(newsroom: Shell) -> None:
    assert newsroom("exec", "create feed A from Post; create feed B from Pots; create feed C from Post") == 3
    assert "line 1, column 45" in newsroom.complained
    assert newsroom("items", "A") == newsroom("items", "C") == REFUSED


def test_a_file_of_statements_that_is_no_text_is_told(newsroom: Shell, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(b"\xff\xfe\x00")
    assert newsroom("exec", "--file", "s.txt") == NOT_UNDERSTOOD
    assert newsroom.complained.startswith("feedweir: s.txt")
