"""Conditions of every kind, from the statement to the element in the feed and what `why` tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import land, open_weir
from tests.join.stories import Shown


def titles(weir: Weir, feed: str) -> list[str]:
    return [item.title for item in weir.items(feed)]


def run(weir: Weir, *told: str, source: str = "Post") -> None:
    weir.refresh_set()
    land(weir, [Shown(source, tuple(enumerate(told)))])
    LocalRunner(weir.directory, weir.commit).run_available()


@pytest.fixture
def weir(tmp_path: Path):  # type: ignore[no-untyped-def]
    with open_weir(tmp_path, "register feed push://Post as Post") as opened:
        yield opened


def test_a_regular_expression_is_found_alone_negated_and_among_others(weir: Weir) -> None:
    weir.execute(
        "create feed Tours from Post where title matches /\\btours? 20[0-9]{2}/i;"
        "create feed Others from Post where not title matches /tour/i;"
        "create feed Two from Post where at least 2 of (matches /^muse/i, title matches /[0-9]$/, contains 'album');"
        "create feed Rock from Post where title contains 'rock' and title matches 'r.ck$'"
    )
    run(weir, "Muse Tour 2020", "Muse album", "hard rock", "rock tours", "tour 20x1", "Muse 7")
    assert sorted(titles(weir, "Tours")) == ["Muse Tour 2020"]
    assert sorted(titles(weir, "Others")) == ["Muse 7", "Muse album", "hard rock"]
    assert sorted(titles(weir, "Two")) == ["Muse 7", "Muse Tour 2020", "Muse album"]
    assert sorted(titles(weir, "Rock")) == ["hard rock"]


def test_joins_have_conditions_on_either_side_in_any_place(weir: Weir) -> None:
    weir.execute(
        "register feed push://Talk as Talk;"
        "create feed Both from Post join last 9 days on Talk with"
        " [title contains 'muse' and window.title matches /live$/ and title similar window.title at least 0.2];"
        "create feed Some from Post join last 2 items on Talk with [window.title contains 'muse' or title = 'jazz'];"
        "create feed Named from Post join last 9 days on Talk with [title contains window.category]"
    )
    land(weir, [Shown("Talk", ((1, "piano live"), (2, "rock"), (3, "muse live")))])
    run(weir, "muse tour", "jazz", "rock tour", "piano")
    assert titles(weir, "Both") == ["muse tour"]
    assert titles(weir, "Some") == ["jazz"]


def test_a_window_of_so_many_items_counts_them_before_it_asks(weir: Weir) -> None:
    weir.execute(
        "register feed push://Talk as Talk;"
        "create feed Counted from Post join last 2 items on Talk with [title = 'jazz' and window.title = 'muse'];"
        "create feed Timed from Post join last 9 days on Talk with [title = 'jazz' and window.title = 'muse']"
    )
    land(weir, [Shown("Talk", ((1, "piano"), (2, "rock"), (3, "muse")))])
    run(weir, "jazz")
    assert titles(weir, "Counted") == []
    assert titles(weir, "Timed") == ["jazz"]


def test_why_shows_what_a_regular_expression_matched(weir: Weir) -> None:
    weir.execute("create feed Tours from Post where title matches /tours? 20[0-9]{2}/i")
    run(weir, "Muse Tour 2020")
    (item,) = weir.items("Tours")
    told = repr(weir.ask.why(item.seq, "Tours"))
    assert "'Tour 2020'" in told
    assert "title matches /tours? 20[0-9]{2}/i" in told
