"""Plans of a running installation: from what was counted, kept through changes, made anew without a lost element."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from feedweir.catalog import AtomCount
from feedweir.compile import plan_store
from feedweir.compile import statistics_intake as observing
from feedweir.compile.plan_store import load_plan, plan_in_force
from feedweir.compile.planner import AT_ONCE, Planner, WantedPlan, make_plan
from feedweir.compile.plans import Plans
from feedweir.compile.statistics_intake import LANDMARK, growth, remembered_s, statistics_of, weights_of
from feedweir.errors import CatalogError
from feedweir.logs.directory import current_version
from feedweir.optimize.filter_plans.drift import ReplanPolicy
from feedweir.optimize.filter_plans.plan_report import as_text, as_value
from feedweir.optimize.statistics import HALF_LIFE_ITEMS, HALF_LIFE_S, SourceStatistics
from feedweir.pipeline.observations import MOST_OF_A_SOURCE
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query
from feedweir.service.installation import Weir

WORDS = [f"w{number}" for number in range(20)]
EAGER = ReplanPolicy(threshold=0.1, horizon_s=1e18, min_interval_s=0.0)


class Hours:
    """A clock that goes on by an hour when told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, hours: float = 1.0) -> None:
        self.now += timedelta(hours=hours)


@pytest.fixture
def clock() -> Hours:
    return Hours()


@pytest.fixture
def weir(tmp_path: Path, clock: Hours) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=clock) as opened:
        opened.execute("register feed http://x.org/a as A; register feed http://x.org/b as B")
        yield opened


def document(number: int, titles: list[str]) -> bytes:
    entries = "".join(
        f"<item><guid>{number}-{place}</guid><title>{title}</title></item>"
        for place, title in enumerate(titles)
    )
    return f'<rss version="2.0"><channel><title>x</title>{entries}</channel></rss>'.encode()


def create(weir: Weir, feeds: dict[str, tuple[str, ...]], source: str = "A") -> None:
    conditions = {
        name: " and ".join(f"title contains '{word}'" for word in words) for name, words in feeds.items()
    }
    weir.execute(
        ";".join(
            f"create or replace feed {name} from {source} where {text}" for name, text in conditions.items()
        )
    )


def plan_anew(weir: Weir) -> None:
    """Compile everything, as when a plan has drifted."""
    weir.catalog.feeds.renew()
    weir.refresh_set()


def title(word: str) -> Contains:
    return Contains("title", (Term(word),), 1)


def known(weir: Weir, source: str = "A"):
    record = weir.catalog.feeds.named(source)
    return statistics_of(weights_of(weir.catalog, record.id), record.created_at, weir.clock())


def test_what_tasks_count_becomes_shares_and_rates(weir: Weir, clock: Hours) -> None:
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind")})
    weir.push("A", document(1, ["sun rain"] * 6 + ["sun wind"] * 3 + ["fog"] * 3))
    clock.pass_()
    weir.run()
    found = known(weir)
    assert found.items == pytest.approx(12)
    assert found.rate == pytest.approx(12 / 3600, rel=0.01)
    assert found.atoms[title("sun")] == pytest.approx(9)
    assert found.atoms[title("rain")] == pytest.approx(6)
    assert found.pairs[title("rain"), title("sun")] == pytest.approx(6)
    assert not list(weir.directory.observations.glob("*.json"))


def test_what_was_counted_is_taken_in_without_reading_conditions_or_writing_them_anew(
    weir: Weir, clock: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind")})
    weir.refresh_set()
    monkeypatch.setattr(observing, "predicate_to_json", None)
    monkeypatch.setattr(plan_store, "predicate_from_json", None)
    weir.push("A", document(1, ["sun rain"] * 5 + ["fog"] * 15))
    clock.pass_()
    weir.run()
    monkeypatch.undo()
    assert known(weir).atoms[title("sun")] == pytest.approx(5, rel=0.1)


def test_what_did_not_hold_fades_without_a_row_of_its_own(
    weir: Weir, clock: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(weir, {f"F{number}": ("sun", word) for number, word in enumerate(WORDS)})
    weir.push("A", document(1, [f"sun {word}" for word in WORDS]))
    weir.run()
    rows: list[AtomCount] = []

    def noted(*fields: Any) -> AtomCount:
        rows.append(AtomCount(*fields))
        return rows[-1]

    monkeypatch.setattr(observing, "AtomCount", noted)
    weir.push("A", document(2, ["sun w0"] * 20))
    weir.run()
    assert {row.times for row in rows} == {20}
    left = 0.5 ** (20 / HALF_LIFE_ITEMS)
    assert known(weir).atoms[title("w1")] == pytest.approx(left)
    assert known(weir).atoms[title("w0")] == pytest.approx(left + 20)


def test_counts_fade_and_are_taken_in_once(weir: Weir, clock: Hours) -> None:
    create(weir, {"F1": ("sun", "rain")})
    weir.push("A", document(1, ["sun"] * 10))
    weir.run()
    weir.tidy()
    before = known(weir)
    clock.pass_(HALF_LIFE_S / 3600)
    weir.tidy()
    after = known(weir)
    assert after.atoms[title("sun")] == pytest.approx(before.atoms[title("sun")] / 2)
    assert after.items == pytest.approx(before.items / 2)


def test_no_more_items_of_a_source_are_looked_at_than_allowed(weir: Weir) -> None:
    create(weir, {"F1": ("sun", "rain")})
    weir.push("A", document(1, [f"sun {number}" for number in range(200)]))
    create(weir, {"F2": ("rain",)}, source="B")
    weir.push("B", document(2, ["rain"] * 3))
    weir.run()
    assert known(weir, "A").items == pytest.approx(MOST_OF_A_SOURCE)
    assert known(weir, "A").atoms[title("sun")] == pytest.approx(MOST_OF_A_SOURCE)
    assert known(weir, "B").items == pytest.approx(3)


def test_what_is_watched_late_begins_at_what_was_assumed(weir: Weir) -> None:
    create(weir, {"F1": ("sun", "rain")})
    weir.push("A", document(1, ["sun"] * 20))
    weir.run()
    create(weir, {"F2": ("wind", "hail")})
    plan_anew(weir)
    weir.push("A", document(2, ["wind"] * 20))
    weir.run()
    left = 0.5 ** (20 / HALF_LIFE_ITEMS)
    assert known(weir).atoms[title("wind")] == pytest.approx(20 + left * 0.05 * 20)


def test_feeds_that_come_change_and_go_are_in_the_plan(weir: Weir) -> None:
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind"), "F3": ("sun", "hail")})
    weir.refresh_set()
    assert "title contains 'sun'  in 1/s" in as_text(weir.ask.plans("A")[0])
    weir.execute("drop feed F2; drop feed F3")
    create(weir, {"F1": ("sun", "fog")})
    plan_anew(weir)
    (plan,) = weir.ask.plans("A")
    assert {feed for node in plan.nodes for feed in node.feeds} == {"A", "F1"}
    assert {node.condition for node in plan.nodes if "F1" in node.feeds} == {
        "title contains 'sun' and title contains 'fog'"
    }


def test_feeds_that_were_added_beside_the_plan_make_it_drift(weir: Weir, clock: Hours) -> None:
    weir.plans = Plans(weir.catalog, weir.directory, clock, EAGER)
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind")})
    weir.push("A", document(1, ["sun rain", "fog"]))
    clock.pass_()
    weir.run()
    create(weir, {f"G{number}": ("snow", word) for number, word in enumerate(WORDS)})
    weir.refresh_set()
    weir.tidy()
    (plan,) = weir.ask.plans("A")
    assert {feed for node in plan.nodes for feed in node.feeds} >= {f"G{n}" for n in range(20)}
    assert next(node for node in plan.nodes if node.condition == "title contains 'snow'").shared_by == 20


def drifted(weir: Weir, clock: Hours, random: Random) -> dict[str, tuple[str, ...]]:
    """Feeds planned when the first words are frequent; then the last ones are."""
    feeds = {
        f"F{number}": tuple(sorted(random.sample(WORDS[:6], 1) + random.sample(WORDS[14:], 2)))
        for number in range(40)
    }
    create(weir, feeds)
    publish(weir, clock, 1, random, frequent=WORDS[14:])
    create(weir, {"Final": (WORDS[0],)})
    feeds["Final"] = (WORDS[0],)
    plan_anew(weir)
    return feeds


def publish(weir: Weir, clock: Hours, number: int, random: Random, *, frequent: list[str]) -> list[str]:
    rare = [word for word in WORDS if word not in frequent]
    titles = [
        " ".join(sorted({*random.sample(frequent, 4), *random.sample(rare, 1)}))
        for _ in range(MOST_OF_A_SOURCE)
    ]
    weir.push("A", document(number, titles))
    clock.pass_()
    weir.run()
    return titles


def test_a_plan_that_has_drifted_is_made_anew_and_no_element_is_lost_or_repeated(
    weir: Weir, clock: Hours
) -> None:
    weir.plans = Plans(weir.catalog, weir.directory, clock, EAGER)
    random = Random(7)
    feeds = drifted(weir, clock, random)
    weir.plans = Plans(weir.catalog, weir.directory, clock, EAGER)
    titles = publish(weir, clock, 2, random, frequent=WORDS[14:])
    version, name = current_version(weir.directory.sets), plan_in_force(weir.directory.plans)
    for number in range(3, 7):
        titles += publish(weir, clock, number, random, frequent=WORDS[:6])
    assert current_version(weir.directory.sets) > version
    assert plan_in_force(weir.directory.plans) != name
    for feed, words in feeds.items():
        found = sorted(item.title for item in weir.items(feed, 1000) if item.identity[0] in "23456")
        assert found == sorted(title for title in titles if set(words) <= set(title.split()))


def test_earlier_items_count_half_when_as_many_were_sampled_since(weir: Weir) -> None:
    create(weir, {"F1": ("sun", "rain")})
    weir.push("A", document(1, ["sun"] * 100))
    weir.run()
    for number in range(2, 7):
        weir.push("A", document(number, ["fog"] * 100))
        weir.run()
    assert known(weir).atoms[title("sun")] == pytest.approx(100 * 0.5 ** (500 / HALF_LIFE_ITEMS))


def standing(weir: Weir, source: str = "A") -> dict[str, object]:
    (found,) = weir.ask.plans(source)
    return as_value(found)


def test_selectivities_that_are_reversed_bring_a_new_plan(weir: Weir, clock: Hours) -> None:
    """2,400 items, in whose second half the words are rare that were frequent in the first, and the other way round."""
    random = Random(7)
    create(
        weir,
        {
            f"F{number}": tuple(sorted(random.sample(WORDS[:6], 1) + random.sample(WORDS[14:], 2)))
            for number in range(40)
        },
    )
    weir.refresh_set()
    made = [standing(weir)["made_at"]]
    for number in range(24):
        frequent = WORDS[14:] if number < 12 else WORDS[:6]
        rare = [word for word in WORDS if word not in frequent]
        titles = [" ".join({*random.sample(frequent, 4), *random.sample(rare, 1)}) for _ in range(100)]
        weir.push("A", document(number, titles))
        clock.pass_()
        weir.run()
        made.append(standing(weir)["made_at"])
    assert made[1] != made[0], "what was counted differs from what was assumed"
    assert made[1] == made[12], "nothing changed"
    assert made[13] < made[20] == made[24], "what was rare is frequent"  # type: ignore[operator]
    assert known(weir).share_of(title(WORDS[0])) > 0.5, "what came first weighs little"
    (now,) = weir.plans.standings()
    assert now.drift is not None
    assert now.drift.cost < 1.05 * now.drift.fresh_cost
    text = as_text(weir.ask.plans("A")[0])
    assert "because it had drifted by" in text
    assert "(a new plan is made from 10%): no new plan, because it costs little more than a new one" in text


def test_the_drift_that_is_measured_falls_when_a_plan_is_made_anew(weir: Weir, clock: Hours) -> None:
    patient = ReplanPolicy(threshold=0.1, horizon_s=1e18, min_interval_s=1e12)
    weir.plans = Plans(weir.catalog, weir.directory, clock, patient)
    random = Random(7)
    drifted(weir, clock, random)
    for number in range(2, 5):
        publish(weir, clock, number, random, frequent=WORDS[:6])
    (stale,) = [one for one in weir.plans.standings() if one.source == "A"]
    assert stale.drift is not None
    assert stale.drift.excess > 0.1
    assert not stale.is_stale
    assert "at most one is made in" in str(standing(weir)["no_new_plan_because"])
    assert not weir.plans.replan()
    assert load_plan(weir.directory.plans, plan_in_force(weir.directory.plans))["A"].items == MOST_OF_A_SOURCE
    plan_anew(weir)
    (fresh,) = [one for one in weir.plans.standings() if one.source == "A"]
    assert fresh.drift is not None
    assert fresh.drift.excess < 0.05


def test_measured_costs_stand_beside_predicted_ones(weir: Weir, clock: Hours) -> None:
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind"), "F3": ("sun", "hail"), "F4": ("sun", "fog")})
    weir.push("A", document(1, ["sun rain"] * 5 + ["fog"] * 15))
    clock.pass_()
    weir.run()
    (plan,) = weir.ask.plans("A")
    rate = 20 / 3600
    (shared,) = [node for node in plan.nodes if node.condition == "title contains 'sun'"]
    assert shared.measured_cost == pytest.approx(rate, rel=0.01)
    below = [node for node in plan.nodes if node.parent == shared.number]
    assert [node.measured_cost for node in below] == [pytest.approx(rate / 4, rel=0.01)] * 4


def test_a_plan_tells_what_was_counted_since_it_was_made(weir: Weir, clock: Hours) -> None:
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind")})
    weir.refresh_set()
    assert "shares assumed, as nothing has been counted yet" in as_text(weir.ask.plans("A")[0])
    weir.push("A", document(1, ["sun rain"] * 5 + ["fog"] * 15))
    clock.pass_()
    weir.run()
    assert "shares assumed; 20 items have been sampled since the plan was made" in as_text(
        weir.ask.plans("A")[0]
    )
    plan_anew(weir)
    assert "shares from 20 sampled items" in as_text(weir.ask.plans("A")[0])


def test_a_plan_is_shown_without_looking_at_other_feeds(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    create(weir, {"F1": ("sun", "rain"), "F2": ("sun", "wind")})
    weir.refresh_set()
    for name in ("all", "definitions"):
        monkeypatch.setattr(type(weir.catalog.feeds), name, None)
    (plan,) = weir.ask.plans("A")
    assert {feed for node in plan.nodes for feed in node.feeds} == {"A", "F1", "F2"}


def test_without_a_set_there_is_no_plan_to_show(weir: Weir) -> None:
    with pytest.raises(CatalogError, match="no plan"):
        weir.ask.plans()
    create(weir, {"F1": ("sun", "rain")})
    weir.refresh_set()
    assert [plan.source for plan in weir.ask.plans()] == ["A"]
    with pytest.raises(CatalogError, match="no feed filters it"):
        weir.execute("explain plan B")


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("title contains 'rain' and title contains 'sun'", "New is equal to Old"),
        ("title contains 'sun rain' and title contains 'wind'", "New is contained in Old"),
        ("title contains 'sun'", "New contains Old"),
        ("title contains 'sun' and not title contains 'sun'", "New can never match"),
    ],
)
def test_who_creates_a_feed_is_told_how_it_relates_to_others(weir: Weir, condition: str, advice: str) -> None:
    create(weir, {"Old": ("sun", "rain")})
    create(weir, {"Elsewhere": ("sun", "rain")}, source="B")
    (done,) = weir.execute(f"create feed New from A where {condition}")
    assert done.advice == (advice,)


def test_an_item_of_today_weighs_twice_as_much_as_one_of_a_half_life_ago() -> None:
    later = LANDMARK + timedelta(seconds=HALF_LIFE_S)
    assert growth(later) == pytest.approx(2 * growth(LANDMARK))
    assert remembered_s(60.0) == pytest.approx(60.0, rel=0.001)
    assert remembered_s(1e12) == pytest.approx(HALF_LIFE_S / 0.6931, rel=0.001)


def test_what_cannot_be_planned_in_time_is_left_to_the_index_until_the_next_time() -> None:
    asked = [Query(1, ("s1",), title("sun")), Query(2, ("s2",), title("sun"))]
    hasty = Planner(most_s=-1.0)
    assert hasty.put_in_force(asked, lambda _: SourceStatistics(), LANDMARK) == ()
    assert len(Planner().put_in_force(asked, lambda _: SourceStatistics(), LANDMARK)) == 2


def test_a_set_of_very_many_filters_is_in_force_before_they_are_planned(weir: Weir) -> None:
    many = "; ".join(
        f"create feed F{n} from A where contains 'sun' and contains 'w{n}'" for n in range(AT_ONCE + 1)
    )
    weir.execute(many)
    version = weir.refresh_set()
    assert weir.version_in_force() == version
    with pytest.raises(CatalogError, match="filters are found by the index"):
        weir.ask.plans("A")
    weir.plans.wait()
    weir.tidy()
    assert weir.version_in_force() > version
    (plan,) = weir.ask.plans("A")
    assert "sun" in as_text(plan)


def test_making_a_plan_beside_the_set_ends_when_asked() -> None:
    steps = []

    def step() -> None:
        steps.append(1)
        if len(steps) == 3:
            raise InterruptedError

    asked = {(n, 0): title(f"w{n}") for n in range(100)}
    with pytest.raises(InterruptedError):
        make_plan(WantedPlan(asked, SourceStatistics()), step)
    assert len(steps) == 3
