"""The driver is killed for real, at random moments, many times; what is published is as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from feedweir.service.installation import Weir
from tests.engines import land, naive, open_weir, published
from tests.join.stories import SOURCES, STATEMENTS, WORDS, Shown, cut
from tests.pipeline.test_crashes import subscribe

DOCUMENTS = 45
JOINED = f"""{STATEMENTS}
create feed Echo from Post as $p join last 5 items on (Crier | Notes) with $p[title = window.title];
SELECT <twin>{{$t}}</twin> FROM Post//item[title->t] JOIN{{t=u, 1 day}} Crier//item[title->u] PUBLISH Twins;
create feed Wet from Twins where title contains 'river';
"""
ROOT = Path(__file__).parents[2]


def made_up_history(chance: random.Random) -> list[Shown]:
    return [
        Shown(
            chance.choice(SOURCES),
            tuple((guid, " ".join(chance.sample(WORDS, 2))) for guid in chance.sample(range(30), 4)),
            is_broken=chance.random() < 0.1,
        )
        for _ in range(DOCUMENTS)
    ]


def start_driver(directory: Path, master: str, segments: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.spark.driver", str(directory), master, str(segments)]
    with log_of(directory).open("a") as log:
        return subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )


def log_of(directory: Path) -> Path:
    return directory.with_suffix(".log")


def kill_after(driver: subprocess.Popen[str], words: int) -> None:
    """Kill the driver and its JVM as soon as it has said so many words, or has nothing more to say."""
    assert driver.stdout
    for _ in range(words):
        if not driver.stdout.readline():
            break
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


def run_to_the_end(directory: Path, master: str, segments: int) -> None:
    driver = start_driver(directory, master, segments)
    driver.communicate(timeout=300)
    assert driver.returncode == 0, log_of(directory).read_text()[-20_000:]


def check_kills(directory: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    history = made_up_history(chance)
    with open_weir(directory / "spark", JOINED) as weir:
        subscription = subscribe(weir)
        for documents in cut(history, 3):
            land(weir, documents)
    for kill in range(kills):
        # "started", then five words a batch: running, publishing, published, committing, committed.
        driver = start_driver(directory / "spark", "local[2]", len(cut(history, 3)))
        # The first time right after the very first batch was published, and before Spark knows.
        kill_after(driver, chance.randint(1, 20) if kill else 4)
    run_to_the_end(directory / "spark", "local[2]", len(cut(history, 3)))
    with Weir.open(directory / "spark") as weir:
        found = published(weir)
        keys = [entry.element_key for entry in weir.catalog.outbox.entries(subscription_id=subscription)]
    assert all(found[name] for name in ("Echo", "Twins", "Wet"))
    assert found == naive(directory / "naive", JOINED, [history])
    assert sorted(keys) == sorted({f"{source}\n{identity}" for source, identity, *_ in found["Water"]})


def test_a_killed_driver_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path, kills=3, seed=1)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2, 7))
def test_a_driver_killed_many_times_loses_nothing_and_doubles_nothing(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path, kills=8, seed=seed)
