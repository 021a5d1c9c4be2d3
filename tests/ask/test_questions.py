"""What is asked of an installation: plans in force, reasons clause by clause, and what cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir import CatalogError, LanguageError, Weir
from feedweir.ask.why import Clause
from feedweir.compile.plan_store import plan_in_force
from feedweir.optimize.filter_plans.plan_report import as_text

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed push://post as Post;
register feed push://quiet as Quiet;
create feed Flood from Post where title contains 'flood';
create feed River from Post where title contains 'flood' and title contains 'river';
create feed Never from Post where title = 'a' and not title = 'a';
create feed Some from Post where at least 2 of (title contains 'flood', title contains 'river', title contains 'otter')
  and any of (title contains 'rises', title contains 'falls');
"""


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: START) as opened:
        opened.execute(STATEMENTS)
        yield opened


def publish(weir: Weir, *titles: str) -> None:
    items = "".join(f"<item><guid>{title}</guid><title>{title}</title></item>" for title in titles)
    weir.push("Post", f"<rss version='2.0'><channel>{items}</channel></rss>".encode())
    weir.run()


def told(clause: Clause) -> list[tuple[str, bool]]:
    """The texts of a clause and of all its parts, in order."""
    return [(clause.text, clause.holds), *(pair for part in clause.parts for pair in told(part))]


def test_plans_are_asked_for_before_there_are_any(weir: Weir) -> None:
    assert plan_in_force(weir.directory.plans) == ""
    with pytest.raises(CatalogError, match="no plan is in force yet") as refused:
        weir.ask.plans()
    assert "feedweir run" in refused.value.hint
    with pytest.raises(CatalogError, match="source 'Post' has no plan: no feed filters it"):
        weir.ask.plans("Post")


def test_a_plan_names_what_feeds_share_and_leaves_out_what_never_matches(weir: Weir) -> None:
    publish(weir, "river flood rises")
    (plan,) = weir.ask.plans()
    assert plan.source == "Post"
    text = as_text(plan)
    assert "River is contained in Flood" in text
    assert "title contains 'flood'" in text
    assert "Never" not in text, "what can never match is not compiled"
    assert weir.ask.plans("Post") == (plan,)


def test_a_dropped_feed_is_no_longer_named_in_the_plan_that_still_has_it(weir: Weir) -> None:
    publish(weir, "river flood rises")
    weir.execute("drop feed Some")
    assert "Some" not in as_text(weir.ask.plans("Post")[0])


def test_a_source_that_nothing_filters_has_no_plan_and_one_that_does_not_exist_is_refused(weir: Weir) -> None:
    publish(weir, "river flood rises")
    with pytest.raises(CatalogError, match="source 'Quiet' has no plan"):
        weir.ask.plans("Quiet")
    with pytest.raises(CatalogError, match="there is no feed 'Posd'") as refused:
        weir.ask.plans("Posd")
    assert "Post" in refused.value.hint


def test_reasons_show_counted_and_alternative_conditions(weir: Weir) -> None:
    publish(weir, "river otter sleeps")
    clause = weir.ask.why("river otter sleeps", "Some")
    assert not clause.holds
    assert [pair for pair in told(clause) if not pair[0].startswith(("feed", "source", "σ"))][:8] == [
        ("all of", False),
        ("at least 2 of", True),
        ("title contains 'flood'", False),
        ("title contains 'river'", True),
        ("title contains 'otter'", True),
        ("any of", False),
        ("title contains 'rises'", False),
        ("title contains 'falls'", False),
    ]


@pytest.mark.parametrize("text", ["from Post; from Quiet", "drop feed Flood", "define window W as 3 days"])
def test_one_query_is_tried_out_at_a_time(weir: Weir, text: str) -> None:
    with pytest.raises(LanguageError, match="expected exactly one query"):
        weir.ask.preview(text)
