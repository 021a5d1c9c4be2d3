"""From the web to every reader through a process that is killed at random: everything arrives, and once."""

from __future__ import annotations

import json
import random
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from feedweir import Weir
from feedweir.catalog import Catalog
from tests.deliver.house import free_port
from tests.deliver.life import Life
from tests.deliver.readers import StreamReader
from tests.deliver.web_of_feeds import HOSTILE, WebOfFeeds, web_of_feeds

TOLD = ("endless", "bomb", "loop", "page", "picture", "away")
"""Hostile sources that cannot be taken for feeds, and need not be waited for long."""
MAIL, DIGEST, HOOK, ONE, PUSH = "all@example.org", "digest@example.org", "/hook/all", "/hook/one", "/push/all"


@dataclass(frozen=True)
class Scene:
    """How much of everything."""

    sources: int
    rounds: int
    kills: int
    interval_s: float
    """How often a source is looked at."""
    patience_s: float = 120
    engine: str = "process"
    digest: int = 7
    """How many items let a digest go: thousands of mails would take longer than all the rest."""
    seed: int = 1

    def stories(self, rounds: int) -> list[str]:
        """Everything that the origin has shown by then."""
        return sorted(f"{number}/{count}" for number in range(self.sources) for count in range(1, rounds + 1))


def subscribe_all(weir: Weir, scene: Scene, world: WebOfFeeds) -> None:
    """Every source, the hostile ones too; one feed of all; readers of every kind."""
    lines = [f"register feed {world.good_url(number)} as Good{number}" for number in range(scene.sources)]
    lines += [f"register feed {world.bad_url(kind)} as Bad_{kind}" for kind in HOSTILE]
    lines += [
        "create feed Everything from * where title contains 'story'",
        f"subscribe to Everything output mail '{MAIL}' at most 40 items per message with backlog",
        f"subscribe to Everything output mail '{DIGEST}' after {scene.digest} items or 2 seconds with backlog",
        f"subscribe to Everything output webhook {world.url}{HOOK} at most 30 items per message with backlog",
        f"subscribe to Good1 output webhook {world.url}{ONE} with backlog",
        "subscribe to Everything output file 'all.json'",
        "subscribe to Everything as Live output stream",
    ]
    weir.execute(";\n".join(lines))


def join_hub(port: int, world: WebOfFeeds) -> None:
    form = {
        "hub.mode": "subscribe",
        "hub.topic": f"http://127.0.0.1:{port}/feeds/Everything.atom",
        "hub.callback": f"{world.url}{PUSH}",
        "hub.secret": "s",
    }
    urllib.request.urlopen(f"http://127.0.0.1:{port}/hub", urlencode(form).encode(), timeout=30).close()


def has_lease(catalog: Catalog) -> bool:
    return any(each.channel == "websub" for each in catalog.subscriptions.all())


def is_drained(catalog: Catalog) -> bool:
    return set(catalog.outbox.counts()) <= {"sent"}


def has_told_of_the_hostile(catalog: Catalog) -> bool:
    return all(catalog.failures.of("source", f"Bad_{kind}") for kind in TOLD)


def a_moment(luck: random.Random, scene: Scene, world: WebOfFeeds, life: Life) -> Callable[[], bool]:
    """When to kill: right after the start, amid requests, or amid messages."""
    kind = luck.choice(("started", "asking", "sending"))
    asked = world.requests + luck.randint(1, max(scene.sources // 2, 2))
    taken = world.readers.messages + luck.randint(1, max(scene.sources // 50, 2))
    if kind == "started":
        return life.is_open
    if kind == "asking":
        return lambda: world.requests >= asked
    most = len(scene.stories(world.published))
    return lambda: world.readers.messages >= taken or world.readers.count_of(MAIL) >= most


def publish_and_kill(scene: Scene, world: WebOfFeeds, life: Life) -> None:
    luck = random.Random(scene.seed)
    moments = [luck.randint(1, scene.kills) for _ in range(scene.rounds - 1)]
    for turn in range(1, scene.kills + 1):
        for _ in range(moments.count(turn)):
            world.publish(world.published + 1)
        life.wait(a_moment(luck, scene, world, life))
        life.kill()
        world.forget_times()
        life.begin()
    assert world.published == scene.rounds


def wait_for_readers(
    scene: Scene, world: WebOfFeeds, stream: StreamReader, life: Life, catalog: Catalog
) -> None:
    expected, readers = len(scene.stories(scene.rounds)), world.readers

    def counts() -> tuple[int, ...]:
        return (*(readers.count_of(each) for each in (MAIL, DIGEST, HOOK)), len(stream.stories))

    life.wait(lambda: min(counts()) >= expected, counts)
    life.wait(lambda: is_drained(catalog), lambda: readers.messages)


def check_readers(scene: Scene, world: WebOfFeeds, stream: StreamReader) -> None:
    expected, readers = scene.stories(scene.rounds), world.readers
    for reader in (MAIL, DIGEST, HOOK):
        assert differences(readers.stories_of(reader), expected) == {}, reader
    assert differences(stream.stories, expected) == {}
    assert readers.stories_of(ONE) == [f"1/{count}" for count in range(1, scene.rounds + 1)]
    assert not readers.contradictions
    # The lease began when some had already come: what came since, once.
    pushed = Counter(readers.stories_of(PUSH))
    assert max(pushed.values()) == 1
    assert {f"{number}/{scene.rounds}" for number in range(scene.sources)} <= set(pushed)


def differences(found: list[str], expected: list[str]) -> dict[str, int]:
    """How often a story came too often (or, below nought, too seldom)."""
    excess = Counter(found)
    excess.subtract(expected)
    return {story: times for story, times in sorted(excess.items()) if times}


def check_shelves(scene: Scene, weir: Weir) -> None:
    """The feed has every story once, and the file its newest ones."""
    expected = scene.stories(scene.rounds)
    items = weir.items("Everything", limit=2 * len(expected))
    assert differences([item.identity for item in items], expected) == {}
    file = json.loads((weir.directory.root / "outputs" / "all.json").read_bytes())
    assert [entry["title"] for entry in file["items"]] == [item.title for item in items[:50]]


def run_scene(scene: Scene, tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    with web_of_feeds(scene.seed) as world, Weir.open(data) as weir:
        subscribe_all(weir, scene, world)
        arguments = (world.smtp_port, scene.interval_s, scene.engine)
        with (
            StreamReader(port, "/subscriptions/Live/events") as stream,
            Life(data, *arguments, port=port, patience_s=scene.patience_s) as life,
        ):
            life.wait(life.is_open)
            join_hub(port, world)
            life.wait(lambda: has_lease(weir.catalog))
            life.wait(lambda: world.hub.leases > 0)
            publish_and_kill(scene, world, life)
            wait_for_readers(scene, world, stream, life, weir.catalog)
            life.wait(lambda: has_told_of_the_hostile(weir.catalog))
        check_readers(scene, world, stream)
        check_shelves(scene, weir)
        assert not world.impolite
        assert world.hub.pushes, "some sources are pushed"
        assert all(world.polls[f"/bad/{kind}"] for kind in HOSTILE), "the hostile were asked too"


def test_everything_that_was_shown_arrives_once_at_every_reader(tmp_path: Path) -> None:
    run_scene(Scene(sources=40, rounds=3, kills=2, interval_s=1), tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
def test_ten_thousand_sources_and_a_process_that_dies_again_and_again(tmp_path: Path) -> None:
    scene = Scene(sources=10_000, rounds=3, kills=10, interval_s=30, patience_s=300, digest=100)
    run_scene(scene, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
def test_spark_dies_again_and_again_between_the_web_and_its_readers(tmp_path: Path) -> None:
    run_scene(Scene(sources=500, rounds=4, kills=5, interval_s=5, patience_s=300, engine="spark"), tmp_path)
