"""Changes of a few feeds put in force as small segments: the same answers as compiling everything."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedweir.compile import compiler as compiling
from feedweir.compile import merges as merging
from feedweir.compile import plans as planning
from feedweir.compile.compiler import compile_definitions
from feedweir.compile.plans import Plans
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.logs.directory import current_version
from feedweir.match import SegmentedSet, compile_set, versions_of
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.optimize.filter_plans.source_plans import Asked, asked_of_sources
from feedweir.pipeline.sets import KEPT_SETS, change_set, open_installed
from feedweir.plan.predicates import TRUE, Predicate
from feedweir.service.installation import Weir

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("storm", "coast", "harbour", "election", "market", "river")


@pytest.fixture(autouse=True)
def _every_set_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "WHOLE_BELOW", 0)


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    with Weir.open(tmp_path / "data", clock=lambda: NOW) as opened:
        opened.execute("register feed http://a.example/feed as a; register feed http://b.example/feed as b;")
        yield opened


def items() -> list[Item]:
    texts = [f"{one} {other}" for one in WORDS for other in WORDS]
    return [
        Item(source=source, identity=str(number), title=text, seq=number, arrived=NOW)
        for number, (source, text) in enumerate((s, t) for s in ("a", "b") for t in texts)
    ]


def in_force(weir: Weir) -> SegmentedSet:
    opened = open_installed(weir.directory.sets, weir.refresh_set())
    assert isinstance(opened, SegmentedSet)
    return opened


def pairs(compiled: object) -> set[tuple[int, int]]:
    found = compiled.match(batch_of(items()))  # type: ignore[attr-defined]
    return set(zip(found.rows.tolist(), found.keys.tolist(), strict=True))


def compiled_whole(weir: Weir, path: Path) -> set[tuple[int, int]]:
    _, definitions = weir.catalog.feeds.definitions()
    compile_set(compile_definitions(definitions).queries, path)
    return pairs(open_compiled(path))


def test_one_new_feed_is_one_small_segment(weir: Weir) -> None:
    weir.execute("".join(f"create feed f{n} from a where title contains 'storm';" for n in range(30)))
    before = in_force(weir)
    weir.execute("create feed late from b where title contains 'coast';")
    after = in_force(weir)
    assert [segment.size for segment in after.segments] == [*(s.size for s in before.segments), 1]
    assert after.segments[0].name == before.segments[0].name


def test_a_small_set_is_compiled_whole(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "WHOLE_BELOW", 1_000)
    in_force(weir)
    weir.execute("create feed late from b where title contains 'coast';")
    assert len(in_force(weir).segments) == 1


def test_a_change_of_a_feed_reaches_its_readers(weir: Weir, tmp_path: Path) -> None:
    weir.execute(
        "create feed inner from a where title contains 'storm';"
        "create feed outer from inner where title contains 'coast';"
        "create feed outermost from outer | b;"
    )
    in_force(weir)
    weir.execute("alter feed inner from b where title contains 'river';")
    assert pairs(in_force(weir)) == compiled_whole(weir, tmp_path / "whole")


def test_any_changes_give_what_compiling_everything_gives(weir: Weir, tmp_path: Path) -> None:
    chance = random.Random(7)
    alive: list[str] = []
    for step in range(25):
        _change(weir, chance, alive, step)
        found = pairs(in_force(weir))
        assert found == compiled_whole(weir, tmp_path / str(step)), step


def test_live_plans_follow_any_changes_without_reading_what_stayed(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(8)
    alive: list[str] = []
    weir.execute("create feed first from a where title contains 'storm'")
    weir.refresh_set()
    monkeypatch.setattr(planning, "queries_of", None)
    for step in range(40):
        _change(weir, chance, alive, step)
        weir.refresh_set()
        assert weir.plans.standings()
        assert followed(weir.plans) == asked_now(weir), step


def test_another_process_goes_on_with_the_plans_and_what_was_changed_beside_them(weir: Weir) -> None:
    weir.execute("".join(f"create feed f{n} from a where title contains '{w}';" for n, w in enumerate(WORDS)))
    weir.refresh_set()
    weir.execute("drop feed f1; create feed late from a where title contains 'coast'; create feed b2 from b")
    weir.refresh_set()
    weir.plans = Plans(weir.catalog, weir.directory, weir.clock)
    assert [one.source for one in weir.plans.standings()] == ["a"]
    assert followed(weir.plans) == asked_now(weir)


def followed(plans: Plans) -> dict[str, Asked]:
    return {source: filters(kept.live.predicates) for source, kept in plans._planner._kept.items()}


def asked_now(weir: Weir) -> dict[str, Asked]:
    _, definitions = weir.catalog.feeds.definitions()
    asked = asked_of_sources(compile_definitions(definitions).queries)
    return {source: filters(one) for source, one in asked.items()}


def filters(asked: Mapping[Any, Predicate]) -> Asked:
    return {name: predicate for name, predicate in asked.items() if predicate != TRUE}


def _change(weir: Weir, chance: random.Random, alive: list[str], step: int) -> None:
    word = chance.choice(WORDS)
    kind = chance.random()
    if kind < 0.5 or not alive:
        source = chance.choice(["a", "b", *alive])
        weir.execute(f"create feed f{step} from {source} where title contains '{word}';")
        alive.append(f"f{step}")
    elif kind < 0.8:
        weir.execute(
            f"alter feed {chance.choice(alive)} from {chance.choice('ab')} where title contains '{word}';"
        )
    else:
        name = next((one for one in reversed(alive) if not weir.catalog.feeds.readers(one)), alive[-1])
        weir.execute(f"drop feed {name};")
        alive.remove(name)


def test_a_version_that_a_batch_was_begun_with_is_kept(weir: Weir) -> None:
    first = weir.refresh_set()
    for number in range(KEPT_SETS + 2):
        weir.execute(f"create feed f{number} from a where title contains 'storm';")
        weir.refresh_set()
    sets = weir.directory.sets
    pinned = current_version(sets)
    assert pinned is not None
    assert first not in versions_of(sets)
    for version in range(pinned, pinned + KEPT_SETS + 2):
        change_set(sets, version, version + 1, (), (), pinned=pinned)
    assert versions_of(sets) == list(range(pinned, pinned + KEPT_SETS + 3))


def test_a_merge_is_done_beside_and_taken_up_by_the_next_change(
    weir: Weir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "is_worth_merging", lambda segments: len(segments) > 1)
    weir.execute("".join(f"create feed f{n} from a where title contains 'storm';" for n in range(30)))
    in_force(weir)
    weir.execute("create feed late from b where title contains 'coast';")
    assert len(in_force(weir).segments) == 2
    weir._merges.wait()
    weir.execute("drop feed f3; create feed later from b where title contains 'river';")
    merged = in_force(weir)
    assert [segment.size for segment in merged.segments] == [33, 1]
    assert pairs(merged) == compiled_whole(weir, tmp_path / "whole")


def test_a_damaged_segment_is_noticed_and_everything_is_compiled_again(weir: Weir, tmp_path: Path) -> None:
    weir.execute("create feed late from b where title contains 'coast';")
    weir.refresh_set()
    assert not weir.repair_set()
    for path in weir.directory.sets.glob("segments/*/index.arrays"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    assert weir.repair_set()
    assert pairs(in_force(weir)) == compiled_whole(weir, tmp_path / "whole")


def test_versions_that_a_batch_may_still_ask_for_are_made_again_too(weir: Weir) -> None:
    weir.execute("".join(f"create feed f{n} from a where title contains 'storm';" for n in range(30)))
    weir.push("a", b"<rss version='2.0'><channel><item><title>storm</title></item></channel></rss>")
    weir.run()
    known = {}
    for number in range(KEPT_SETS + 2):
        weir.execute(f"create feed late{number} from b where title contains '{WORDS[number]}';")
        known[weir.refresh_set()] = pairs(in_force(weir))
    for path in weir.directory.sets.glob("segments/*/index.arrays"):
        path.write_bytes(path.read_bytes()[:-1])
    assert weir.repair_set()
    assert {version: pairs(open_installed(weir.directory.sets, version)) for version in known} == known
    assert current_version(weir.directory.sets) == max(known)
