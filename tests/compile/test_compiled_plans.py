"""From the text of a statement through every rule to what is compiled, run and explained: one plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.ask import explanation, questions
from feedweir.join.stored.join_versions import open_joins
from feedweir.join.streams import JoinSet
from feedweir.optimize import normalisation
from feedweir.optimize.cost import JoinCounts
from feedweir.optimize.join_order import KnownStreams, ordered
from feedweir.optimize.rules import RULES
from feedweir.optimize.statistics import SourceStatistics
from feedweir.pipeline.sets import joins_path
from feedweir.plan.nodes import AnnotationJoin, Filter, Node
from feedweir.plan.plan_wire import chains_of
from feedweir.plan.walk import postorder
from feedweir.service.installation import Weir
from tests.join.stored import everything

SCRIPT = """
register feed http://x.org/A as A; register feed http://x.org/B as B; register feed http://x.org/C as C;
create feed Both from A | B;
create feed Joined from Both as $a join last 10 items on C as $p with $a[category = window.category];
create feed Sun from Joined where title contains 'sun';
create feed Late from Sun | C where published.year > 2000 and published.year > 1990;
create feed Never from A where revision > 2 and revision < 1;
"""


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path) as opened:
        opened.execute(SCRIPT)
        yield opened


def document(*entries: tuple[str, str, str]) -> bytes:
    items = "".join(
        f"<item><guid>{guid}</guid><title>{title}</title><category>{category}</category></item>"
        for guid, title, category in entries
    )
    return f'<rss version="2.0"><channel><title>x</title>{items}</channel></rss>'.encode()


def in_force(weir: Weir, feed: str) -> Node:
    joins = everything(open_joins(joins_path(weir.directory.sets, weir.version_in_force())))
    return {one.feed: one.plan for one in joins.feeds}[weir.catalog.feeds.named(feed).id]


def test_every_rule_is_asked_while_statements_are_compiled_and_run(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()

    def counted(rule: Callable[[Node], Node]) -> Callable[[Node], Node]:
        def ask(node: Node) -> Node:
            asked[rule.__name__] += 1
            return rule(node)

        ask.__name__ = rule.__name__
        return ask

    monkeypatch.setattr(normalisation, "RULES", tuple(map(counted, RULES)))
    weir.push("C", document(("1", "sun", "x")))
    weir.run()
    assert set(asked) == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("feed", ["Joined", "Sun", "Late"])
def test_what_is_explained_is_what_was_compiled(weir: Weir, feed: str) -> None:
    weir.refresh_set()
    assert weir.ask.explain(feed).steps[-1].plan == in_force(weir, feed)


def test_a_filter_over_a_joined_feed_is_found_by_the_set_and_asked_of_no_joined_item(weir: Weir) -> None:
    weir.refresh_set()
    for feed in ("Sun", "Late"):
        plan = in_force(weir, feed)
        assert not any(
            isinstance(node, Filter) and any(isinstance(one, AnnotationJoin) for one in postorder(node))
            for node in postorder(plan)
        )
        made = JoinSet(everything(open_joins(joins_path(weir.directory.sets, weir.version_in_force()))).feeds)
        assert not any(isinstance(stream.node, Filter) for stream in made.computed.values())


def test_joins_that_are_filtered_keep_their_names_and_partners(weir: Weir) -> None:
    weir.push("C", document(("1", "sun one", "x"), ("2", "rain two", "x")))
    weir.push("A", document(("3", "sun three", "x"), ("4", "rain four", "x"), ("5", "sun five", "y")))
    weir.run()
    assert {item.identity for item in weir.items("Joined")} == {"3", "4"}
    assert {item.identity for item in weir.items("Sun")} == {"3"}
    sun = weir.catalog.feeds.named("Sun").id
    assert weir.store.joined.annotations(sun, weir.store.seqs(sun).tolist()) == weir.store.joined.annotations(
        weir.catalog.feeds.named("Joined").id, weir.store.seqs(sun).tolist()
    )


def test_what_can_never_match_is_compiled_and_told(weir: Weir) -> None:
    (done,) = weir.execute("create feed Again from B where revision > 2 and revision < 1")
    assert done.advice == ("Again can never match",)
    weir.push("A", document(("1", "sun", "x")))
    weir.run()
    assert weir.items("Never") == []
    assert "nothing can find it" in "\n".join(weir.ask.why("1", "Never").lines())


CHAIN = """
register feed http://x.org/A as A; register feed http://x.org/B as B; register feed http://x.org/C as C;
create feed Chain from A as $a
    join last 50 items on B as $loose with $a[category = window.category]
    join last 50 items on C as $strict with $a[title = window.title];
create feed Over from C join last 50 items on Chain as $seen with [category = window.category];
"""


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC)) as opened:
        opened.execute(CHAIN)
        yield opened


def order_of(plan: Node) -> list[str]:
    """The joins of the topmost stream, the first that is asked first."""
    found = []
    while isinstance(plan, AnnotationJoin):
        found.append(plan.identifier)
        plan = plan.primary
    return found[::-1]


def partners(weir: Weir, feed: str) -> dict[str, dict[str, list[str]]]:
    """By guid of an element the guids of its partners, by join."""
    number = weir.catalog.feeds.named(feed).id
    found = {}
    for (entry,) in weir.feed_views.elements(number, weir.store.seqs(number).tolist()).values():
        found[entry.item.identity] = {
            name: sorted(item.identity for item in items) for name, items in entry.annotation
        }
    return found


def test_the_join_that_drops_more_for_less_is_asked_first_and_windows_stay_filled(chain: Weir) -> None:
    chain.refresh_set()
    assert order_of(in_force(chain, "Chain")) == ["Chain.loose", "Chain.strict"]
    assert "(assumed: nothing was counted yet)" in chain.ask.explain("Chain").text
    chain.push("B", document(*((f"b{n}", "any", "x") for n in range(5))))
    chain.push("C", document(("c0", "rare", "x"), ("c1", "other", "x")))
    chain.push("A", document(*((f"a{n}", "rare" if n == 0 else f"title {n}", "x") for n in range(40))))
    chain.run()
    text = chain.ask.explain("Chain").text
    assert "(counted: 40 of 40 items had a partner, 200 in all)" in text
    assert "(counted: 1 of 40 items had a partner, 1 in all)" in text
    plan = in_force(chain, "Chain")
    assert order_of(plan) == ["Chain.strict", "Chain.loose"]
    assert chain.ask.explain("Chain").plan == plan
    assert chain.ask.explain("Chain").steps[-1].rule == "order of joins"
    chain.push("A", document(("a99", "rare", "x")))
    chain.push("C", document(("c9", "more", "x")))
    chain.run()
    everyone = {"Chain.loose": [f"b{n}" for n in range(5)], "Chain.strict": ["c0"]}
    assert partners(chain, "Chain") == {"a0": everyone, "a99": everyone}
    assert partners(chain, "Over") == {"c9": {"Over.seen": ["a0", "a99"]}}, "the window over the joins stays"


def explained(weir: Weir, script: str) -> str:
    return weir.execute(script)[-1].message


def test_every_way_to_explain_a_feed_shows_what_was_compiled_until_the_feed_says_something_else(
    chain: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.refresh_set()
    compiled = in_force(chain, "Chain")
    loose, strict = chains_of(compiled).values()
    counted = KnownStreams(
        {name: SourceStatistics(100.0, 100.0) for name in "ABC"},
        {loose.name: JoinCounts(40.0, 40.0, 200.0), strict.name: JoinCounts(40.0, 1.0, 1.0)},
    )
    for module in (explanation, questions):
        monkeypatch.setattr(module, "known_streams", lambda *_: counted)
    assert ordered(compiled, counted) != compiled, "what was counted since asks for another order"
    chain.execute("create feed Elsewhere from B where title contains 'hail'")
    for text in ("Chain", "explain feed Chain", "from Chain"):
        assert chain.ask.explain(text).plan == compiled
    assert "order of joins" not in explained(chain, "explain feed Chain")
    altered = "alter feed Chain from A as $a join last 5 items on B as $loose with $a[title = window.title]"
    assert "last 5 items" in explained(chain, f"{altered}; explain feed Chain")
