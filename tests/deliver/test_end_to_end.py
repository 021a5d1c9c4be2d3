"""From the web to every reader through a process that is killed at random: everything arrives, and once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest

from feedweir import Weir
from feedweir.catalog import NewFeed
from tests.deliver.house import free_port
from tests.deliver.web_of_feeds import HOSTILE, WebOfFeeds, web_of_feeds

ROOT = Path(__file__).parents[2]


@dataclass
class Scene:
    """How much of everything."""

    sources: int
    rounds: int
    kills: int
    patience_s: float
    seed: int = 1


class Life:
    """The process under test: born, killed, born again."""

    def __init__(self, data: Path, port: int, smtp_port: int) -> None:
        self._command = [sys.executable, "-m", "tests.deliver.living", str(data), str(port), str(smtp_port)]
        self._log = (data.parent / "living.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=self._log, stderr=self._log)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Life:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._log.close()


def subscribe_all(data: Path, scene: Scene, world: WebOfFeeds) -> None:
    """Every source, the hostile ones too; one feed of all, and one of some; readers of every kind."""
    with Weir.open(data) as weir:
        goods = {f"Good{number}": f"{world.url}/good/{number}" for number in range(scene.sources)}
        weir.catalog.feeds.add([source(name, url, weir.clock()) for name, url in goods.items()])
        lines = [f"register feed {world.url}/bad/{kind} as Bad_{kind}" for kind in HOSTILE]
        lines += ["create feed Everything from * where title contains 'story'"]
        lines += ["create feed Second from Everything where title = 'story 1/2' or title contains '2'"]
        lines += [
            "subscribe to Everything output mail 'all@example.org' at most 20 items per message",
            "subscribe to Everything output mail 'digest@example.org' after 7 items or 2 seconds",
            f"subscribe to Everything output webhook {world.url}/hook/all at most 3 items per message",
            f"subscribe to Good1 output webhook {world.url}/hook/one",
            "subscribe to Everything output file 'all.json'",
        ]
        weir.execute(";\n".join(lines))


def source(name: str, url: str, now: datetime) -> NewFeed:
    statement = f"register feed '{url}' as {name}"
    return NewFeed(name=name, kind="source", statement=statement, url=url, created_at=now)


def join_hub(port: int, world: WebOfFeeds) -> None:
    form = {
        "hub.mode": "subscribe",
        "hub.topic": f"http://127.0.0.1:{port}/feeds/Everything.atom",
        "hub.callback": f"{world.url}/push/all",
        "hub.secret": "s",
    }
    urllib.request.urlopen(f"http://127.0.0.1:{port}/hub", urlencode(form).encode(), timeout=5).close()


def until(is_done: Callable[[], bool], patience_s: float) -> bool:
    """Other processes are waited for, so time passes as it does."""
    end, pause = time.monotonic() + patience_s, threading.Event()
    while not is_done():
        if time.monotonic() > end:
            return False
        pause.wait(0.1)
    return True


def is_open(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/feeds/Everything.rss?limit=1", timeout=5).close()
    except (OSError, urllib.error.URLError):
        return False
    return True


def has_lease(data: Path) -> bool:
    with Weir.open(data) as weir:
        return any(each.channel == "websub" for each in weir.catalog.subscriptions.all())


def run_scene(scene: Scene, tmp_path: Path) -> None:
    luck, data, port = random.Random(scene.seed), tmp_path / "data", free_port()
    pause = threading.Event()
    with web_of_feeds(scene.seed) as world:
        subscribe_all(data, scene, world)
        with Life(data, port, world.smtp_port) as life:
            assert until(lambda: is_open(port), scene.patience_s)
            join_hub(port, world)
            assert until(lambda: has_lease(data), scene.patience_s)
            world.published = 2
            for turn in range(max(scene.rounds, scene.kills)):
                pause.wait(luck.uniform(0.5, 3.0))
                world.published = min(2 + turn, scene.rounds)
                if turn < scene.kills:
                    life.kill()
                    life.begin()
            world.published = scene.rounds
            expected = sorted(
                f"{number}/{count}" for number in range(scene.sources) for count in range(1, scene.rounds + 1)
            )
            readers = ("all@example.org", "digest@example.org", "/hook/all")
            everyone = lambda: all(len(world.stories_of(each)) >= len(expected) for each in readers)  # noqa: E731
            assert until(everyone, scene.patience_s), {r: len(world.stories_of(r)) for r in readers}
            assert until(lambda: is_drained(data), scene.patience_s)
        for reader in readers:
            assert world.stories_of(reader) == expected
        assert world.stories_of("/hook/one") == [f"1/{count}" for count in range(1, scene.rounds + 1)]
        assert not world.contradictions
        # The lease began when some had already come: what came since, once.
        pushed = world.stories_of("/push/all")
        assert len(pushed) == len(set(pushed))
        assert {f"{number}/{scene.rounds}" for number in range(scene.sources)} <= set(pushed)
        assert (data / "outputs" / "all.json").exists()
        assert all(world.polls[f"/bad/{kind}"] for kind in HOSTILE), "the hostile were asked too"


def is_drained(data: Path) -> bool:
    with Weir.open(data) as weir:
        return set(weir.catalog.outbox.counts()) <= {"sent"}


def test_everything_that_was_shown_arrives_once_at_every_reader(tmp_path: Path) -> None:
    run_scene(Scene(sources=12, rounds=3, kills=2, patience_s=120), tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
def test_ten_thousand_sources_and_a_process_that_dies_again_and_again(tmp_path: Path) -> None:
    run_scene(Scene(sources=10_000, rounds=3, kills=12, patience_s=1_500), tmp_path)
