"""Questions on the command line."""

from __future__ import annotations

import json

from tests.cli.test_commands import Shell, filled, shell

__all__ = ["filled", "shell"]


def test_a_query_is_tried_out_without_being_activated(filled: Shell) -> None:
    for command in ("preview", "backtest"):
        assert filled(command, "create feed New from Post where title contains 'rises'", "--json") == 0
        trial = json.loads(filled.said)
        assert (trial["searched"], trial["hits"]) == (1, 1)
        assert [sample["title"] for sample in trial["samples"]] == ["River rises"]
    assert filled("items", "New") == 3
    assert filled("preview", "Water") == 0
    assert filled.said.startswith("1 of 1 items")


def test_a_bad_query_is_refused_with_its_place(filled: Shell) -> None:
    assert filled("preview", "from Post where titel contains 'x'") == 3
    assert "titel" in filled.complained
    assert "^" in filled.complained


def test_stored_items_are_searched(filled: Shell) -> None:
    assert filled("search", "river -flood", "--json") == 0
    assert [item["title"] for item in json.loads(filled.said)["items"]] == ["River rises"]
    assert filled("search", "flood") == 0
    assert filled.said.startswith("0 of 1 items")


def test_a_plan_is_told_as_text_and_as_a_picture(filled: Shell) -> None:
    assert filled("explain", "create feed New from Water where title contains 'rises'") == 0
    assert filled.said.startswith("as written")
    assert "expand_feeds" in filled.said
    assert filled("explain", "Water", "--dot") == 0
    assert filled.said.startswith("digraph")
    assert filled("explain", "Water", "--json") == 0
    assert json.loads(filled.said)["steps"][0]["rule"] == "as written"
    assert filled("explain", "Water", "--json", "--dot") == 2


def test_a_reason_is_told(filled: Shell) -> None:
    assert filled("items", "Water", "--json") == 0
    (item,) = json.loads(filled.said)
    assert filled("why", str(item["seq"]), "Water") == 0
    assert "✓ title contains 'river'  [title: 'River']" in filled.said
    assert "✓ matched  (a candidate by " in filled.said
    assert filled("why", str(item["seq"]), "Water", "--json") == 0
    assert json.loads(filled.said)["holds"] is True
    assert json.loads(filled.said)["parts"][-1]["note"].startswith("a candidate by ")
    assert filled("why", "1", "Post") == 0
    assert filled("why", "12345", "Water") == 3


def test_the_shared_plan_is_told_in_every_form(filled: Shell) -> None:
    assert filled("plan", "Post") == 0
    assert filled.said.startswith("source Post: ")
    assert "title contains 'river'" in filled.said
    assert filled("exec", "explain plan Post") == 0
    assert filled.said.startswith("source Post: ")
    assert filled("plan", "--json") == 0
    assert [plan["source"] for plan in json.loads(filled.said)] == ["Post"]
    assert filled("plan", "Post", "--dot") == 0
    assert filled.said.startswith('digraph "Post"')
    assert filled("plan", "Post", "--dot", "--json") == 2
    assert filled("plan", "Water") == 3
    assert filled("exec", "explain plan Water") == 3


def test_who_creates_a_feed_is_told_what_it_has_in_common_with_others(filled: Shell) -> None:
    assert filled("exec", "create feed Same from Post where title contains 'River'") == 0
    assert "note: Same is equal to Water" in filled.said
