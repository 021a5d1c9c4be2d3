"""What commands have in common: how they begin, how they print, what they hide."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.cli.context import Context, owner_in, show_rows, unusable, wait_for
from feedweir.errors import SettingsError


@pytest.fixture(autouse=True)
def called_feedweir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["feedweir"])


def test_a_command_that_is_to_be_pasted_names_the_same_installation() -> None:
    assert Context(None, {}).beginning().endswith("feedweir")
    given = Context(Path("our settings.toml"), {"data": Path("/srv/fw"), "catalog": None}).beginning()
    assert given.endswith("feedweir --config 'our settings.toml' --data /srv/fw")


def test_a_catalog_with_a_user_is_not_printed() -> None:
    begins = Context(None, {"catalog": "postgresql://ann:hush@db/feeds"}).beginning()
    assert "hush" not in begins
    assert "--catalog" not in begins
    assert "--catalog sqlite:///a.db" in Context(None, {"catalog": "sqlite:///a.db"}).beginning()


def test_an_option_that_was_not_given_leaves_the_setting_alone(tmp_path: Path) -> None:
    (tmp_path / "feedweir.toml").write_text("port = 9000\nhost = 'localhost'")
    settings = Context(None, {}).settings(port=None, host="127.0.0.2")
    assert (settings.port, settings.host) == (9000, "127.0.0.2")


@pytest.mark.parametrize("given", ["ann", "acme/ann", "acme/the editors/ann"])
def test_an_owner_is_a_name_below_groups(given: str) -> None:
    assert owner_in(given) == given


def test_no_owner_is_everyone() -> None:
    assert owner_in("") is None


@pytest.mark.parametrize("given", ["/", "a/", "/a", "a//b", " a"])
def test_what_is_no_owner_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(SettingsError, match="acme/ann"):
        owner_in(given)


def test_rows_are_one_json_array_with_times_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    show_rows(({"a": n, "at": noon, "b": "é"} for n in (1, 2)), ("a",), as_json=True)
    shown = capsys.readouterr().out
    assert [row["a"] for row in json.loads(shown)] == [1, 2]
    assert "2026-06-01 12:00:00+00:00" in shown
    assert "é" in shown


def test_a_table_keeps_lines_whole_and_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 150
    show_rows([{"a": "[bold]", "b": None, "c": long, "d": 5}], ("a", "b", "c"), as_json=False)
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["a", "b", "c"]
    assert line.split() == ["[bold]", long]


def test_a_table_without_rows_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([], ("name", "kind"), as_json=False)
    assert capsys.readouterr().out.split() == ["name", "kind"]


def test_a_file_that_cannot_be_used_is_told_without_the_number_of_the_error(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(OSError, match=reason) as caught:
            path.read_bytes()
        assert str(unusable(path, caught.value)) == f"{path}: {reason}"


def test_a_signal_that_comes_just_before_the_wait_is_heard() -> None:
    """Python runs a handler when the wait ends: it must end by itself."""
    waits: list[float] = []

    class Deaf:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) == 3

    wait_for(Deaf())  # type: ignore[arg-type]
    assert waits == [1.0, 1.0, 1.0]
