"""Several processes at one catalog, and processes that die."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from feedweir.catalog import Catalog, NewEntry, NewFeed, NewSubscription, open_catalog

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)

_PRELUDE = """
import json, os, signal, sys
from datetime import UTC, datetime
from sqlalchemy import event
from sqlalchemy.engine import Engine
from feedweir.catalog import *
NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
url, *arguments = sys.argv[1:]
"""

_CLAIM = """
sys.stdin.readline()
taken = []
with open_catalog(url) as catalog:
    while entries := catalog.outbox.claim(7, worker=arguments[0], now=NOW, lease_s=60):
        taken += [entry.element_key for entry in entries]
        catalog.outbox.settle([EntryOutcome(id=e.id, state="sent") for e in entries], worker=arguments[0], now=NOW)
print(json.dumps(taken))
"""

_OPEN = """
sys.stdin.readline()
with open_catalog(url) as catalog:
    for number in range(10):
        feed = NewFeed(name=f"{arguments[0]}-{number}", kind="source", statement="", created_at=NOW)
        catalog.feeds.add([feed])
print(json.dumps(catalog.feeds.version()))
"""

_DIE = """
# Does a step in child after child, each killed some statements later than the last, until one survives.
batch = BatchCommit(
    batch="1", version=2, at=NOW,
    counts=(FeedCounts(1, hits=1),), atoms=(AtomCount(1, "a", 1),),
    failures=(Failure(kind="source", resource="news", at=NOW, reason="r"),),
    fetch_states=(FetchState(feed_id=1, url="http://x.example/", etag="new", next_check_at=NOW),),
    entries=(NewEntry(2, "a", {}, NOW), NewEntry(2, "b", {}, NOW)),
)

def step(catalog):
    if arguments[0] == "batch":
        catalog.batches.commit(batch)
    elif arguments[0] == "definitions":
        new = NewFeed(name="news", kind="source", url="http://y.example/", statement="n", created_at=NOW)
        catalog.feeds.replace(new)
    return catalog

def die_before(statement):
    left = statement
    def count(*_):
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)

def state():
    with open_catalog(url) as catalog:
        lines = [line for line in catalog.dump() if line.get("table") != "counter"]
        return json.dumps([lines, catalog.feeds.version()])

states = [] if arguments[0] == "migration" else [state()]
status = 1
while status:
    child = os.fork()
    if child == 0:
        die_before(len(states) * int(arguments[1]))
        step(open_catalog(url))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    states.append("" if arguments[0] == "migration" and status else state())
print(json.dumps(states))
"""


def _started(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _PRELUDE + script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _answers(script: str, url: str, names: tuple[str, ...]) -> list[object]:
    """What several processes print that are let go at the same time."""
    processes = [_started(script, url, name) for name in names]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [json.loads(output) for output in outputs]


def _prepare(catalog: Catalog) -> int:
    feed = NewFeed(name="news", kind="source", url="http://a.example/", statement="register", created_at=NOW)
    catalog.feeds.add([feed])
    wanted = NewSubscription(feed="news", statement="subscribe", channel="mail", target="x", created_at=NOW)
    return catalog.subscriptions.add(wanted)


def test_two_senders_never_take_the_same_entry(catalog: Catalog, url: str) -> None:
    subscription = _prepare(catalog)
    keys = [f"{number:03}" for number in range(400)]
    catalog.outbox.insert([NewEntry(subscription, key, {}, NOW) for key in keys], NOW)
    one, two = _answers(_CLAIM, url, ("one", "two"))
    assert isinstance(one, list)
    assert isinstance(two, list)
    assert sorted(one + two) == keys
    assert catalog.outbox.counts() == {"sent": 400}
    assert len(catalog.deliveries.of(subscription, limit=1_000)) == 400


def test_processes_that_open_a_new_catalog_at_once_all_find_it_ready(url: str) -> None:
    versions = _answers(_OPEN, url, ("a", "b", "c"))
    assert max(version for version in versions if isinstance(version, int)) == 30
    with open_catalog(url) as catalog:
        _, definitions = catalog.feeds.definitions()
        assert len(definitions) == 30
        assert [change.version for change in catalog.feeds.changes_since(0)] == list(range(1, 31))


def _states(url: str, what: str, stride: int) -> list[str]:
    process = _started(_DIE, url, what, str(stride))
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    states = json.loads(output)
    assert isinstance(states, list)
    return states


def test_a_batch_whose_process_is_killed_at_any_statement_leaves_nothing_or_everything(
    catalog: Catalog, url: str
) -> None:
    _prepare(catalog)
    *killed, survived = _states(url, "batch", stride=1)
    assert len(killed) > 10
    assert set(killed) <= {killed[0], survived}
    assert killed[0] != survived
    assert catalog.outbox.counts() == {"pending": 2}
    assert catalog.statistics.feeds()[0].hits == 1


def test_a_change_of_definitions_whose_process_is_killed_leaves_the_old_or_the_new_version(
    catalog: Catalog, url: str
) -> None:
    _prepare(catalog)
    *killed, survived = _states(url, "definitions", stride=1)
    assert len(killed) > 5
    assert set(killed) == {killed[0]}
    assert killed[0] != survived
    assert catalog.feeds.named("news").statement == "n"


def test_a_migration_whose_process_is_killed_is_done_by_the_next_one(new_database: Callable[[], str]) -> None:
    url = new_database()
    *killed, survived = _states(url, "migration", stride=6)
    assert len(killed) > 4
    with open_catalog(new_database()) as fresh:
        empty = [line for line in fresh.dump() if line.get("table") != "counter"]
    assert json.loads(survived) == [empty, 0]
