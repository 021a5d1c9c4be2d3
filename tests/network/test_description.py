"""Descriptions of networks, and what the command makes of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedweir.cli.main import app
from feedweir.errors import NetworkError
from feedweir.network.description import read_description
from feedweir.network.views import UNLIMITED

NETWORK = """
documents = ["news.xml"]
[[sources]]
name = "News"
site = "hub"
feeds_at_most = 1
[sites.berlin]
delay_ms = 3
x = 500
[[views]]
name = "All"
site = "hub"
query = "path //news->n return cont n"
[[views]]
name = "Heads"
site = "berlin"
query = "path //news//headline->h return val h"
"""
DOCUMENT = "<feed><news><headline>a</headline></news><news><headline>b</headline></news></feed>"


def described(directory: Path, text: str = NETWORK) -> str:
    (directory / "news.xml").write_text(DOCUMENT)
    (directory / "network.toml").write_text(text)
    return str(directory / "network.toml")


def test_a_description_is_read() -> None:
    told = read_description(NETWORK)
    assert [view.name for view in told.views] == ["All", "Heads"]
    assert told.views[0].feeds_at_most == UNLIMITED
    assert told.sources[0].feeds_at_most == 1
    assert told.sites["berlin"].x == 500


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[sites.berlin]", "[sites.berlin", "not TOML"),
        ("feeds_at_most = 1", "feeds_at_most = -1", "`feeds_at_most` of source `News`"),
        ("delay_ms = 3", "delay = 3", "site `berlin` has no setting `delay`.*delay_ms"),
        ("delay_ms = 3", "bytes_per_s = 0", "site `berlin` has no link"),
        ("x = 500", "x = nan", "`x` of site `berlin` is not a number"),
        (
            'site = "berlin"',
            'site = "berlin"\nsource = "Nws"',
            "view `Heads` reads an unknown source `Nws`.*`News`",
        ),
        ("//headline->h", "//headline", "view `Heads` cannot be read: .*no step is named `h`"),
        ('name = "Heads"', 'name = "All"', "two of the views have the same name, `All`"),
        ("[[views]]", "[[weights]]", "`weights` in the description is not a table"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(old: str, new: str, message: str) -> None:
    with pytest.raises(NetworkError) as refused:
        read_description(NETWORK.replace(old, new))
    assert re.search(message, str(refused.value), re.DOTALL), str(refused.value)


def test_the_command_prints_a_plan(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["network", "plan", described(tmp_path)])
    assert result.exit_code == 0
    assert "gap 0.0000 %" in result.stdout
    assert "2  Heads at berlin  <-  All" in result.stdout


def test_a_plan_as_json_and_for_graphviz(tmp_path: Path) -> None:
    path = described(tmp_path)
    value = json.loads(CliRunner().invoke(app, ["network", "plan", path, "--json"]).stdout)
    assert {one["view"]: one["from"] for one in value["fillings"]} == {"All": ["News"], "Heads": ["All"]}
    assert value["bound"] <= value["cost"]
    dot = CliRunner().invoke(app, ["network", "plan", path, "--dot"]).stdout
    assert '"All" -> "Heads";' in dot


def test_a_filling_is_explained(tmp_path: Path) -> None:
    path = described(tmp_path)
    shown = CliRunner().invoke(app, ["network", "explain", path, "Heads"]).stdout
    assert "Heads at berlin: filled from All" in shown
    unknown = CliRunner().invoke(app, ["network", "explain", path, "Head"])
    assert "did you mean `Heads`?" in str(unknown.exception)


def test_bounds_that_cannot_be_kept(tmp_path: Path) -> None:
    tight = NETWORK.replace('name = "All"', 'name = "All"\nfeeds_at_most = 0')
    refused = CliRunner().invoke(app, ["network", "plan", described(tmp_path, tight)])
    assert "`News` would have to feed 1 more" in str(refused.exception) or "bounds" in str(refused.exception)
    kept = CliRunner().invoke(app, ["network", "plan", described(tmp_path, tight), "--best-effort"])
    assert "exceeded by 1" in kept.stdout


def test_a_document_that_is_missing_or_broken(tmp_path: Path) -> None:
    path = described(tmp_path)
    (tmp_path / "news.xml").write_text("<feed>")
    assert "is not XML" in str(CliRunner().invoke(app, ["network", "plan", path]).exception)
    (tmp_path / "news.xml").unlink()
    assert "cannot be read" in str(CliRunner().invoke(app, ["network", "plan", path]).exception)
