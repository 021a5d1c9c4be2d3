"""The first item after a silence: how long from its push until readers see it, in a running installation with joins.

`after_idle_s` is that item; `next_items_s` is the median of those that follow it at once; `workers_kept` is how
many of the processes that ran tasks before the silence are still there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks._running import Installation, waited

_SOURCES = 4
_STATEMENTS = """\
create feed Rivers from (S0 | S1 | S2 | S3) as $r where $r[title contains 'river'];
create feed Pairs from S0 join last 3 days on S1 with [title similar window.title];
create feed Stories from distinct (S2 | S3);
S0//item[title->a] FOLLOWED BY{a=b, 1 hour} S1//item[title->b] PUBLISH Answers;
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--silence-s", type=float, default=95.0, help="how long nothing is pushed")
    parser.add_argument("--feeds", type=int, default=300, help="feeds by words, besides those with joins")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        return idle(Path(scratch), 600.0 if options.full else options.silence_s, options.feeds)


def idle(scratch: Path, silence_s: float, feeds: int) -> dict[str, object]:
    with Installation(scratch / "idle", master="local[2]", fetch=0) as house:
        house.wait_until_ready()
        house.execute(_statements(feeds))
        pushes = iter(range(1_000_000))
        before = [_pushed(house, next(pushes)) for _ in range(3 * _SOURCES)]
        workers = _workers(house)
        time.sleep(silence_s)
        kept = workers & _workers(house)
        after = _pushed(house, next(pushes))
        following = [_pushed(house, next(pushes)) for _ in range(_SOURCES)]
    return {
        "silence_s": silence_s,
        "first_item_s": round(before[0], 2),
        "after_idle_s": round(after, 2),
        "next_items_s": round(median(following), 2),
        "workers_kept": round(len(kept) / len(workers), 2),
    }


def _statements(count: int) -> str:
    sources = [f"register feed push://S{n} as S{n};" for n in range(_SOURCES)]
    words = [
        f"create feed W{n} from (S0 | S1 | S2 | S3) as $r where $r[title contains 'w{n}'];"
        for n in range(count)
    ]
    return "\n".join([*sources, _STATEMENTS, *words])


def _pushed(house: Installation, number: int) -> float:
    """How long until an item is in the feed that wants it."""
    title = f"The river is high, number {number}"
    item = {"id": f"item-{number}", "title": title, "summary": "StoryPairs at the bridge."}
    begun = time.monotonic()
    answer = house.post(f"/push/S{number % _SOURCES}", json.dumps([item]).encode(), "application/json")
    if not answer.is_good:
        raise RuntimeError(f"the push was refused: {answer.body.decode()[:300]}")
    waited(lambda: title in house.get("/feeds/Rivers.json").body.decode(), 300, every_s=0.05)
    return time.monotonic() - begun


def _workers(house: Installation) -> set[int]:
    return {one.pid for one in house.processes() if one.kind in ("worker", "parser")}
