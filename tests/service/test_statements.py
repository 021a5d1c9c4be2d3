"""Statements carried out: each does what it says, and a script is one act."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.catalog import NewSubscription
from feedweir.errors import CatalogError, FeedweirError, LanguageError
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BEGUN = """
register feed http://example.org/post as Post;
register feed http://example.org/notes as Notes;
create feed Water from (Post | Notes) as $r where $r[title contains 'river'];
create feed Calm from Water as $w join last 3 days on Notes as $n with $w[title similar window.title]
    where $w[not (title contains 'flood')];
create feed Paired from xscl { Water//item[author->a] FOLLOWED BY{a=b, 3 days} Notes//item[author->b] };
"""


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    opened = Weir.open(tmp_path, clock=lambda: NOON)
    opened.execute(BEGUN)
    return opened


def rows(weir: Weir, statement: str) -> list[dict[str, object]]:
    (outcome,) = weir.execute(statement)
    return list(outcome.rows)


def facts(weir: Weir, statement: str) -> dict[str, object]:
    return {str(row["what"]): row["value"] for row in rows(weir, statement)}


def test_a_script_of_which_one_statement_is_refused_changes_nothing(weir: Weir) -> None:
    version = weir.catalog.feeds.version()
    with pytest.raises(FeedweirError):
        weir.execute("alter feed Post pause; subscribe to Water output file 'w.rss'; drop feed Post")
    assert weir.catalog.feeds.version() == version
    assert weir.catalog.sources.named("Post").state.status == "active"
    assert not weir.catalog.subscriptions.all()


def test_feeds_that_follow_each_other_in_a_script_are_made_in_one_go(weir: Weir) -> None:
    version = weir.catalog.feeds.version()
    script = ";".join(
        f"create feed F{number} from Water where title contains 'w{number}'" for number in range(50)
    )
    outcomes = weir.execute(f"{script}; create feed All from F0 | F49")
    assert [outcome.name for outcome in outcomes] == [*(f"F{number}" for number in range(50)), "All"]
    assert weir.catalog.feeds.version() == version + 1
    assert weir.catalog.feeds.named("All").reads == ("F0", "F49")


def test_statements_of_a_script_see_what_those_before_them_made(weir: Weir) -> None:
    outcomes = weir.execute(
        "register feed http://example.org/new as New every 2 hours; create feed One from New; create feed Two from One;"
        "create or replace feed One from New where title contains 'river'; show feeds like 'One';"
        "subscribe to Two output file 't.rss'; alter feed Two rename to Three; create feed Gone from One;"
        "drop feed Gone"
    )
    assert "river" in str(outcomes[4].rows)
    assert weir.catalog.feeds.named("Three").reads == ("One",)
    assert weir.catalog.feeds.find("Gone") is None
    assert len(weir.catalog.subscriptions.all(feed="Three")) == 1


def test_a_name_that_a_script_gives_twice_is_refused(weir: Weir) -> None:
    with pytest.raises(CatalogError, match="there is a feed 'One' already"):
        weir.execute("create feed One from Post; create feed One from Notes")
    assert weir.catalog.feeds.find("One") is None


def test_a_source_gets_another_url_and_keeps_what_reads_it(weir: Weir) -> None:
    weir.execute("alter feed Post url https://example.org/other, every 2 hours")
    assert weir.catalog.sources.named("Post").state.url == "https://example.org/other"
    assert "every 2 hours" in weir.catalog.feeds.named("Post").statement
    assert weir.catalog.feeds.readers("Post") == ("Water",)


def test_a_source_is_paused_and_resumed(weir: Weir) -> None:
    weir.execute("alter feed Post pause")
    assert [row["status"] for row in rows(weir, "show sources like 'post'")] == ["paused"]
    assert not [source for source in weir.catalog.sources.due(NOON, 10) if source.name == "Post"]
    weir.execute("alter feed Post resume")
    assert weir.catalog.sources.named("Post").state.status == "active"


def test_a_source_keeps_its_name(weir: Weir) -> None:
    with pytest.raises(CatalogError, match="create feed News from Post"):
        weir.execute("alter feed Post rename to News")


def test_a_virtual_feed_is_not_paused(weir: Weir) -> None:
    with pytest.raises(CatalogError, match="subscriptions to it"):
        weir.execute("alter feed Water pause")


def test_a_virtual_feed_gets_another_query_and_keeps_its_number(weir: Weir) -> None:
    before = weir.catalog.feeds.named("Water")
    weir.execute("alter feed Water from * where title contains 'flood'")
    after = weir.catalog.feeds.named("Water")
    assert after.id == before.id
    assert after.reads == ()
    assert "flood" in after.statement


def test_a_renamed_feed_is_renamed_wherever_it_is_read(weir: Weir) -> None:
    weir.execute("subscribe to Water as Desk output file 'w.rss'")
    number = weir.catalog.feeds.named("Water").id
    weir.execute("alter feed Water rename to Rivers")
    assert weir.catalog.feeds.find("Water") is None
    assert weir.catalog.feeds.named("Rivers").id == number
    for reader in ("Calm", "Paired"):
        assert "Water" not in weir.catalog.feeds.named(reader).statement
        assert "Rivers" in weir.catalog.feeds.named(reader).reads
    assert "to Rivers" in weir.catalog.subscriptions.all()[0].statement
    weir.execute("create feed Water from Rivers; alter feed Rivers rename to rivers")
    assert weir.catalog.feeds.named("Water").reads == ("rivers",)
    weir.refresh_set()
    assert not weir.catalog.failures.latest()


def test_a_feed_is_not_renamed_to_a_name_that_is_taken(weir: Weir) -> None:
    with pytest.raises(CatalogError):
        weir.execute("alter feed Water rename to Calm")


def test_a_feed_that_others_read_is_not_dropped(weir: Weir) -> None:
    with pytest.raises(CatalogError, match="Calm"):
        weir.execute("drop feed Water")
    assert weir.execute("drop feed if exists Nothing")[0].message == "there was no Nothing"


def test_who_subscribed_at_our_hub_does_not_keep_a_feed_from_being_dropped(weir: Weir) -> None:
    lease = NewSubscription(
        feed="Paired",
        statement="",
        channel="websub",
        target="http://elsewhere.example/",
        options={"topic": "http://here.example/feeds/Paired.rss", "until": "2026-06-11T12:00:00+00:00"},
        created_at=NOON,
    )
    id_ = weir.catalog.subscriptions.add(lease)
    weir.execute("subscribe to Paired as Desk output file 'p.rss'")
    with pytest.raises(CatalogError, match="still used by subscription Desk"):
        weir.execute("drop feed Paired")
    assert weir.catalog.subscriptions.with_id(id_).status == "active"
    weir.execute("drop subscription Desk; drop feed Paired")
    assert weir.catalog.subscriptions.with_id(id_).status == "dropped"


def test_replacing_a_feed_is_kept_as_creating_it(weir: Weir) -> None:
    weir.execute("create or replace feed Water from Post")
    assert weir.catalog.feeds.named("Water").statement.startswith("create feed Water")


def test_a_source_can_be_made_of_a_virtual_feed(weir: Weir) -> None:
    weir.execute("register feed Water apply 'Title.xsl' as Short")
    record = weir.catalog.feeds.named("Short")
    assert (record.kind, record.reads) == ("source", ("Water",))
    assert weir.push("Short", b"<rss/>") == 1


def test_a_subscription_is_made_changed_paused_and_dropped(weir: Weir) -> None:
    weir.execute("subscribe to Water as Desk apply 'Title.xsl' output mail 'a@example.org' every 3 hours")
    (record,) = weir.catalog.subscriptions.all()
    assert (record.channel, record.target, dict(record.schedule)) == (
        "mail",
        "a@example.org",
        {"every_s": 10_800},
    )
    assert record.options == {"name": "Desk", "apply": "Title.xsl"}
    weir.execute("alter subscription Desk output file 'w.rss', every 10 minutes, pause")
    (changed,) = weir.catalog.subscriptions.all()
    assert (changed.id, changed.channel, changed.target, changed.status) == (
        record.id,
        "file",
        "w.rss",
        "paused",
    )
    assert dict(changed.schedule) == {"every_s": 600}
    assert changed.options["apply"] == "Title.xsl"
    weir.execute(f"alter subscription Desk rename to Table; drop subscription '{record.id}'")
    assert not weir.catalog.subscriptions.all()
    assert weir.execute("drop subscription if exists Desk")[0].message == "there was no subscription Desk"


def test_whatever_can_be_set_of_a_subscription_can_be_taken_back(weir: Weir) -> None:
    weir.execute(
        "subscribe to Water as Desk apply 'Title.xsl' output mail 'a@example.org' at '08:30' zone 'Europe/Paris'"
        " quiet '22:00-07:00' mute until 2027-01-01 at most 4 messages per hour with backlog"
    )
    weir.execute("alter subscription Desk no apply, no schedule, no backlog, for everyone")
    (record,) = weir.catalog.subscriptions.all()
    assert record.options == {"name": "Desk"}
    assert dict(record.schedule) == {}


def test_two_subscriptions_do_not_share_a_name(weir: Weir) -> None:
    weir.execute("subscribe to Water as Desk output file 'w.rss'")
    with pytest.raises(CatalogError, match="already"):
        weir.execute("subscribe to Calm as Desk output file 'c.rss'")
    with pytest.raises(CatalogError, match="Desk"):
        weir.execute("drop subscription Desc")


def test_what_there_is_can_be_shown(weir: Weir) -> None:
    weir.execute("subscribe to Water output file 'w.rss'")
    assert [row["name"] for row in rows(weir, "show sources")] == ["Notes", "Post"]
    assert [row["name"] for row in rows(weir, "show feeds")] == ["Calm", "Paired", "Water"]
    assert [row["name"] for row in rows(weir, "show feeds like '*A*r'")] == ["Water"]
    assert [row["name"] for row in rows(weir, "show feeds limit 2")] == ["Calm", "Paired"]
    assert [row["name"] for row in rows(weir, "show statistics like 'a' limit 2")] == ["Calm", "Paired"]
    assert [row["feed"] for row in rows(weir, "show subscriptions")] == ["Water"]
    assert not rows(weir, "show failures")


def test_statistics_count_what_feeds_got(weir: Weir) -> None:
    weir.push("Post", b"<rss version='2.0'><channel><item><title>river</title></item></channel></rss>")
    weir.run()
    hits = {str(row["name"]): row["hits"] for row in rows(weir, "show statistics")}
    assert hits == {"Calm": 0, "Notes": 0, "Paired": 0, "Post": 1, "Water": 1}


def test_a_feed_and_a_subscription_are_described(weir: Weir) -> None:
    weir.execute("subscribe to Water as Desk output file 'w.rss' every 1 day")
    water = facts(weir, "describe Water")
    assert water["read_by"] == ["Calm", "Paired"]
    assert water["subscriptions"] == ["Desk"]
    assert facts(weir, "describe Post")["url"] == "http://example.org/post"
    assert facts(weir, "describe subscription Desk")["schedule"] == "every 1 day"


def test_an_explanation_tells_the_rules_and_changes_nothing(weir: Weir) -> None:
    version = weir.catalog.feeds.version()
    (outcome,) = weir.execute("explain create feed Late from Calm where title contains 'late'")
    assert outcome.message.startswith("as written\n  σ")
    assert "push_through_joins" in outcome.message
    assert weir.catalog.feeds.version() == version
    assert "digraph" in weir.ask.explain("Calm").dot


def test_a_query_without_a_name_is_answered(weir: Weir) -> None:
    weir.push("Post", b"<rss version='2.0'><channel><item><title>river</title></item></channel></rss>")
    weir.run()
    made, answer = weir.execute("create feed Late from Post; from Late where title contains 'river'")
    assert made.name == "Late"
    assert answer.message == "1 of the newest 1 items"
    assert [row["title"] for row in answer.rows] == ["river"]


def test_a_statement_costs_what_it_names_however_many_feeds_there_are(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    weir.refresh_set()
    for name in ("all", "definitions"):
        monkeypatch.setattr(type(weir.catalog.feeds), name, None)
    script = (
        "create feed Late from Post where title contains 'late'",
        "create feed Later from Late where title contains 'later'",
        "alter feed Late from * where title contains 'late'",
        "from Later | Calm where title contains 'river'",
        "drop feed Later",
    )
    for one in script:
        assert weir.execute(one)


def test_a_window_is_defined_for_its_script(weir: Weir) -> None:
    weir.execute(
        "define window Lately as 3 days;"
        "create feed Twice from Post join last Lately on Notes with [title = window.title]"
    )
    assert "last 3 days" in weir.catalog.feeds.named("Twice").statement


def test_only_one_query_can_be_tried_out(weir: Weir) -> None:
    with pytest.raises(LanguageError, match="one query"):
        weir.ask.preview("drop feed Water")


def test_a_change_of_a_schedule_keeps_what_it_does_not_name(weir: Weir) -> None:
    weir.execute("subscribe to Water as Desk output mail 'a@example.org' at '08:30' quiet '22:00-07:00'")
    weir.execute("alter subscription Desk every 3 hours, zone 'Europe/Paris'")
    assert dict(weir.catalog.subscriptions.all()[0].schedule) == {
        "at": ["08:30"],
        "every_s": 10_800,
        "quiet": ["22:00-07:00"],
        "zone": "Europe/Paris",
    }
    weir.execute("alter subscription Desk no quiet, no at, at '07:00 sat'")
    assert facts(weir, "describe subscription Desk")["schedule"] == (
        "every 3 hours at '07:00 sat' zone 'Europe/Paris'"
    )
    weir.execute("alter subscription Desk no schedule")
    assert not weir.catalog.subscriptions.all()[0].schedule


def test_a_schedule_that_was_made_without_a_statement_is_changed_in_part_too(weir: Weir) -> None:
    made = NewSubscription(
        feed="Water",
        statement="",
        channel="mail",
        target="a@example.org",
        schedule={"count": 5, "longest_wait_s": 60, "cap": [4, 3_600], "per_message": 9},
        options={"name": "Desk"},
        created_at=weir.clock(),
    )
    weir.catalog.subscriptions.add(made)
    weir.execute("alter subscription Desk mute until 2030-01-01, after 1 hour")
    assert facts(weir, "describe subscription Desk")["statement"] == (
        "subscribe to Water as Desk output mail 'a@example.org' after 5 items or 1 hour"
        " mute until '2030-01-01T00:00:00' at most 4 messages per 1 hour at most 9 items per message"
    )


def test_a_time_that_is_none_is_refused_where_it_stands(weir: Weir) -> None:
    with pytest.raises(LanguageError, match="hour") as caught:
        weir.execute("subscribe to Water output mail 'a@example.org'\n  at '08:00', '0 25 * * *'")
    assert (caught.value.line, caught.value.column) == (2, 15)
    assert not weir.catalog.subscriptions.all()


def test_a_webhook_is_signed_with_a_secret_that_only_its_description_tells(weir: Weir) -> None:
    (outcome,) = weir.execute("subscribe to Water as Hook output webhook https://example.org/hook")
    secret = facts(weir, "describe subscription Hook")["secret"]
    assert secret.startswith("whsec_")
    assert outcome.message.endswith(secret)
    weir.execute("alter subscription Hook at most 2 items per message")
    assert facts(weir, "describe subscription Hook")["secret"] == secret
    weir.execute("alter subscription Hook output webhook https://example.org/hook secret 'whsec_b3RoZXI='")
    assert facts(weir, "describe subscription Hook")["secret"] == "whsec_b3RoZXI="
    assert "whsec" not in weir.catalog.subscriptions.all()[0].statement


@pytest.mark.parametrize(
    ("said", "column", "message"),
    [
        ("output mail 'nobody'", 28, "'nobody' is not a mail address"),
        ("output webhook ftp://x.y/z", 31, "'ftp://x.y/z' is not an http or https address"),
        ("output file '../passwd'", 28, "'../passwd' is not a path below the directory `outputs`"),
        ("output file 'news.exe'", 28, ".exe is not the suffix of a feed format"),
        ("apply 'Nope.xml' output stream", 22, "there is no stylesheet 'Nope.xml'"),
    ],
)
def test_what_could_never_be_sent_is_refused_where_it_is_said(
    weir: Weir, said: str, column: int, message: str
) -> None:
    weir.execute("register feed https://x.y/z as A")
    with pytest.raises(LanguageError) as refused:
        weir.execute(f"subscribe to A {said}")
    assert (refused.value.message, refused.value.column) == (message, column)
    assert not weir.catalog.subscriptions.all()


def test_a_stylesheet_of_the_installation_can_be_applied_and_any_suffix_then(weir: Weir) -> None:
    weir.execute("register feed https://x.y/z as A")
    sheets = weir.directory.root / "stylesheets"
    sheets.mkdir()
    (sheets / "Mine.xsl").write_text("<x/>", encoding="utf-8")
    weir.execute("subscribe to A as S apply 'mine' output file 'news.exe'")
    with pytest.raises(LanguageError, match="there is no stylesheet 'Yours'"):
        weir.execute("alter subscription S apply 'Yours'")
    with pytest.raises(LanguageError, match="there is no stylesheet 'Yours'"):
        weir.execute("register feed A apply 'Yours' as B")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/feed", "gopher://x.y/", "http://", "https://u:p@/"]
)
def test_an_address_that_cannot_be_fetched_is_refused_where_it_stands(weir: Weir, url: str) -> None:
    weir.execute("register feed push://local as Pushed; register feed http://x.y/ as Fetched")
    for text in (f"register feed '{url}' as New", f"alter feed Fetched url '{url}'"):
        with pytest.raises(LanguageError, match="cannot be fetched") as refused:
            weir.execute(text)
        assert refused.value.column == text.index("'") + 1
        assert "https://" in refused.value.hint
    assert weir.catalog.feeds.find("New") is None
