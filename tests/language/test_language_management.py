"""Statements that register, subscribe, alter, drop, describe, show and define."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from feedweir.channel_kinds import WRITTEN_CHANNELS
from feedweir.errors import LanguageError
from feedweir.language import format_statement, parse
from feedweir.language.queries import Named, Query
from feedweir.language.statements import (
    SHOWN,
    AlterFeed,
    AlterSubscription,
    Ask,
    CreateFeed,
    DefineWindow,
    Describe,
    DropFeed,
    DropSubscription,
    Explain,
    ExplainPlan,
    RegisterFeed,
    Show,
    Statement,
    Subscribe,
)
from feedweir.plan.window_lengths import LastItems

ASK_A = Query(Named("A"))
URL = "http://x.org/feed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"register feed {URL} as A", RegisterFeed("A", URL)),
        (f"register source '{URL}' as A", RegisterFeed("A", URL)),
        (f"register source feed '{URL}' as A", RegisterFeed("A", URL)),
        (f"register feed {URL} as A every 30 minutes", RegisterFeed("A", URL, every=timedelta(minutes=30))),
        (f"register feed {URL} as A hub http://hub/", RegisterFeed("A", URL, hub="http://hub/")),
        (f"register feed {URL} as A for ann", RegisterFeed("A", URL, owner="ann")),
        (f"register feed {URL} as A for everyone", RegisterFeed("A", URL)),
        (
            "register feed push://x as A id //order/@number",
            RegisterFeed("A", "push://x", id_path="//order/@number"),
        ),
        (
            f"register feed {URL} as A every hour hub http://hub/ id //@id for 'acme/ann'",
            RegisterFeed("A", URL, "", "", timedelta(hours=1), "acme/ann", "http://hub/", "//@id"),
        ),
        ("register feed M as A", RegisterFeed("A", feed="M")),
        (
            "register feed M apply 'T.xsl' as A every day",
            RegisterFeed("A", "", "M", "T.xsl", timedelta(days=1)),
        ),
        ("create feed N from A", CreateFeed("N", ASK_A)),
        ("create or replace feed N for ann from A", CreateFeed("N", ASK_A, True, "ann")),
        ("from A", Ask(ASK_A)),
        ("A", Ask(ASK_A)),
        ("subscribe to A output mail 'a@b.c'", Subscribe("A", "mail", "a@b.c")),
        ("subscribe to A as S output file 'a.xml'", Subscribe("A", "file", "a.xml", name="S")),
        (
            "subscribe to A as S for ann apply 'T.xsl' output webhook https://x.y secret 'whsec_a' with backlog",
            Subscribe(
                "A",
                "webhook",
                "https://x.y",
                "T.xsl",
                name="S",
                secret="whsec_a",
                owner="ann",
                with_backlog=True,
            ),
        ),
        ("subscribe to A output notify 'json://x'", Subscribe("A", "notify", "json://x")),
        ("subscribe to A output stream", Subscribe("A", "stream", "")),
        ("alter feed N rename to M", AlterFeed("N", rename="M")),
        ("alter source N url http://y.org", AlterFeed("N", url="http://y.org")),
        ("alter feed N every hour", AlterFeed("N", every=timedelta(hours=1))),
        ("alter feed N no every, no hub, no id", AlterFeed("N", every=timedelta(), hub="", id_path="")),
        ("alter feed N pause", AlterFeed("N", is_paused=True)),
        ("alter feed N resume, for everyone", AlterFeed("N", is_paused=False, owner="")),
        ("alter feed N hub http://hub/, id //@id", AlterFeed("N", hub="http://hub/", id_path="//@id")),
        ("alter feed N from A", AlterFeed("N", query=ASK_A)),
        ("alter subscription S apply 'T.xsl'", AlterSubscription("S", apply="T.xsl")),
        ("alter subscription S no apply, no backlog", AlterSubscription("S", apply="", with_backlog=False)),
        ("alter subscription S output mail 'a@b.c'", AlterSubscription("S", channel="mail", target="a@b.c")),
        (
            "alter subscription S output webhook https://x.y secret 'k', pause",
            AlterSubscription("S", channel="webhook", target="https://x.y", secret="k", is_paused=True),
        ),
        ("drop feed A", DropFeed("A")),
        ("drop source if exists A", DropFeed("A", True)),
        ("drop feed if", DropFeed("if")),
        ("drop subscription if exists S", DropSubscription("S", True)),
        ("describe A", Describe("A")),
        ("describe feed A", Describe("A")),
        ("describe source", Describe("source")),
        ("describe subscription S", Describe("S", "subscription")),
        ("show feeds", Show("feeds")),
        ("show sources for ann like '*news*'", Show("sources", "*news*", "ann")),
        ("show feeds limit 20", Show("feeds", limit=20)),
        ("show failures for ann like 'x' limit 1", Show("failures", "x", "ann", 1)),
        ("define window W as 5 items", DefineWindow("W", LastItems(5))),
        ("explain from A", Explain(Ask(ASK_A))),
        ("explain feed A", Explain(Ask(ASK_A))),
        ("explain create feed N from A", Explain(CreateFeed("N", ASK_A))),
        ("explain plan", ExplainPlan()),
        ("explain plan A", ExplainPlan("A")),
    ],
)
def test_a_statement_is_the_value_it_says(text: str, expected: Statement) -> None:
    assert parse(text) == (expected,)
    assert parse(format_statement(expected)) == (expected,)


@pytest.mark.parametrize("what", SHOWN)
def test_everything_there_is_can_be_shown(what: str) -> None:
    assert parse(f"SHOW {what.upper()}") == (Show(what),)  # type: ignore[arg-type]


@pytest.mark.parametrize("channel", WRITTEN_CHANNELS)
def test_every_channel_but_a_stream_needs_a_target(channel: str) -> None:
    if channel == "stream":
        assert parse("subscribe to A output stream")
        return
    with pytest.raises(LanguageError) as caught:
        parse(f"subscribe to A output {channel}")
    assert caught.value.message.startswith("the text ends where ")
    assert len(caught.value.expected) == 1


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("register", "the text ends where a URL or the name of a feed is expected", ""),
        (f"register feed {URL} A", "`A` is not expected here", "A"),
        (f"register feed {URL} as from", "`from` is a reserved word", "from"),
        (f"register feed {URL} as A hub x", "`x` is not the address of a hub", "x"),
        (f"register feed {URL} as A id //a[b]/c", "the path to an id consists of steps only", "//a[b]/c"),
        (f"register feed {URL} as A id //a->x", "the path to an id consists of steps only", "//a->x"),
        (f"register feed {URL} as A for 'a//b'", "`a//b` is not an owner", "'a//b'"),
        (f"register feed {URL} as A for /a", "`/` is not the name of an owner", "/a"),
        (f"register feed {URL} as A hourly", "`hourly` is not expected here", "hourly"),
        ("register feed M as A hub http://x", "`hub` is not expected here", "hub http://x"),
        ("create N from A", "`N` is not expected here", "N from A"),
        ("create or feed N from A", "`feed` is not expected here", "feed N from A"),
        ("create feed N A", "`A` is not expected here", "A"),
        ("create feed N from", "the text ends where the name of a feed is expected", ""),
        ("create feed N from A |", "the text ends where the name of a feed is expected", ""),
        ("create feed N from A, B", "`,` is not expected here", ", B"),
        ("subscribe A output mail 'x'", "`A` is not expected here", "A output mail 'x'"),
        ("subscribe to A mail 'x'", "`mail` is not expected here", "mail 'x'"),
        ("subscribe to A output letter 'x'", "`letter` is not a channel", "letter 'x'"),
        ("subscribe to A output mail x", "`x` is not a mail address", "x"),
        ("subscribe to A output mail 'x' secret 'y'", "`secret` is not a part of a schedule", "secret 'y'"),
        (
            "subscribe to A output webhook https://x.y secret",
            "the text ends where a secret, as in 'whsec_…' is expected",
            "",
        ),
        ("subscribe to A output mail 'x' with", "the text ends too early", ""),
        ("alter N pause", "`N` is not a feed or a subscription", "N pause"),
        ("alter feed N", "the text ends where something that can be changed is expected", ""),
        ("alter feed N pause resume", "`resume` is not expected here", "resume"),
        ("alter feed N pause, resume", "this clause is given twice", "resume"),
        ("alter feed N url x", "`x` is not a URL", "x"),
        ("alter feed N rename M", "`M` is not expected here", "M"),
        ("alter feed N no url", "`url` is not something that `no` can remove", "url"),
        ("alter feed N output mail 'x'", "`output` is not something that can be changed", "output mail 'x'"),
        ("alter subscription S url http://x", "`url` is not something that can be changed", "url http://x"),
        ("drop A", "`A` is not a feed or a subscription", "A"),
        ("drop feed", "the text ends where the name of a feed is expected", ""),
        ("drop feed if exists", "the text ends where the name of a feed is expected", ""),
        ("describe", "the text ends where the name of a feed is expected", ""),
        ("show", "the text ends where something to show is expected", ""),
        ("show feeds like news", "`news` is not a quoted pattern of names", "news"),
        ("show feeds limit 0", "nothing would be shown", "0"),
        ("show feeds limit -1", "`-` is not how many at most", "-1"),
        ("show feeds limit", "the text ends where how many at most is expected", ""),
        ("show feeds limit 2 like 'x'", "`like` is not expected here", "like 'x'"),
        ("define W as 3 days", "`W` is not expected here", "W as 3 days"),
        ("define window W 3 days", "`3` is not expected here", "3 days"),
        ("explain drop feed A", "only queries have a plan", "drop feed A"),
        ("explain", "the text ends where the beginning of a statement is expected", ""),
        ("explain plan a b", "`b` is not expected here", "b"),
        ("(", "the text ends where the name of a feed is expected", ""),
        (")", "`)` is not the beginning of a statement", ")"),
        ("from A; frm B", "`frm` is not the beginning of a statement", "frm B"),
    ],
)
def test_a_statement_with_a_mistake_is_refused_at_its_place(text: str, message: str, left: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert (caught.value.message, text[caught.value.offset :]) == (message, left)


@pytest.mark.parametrize("clause", [field.name for field in fields(AlterFeed)][1:-1])
def test_each_change_of_a_feed_can_be_said_alone(clause: str) -> None:
    values = {
        "rename": "M",
        "url": URL,
        "every": timedelta(hours=1),
        "is_paused": True,
        "query": ASK_A,
        "owner": "ann",
        "hub": "http://hub/",
        "id_path": "//@id",
    }
    changed = replace(AlterFeed("N"), **{clause: values[clause]})
    assert changed != AlterFeed("N")
    assert parse(format_statement(changed)) == (changed,)


def test_what_a_secret_is_does_not_appear_in_what_programs_print() -> None:
    (found,) = parse("subscribe to A output webhook https://x.y secret 'whsec_hidden'")
    assert "hidden" not in repr(found)
    assert "hidden" in format_statement(found)


def test_a_script_stops_at_its_first_mistake_and_says_where() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("from A;\nfrom B;\n\ncreate feed from C;\nthis is worse")
    assert (caught.value.line, caught.value.column) == (4, 13)


def test_a_window_that_a_script_names_again_is_the_newer_one() -> None:
    script = (
        "define window W as 3 days; define window W as 5 items; from A join last W on B with [similar window]"
    )
    asked = parse(script)[-1]
    assert isinstance(asked, Ask)
    assert asked.query.joins[0].window == LastItems(5)
