"""Trying a query out: what a back-test finds is what the live feed got; reasons agree with what is in the feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import example, given, settings

from feedweir.ask import preview
from feedweir.ask.questions import Questions
from feedweir.ask.why import Clause
from feedweir.errors import CatalogError
from feedweir.match import CompiledSet
from feedweir.service.installation import Weir
from tests.join.test_join_feeds import (
    FLOOD,
    JOINED,
    START,
    STATEMENTS,
    Entry,
    cut,
    histories,
    items_in,
    run,
    told,
)

QUERIES = (
    "from Post | Notes where title contains 'river'",
    "from * where search 'flood -otter'",
    "create feed Unborn from (Alike | Followed) as $r where $r[not (title contains 'music')]",
    "create feed Unborn from distinct last 9 hours (Post | Crier | Notes)",
)


@pytest.fixture
def flooded(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, cut(told(FLOOD), 3))
        yield weir


@settings(max_examples=4, deadline=None)
@given(histories)
@example(FLOOD)
def test_a_back_test_finds_what_the_live_feed_got(history: list[Entry]) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        for number, query in enumerate(QUERIES):
            weir.execute(f"create feed Live{number} {query.removeprefix('create feed Unborn ')}")
        run(weir, cut(told(history), 3))
        for name, query in [*((name, name) for name in JOINED), *_live()]:
            record = weir.catalog.feeds.named(name)
            trial = weir.ask.backtest(query)
            live = sorted(weir.store.seqs(record.id).tolist(), reverse=True)
            assert trial.searched == len(history)
            assert trial.hits == len(live)
            shown = weir.feed_views.elements(record.id, live)
            entries = [entry.item for seq in live for entry in reversed(shown[seq])]
            assert [sample.item for sample in trial.samples] == entries[:20]
            annotations = weir.store.joined.annotations(record.id, live)
            found = [_unnamed(dict(sample.annotation)) for sample in trial.samples]
            assert found == [_unnamed(annotations.get(item.seq, {})) for item in entries[:20]]
            days = Counter(
                (item.published or item.arrived).date() for item in items_in(weir) if item.seq in live
            )
            assert dict(trial.per_day) == dict(days)


def _unnamed(joined: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Without the name of the feed, which joins are called by."""
    return {name.rpartition(".")[2]: seqs for name, seqs in joined.items()}


def _live() -> list[tuple[str, str]]:
    return [(f"Live{number}", query) for number, query in enumerate(QUERIES)]


def test_a_preview_looks_at_the_newest_items_only(flooded: Weir) -> None:
    trial = flooded.ask.preview("from * where title contains 'river'", 3)
    assert trial.searched == 3
    assert [sample.item.title for sample in trial.samples] == ["river music", "river music"]


def test_a_preview_of_a_join_finds_older_partners(flooded: Weir) -> None:
    whole = flooded.ask.backtest("Linked")
    trial = flooded.ask.preview("Linked", 2)
    assert trial.searched == 2
    expected = [
        sample for sample in whole.samples if sample.item.seq in {i.seq for i in items_in(flooded)[-2:]}
    ]
    assert list(trial.samples) == expected


def test_trying_out_activates_nothing(flooded: Weir) -> None:
    version = flooded.catalog.feeds.version()
    flooded.ask.backtest(QUERIES[2])
    assert flooded.catalog.feeds.version() == version
    assert flooded.catalog.feeds.find("Unborn") is None


def test_reasons_agree_with_what_is_in_the_feed(flooded: Weir) -> None:
    for name in (*JOINED, "Post"):
        members = set(flooded.store.seqs(flooded.catalog.feeds.named(name).id).tolist())
        for item in items_in(flooded):
            clause = flooded.ask.why(item.seq, name)
            assert clause.holds == (item.seq in members), (name, item.title)
            assert not clause.holds or any(part.holds for part in matched(clause)), (
                "of the streams it is made of"
            )


WHATEVER = (
    *("Linked", "Alike", "Recent", "Both", "Wet", "Deeper", "Near"),
    *("OfMade", "Elsewhere", "Mixed", "Once"),
)


@settings(max_examples=1, deadline=None)
@given(histories)
@example(FLOOD)
def test_the_logs_give_the_reasons_that_running_everything_again_gives(history: list[Entry]) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        weir.execute(f"create feed Once {QUERIES[3].removeprefix('create feed Unborn ')}")
        run(weir, cut(told(history), 3))
        for name in WHATEVER:
            for item in items_in(weir):
                remembered = weir.ask.why(item.seq, name)
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr(Questions, "_is_known", lambda *_: False)
                    evaluated = weir.ask.why(item.seq, name)
                    patched.setattr(preview, "narrowed", lambda plan, _: plan)
                    again = weir.ask.why(item.seq, name)
                assert list(remembered.lines()) == list(again.lines()), (name, item.title)
                assert list(evaluated.lines()) == list(again.lines()), (name, item.title)


def test_a_reason_of_a_feed_that_is_a_join_runs_nothing_again(
    flooded: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("run again")

    alike = {item.seq for item in flooded.items("Alike")}
    posts = {item.seq for item in flooded.items("Post", 100)}
    monkeypatch.setattr(preview, "replay", refused)
    assert alike
    assert posts - alike
    for seq in posts:
        assert flooded.ask.why(seq, "Alike").holds == (seq in alike)


def test_a_feed_that_is_younger_than_an_item_is_judged_as_it_is_defined(flooded: Weir) -> None:
    flooded.execute(
        "create feed Younger from Post as $p join last 6 hours on (Crier | Notes) as $w "
        "with $p[title similar window.title at least 0.5]"
    )
    for item in items_in(flooded):
        assert flooded.ask.why(item.seq, "Younger").holds == flooded.ask.why(item.seq, "Alike").holds


def test_who_found_no_partner_is_told_what_was_in_the_window(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        entries = [("Post", "river"), ("Crier", "music"), ("Notes", "otter"), ("Post", "flood")]
        run(
            weir,
            cut(
                told([Entry(source, title, "a", n, 1, None) for n, (source, title) in enumerate(entries)]), 2
            ),
        )
        alone, *_, unlike = items_in(weir)
        notes = [weir.ask.why(one.seq, "Alike").parts[0].note for one in (alone, unlike)]
        assert notes == [
            "it has no partner: its window was empty",
            "it has no partner: none of the 2 items in its window fits",
        ]


@pytest.mark.parametrize("is_in_force", [True, False], ids=["set in force", "compiled alone"])
def test_the_matchers_own_explanation_agrees_with_the_clauses(flooded: Weir, is_in_force: bool) -> None:
    for number, query in enumerate(QUERIES[:2]):
        flooded.execute(f"create feed Live{number} {query}")
    if is_in_force:
        flooded.refresh_set()
    for name in ("Post", "Live0", "Live1"):
        for item in items_in(flooded):
            clause = flooded.ask.why(item.seq, name)
            assert [part.holds for part in matched(clause)] == [clause.holds], (name, item.title)


def matched(clause: Clause) -> list[Clause]:
    """What the matcher reports: a match was a candidate, and all else was ruled out by something."""
    told = [part for part in clause.parts if part.text.startswith("matched")]
    for part in told:
        assert part.note.startswith("a candidate by ") or not part.holds
        assert ("ruled out by " in part.note) != part.holds
    return told


def test_a_reason_names_the_atom_and_the_clause_that_refused(flooded: Weir) -> None:
    flooded.execute("create feed Dry from * where title contains 'river' and not (title contains 'flood')")
    notes = {part.note for item in items_in(flooded) for part in flooded.ask.why(item.seq, "Dry").parts}
    assert "a candidate by title: river" in notes
    assert "a candidate by title: river; ruled out by not title contains 'flood'" in notes
    assert "not a candidate: it lacks title: river; ruled out by title contains 'river'" in notes


def test_a_set_that_cannot_be_read_does_not_keep_a_reason_from_being_told(flooded: Weir) -> None:
    clause = flooded.ask.why("2", "Wet")
    for path in flooded.directory.sets.rglob("*"):
        if path.is_file() and path.name != "CURRENT":
            path.unlink()
    again = flooded.ask.why("2", "Wet")
    assert [part.text for part in again.parts] == [part.text for part in clause.parts]
    assert again.holds == clause.holds


def leaves(clause: Clause) -> Iterator[Clause]:
    if not clause.parts:
        yield clause
    for part in clause.parts:
        yield from leaves(part)


def test_a_reason_shows_where_the_words_stand(flooded: Weir) -> None:
    clause = flooded.ask.why("3", "Wet")
    texts = {leaf.text: [text for _, text in leaf.spans] for leaf in leaves(clause)}
    assert texts["title contains 'river'"] == ["river"]
    assert texts["title contains 'flood'"] == ["flood"]
    assert not clause.holds
    assert "the item is from Crier" in "\n".join(clause.lines())


def test_a_reason_tells_the_partners(flooded: Weir) -> None:
    shown = "\n".join(flooded.ask.why("2", "Wet").lines())
    assert "Alike.w: items" in shown
    assert "✗" not in shown.split("\n")[0]


def test_an_item_or_feed_that_is_not_there_is_said_so(flooded: Weir) -> None:
    with pytest.raises(CatalogError, match="no item"):
        flooded.ask.why("nothing", "Wet")
    with pytest.raises(CatalogError, match="Wet"):
        flooded.ask.why("2", "Wett")


def test_the_stored_items_are_searched(flooded: Weir) -> None:
    found = flooded.ask.search("river -flood", 1)
    assert (found.found, found.searched, len(found.items)) == (2, 8, 1)
    assert found.items[0].title == "river music"


def test_a_preview_matches_the_newest_items_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    matched = preview.match_items

    def counted(matcher: CompiledSet, items: pa.RecordBatch) -> pa.Table:
        asked.append(items.num_rows)
        return matched(matcher, items)

    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, cut(told(FLOOD), 3))
        monkeypatch.setattr(preview, "match_items", counted)
        trial = weir.ask.preview("from *", limit=2)
        assert (trial.searched, trial.hits, sum(asked)) == (2, 2, 2)
        newest = sorted(items_in(weir), key=lambda item: item.seq)[-2:]
        assert [sample.item.seq for sample in trial.samples] == [item.seq for item in reversed(newest)]
