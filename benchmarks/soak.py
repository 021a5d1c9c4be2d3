"""A running installation under a steady stream, probed every second, with a kill a minute: what is lost or doubled.

Killed are in turn everything at once, the Java process, a Python worker of Spark and the process that reads documents;
what ended as a whole is started again at once, as a supervisor does. Items are pushed, and count when their push was
acknowledged. Compared are the feeds in the end, and what a webhook and a file were sent. What still waits then, because
the machine was too slow, is counted apart and is not lost: `unpublished_segments` are published before feeds are
compared, and what stands in the outbox (`unsent`) counts as sent. `growth_python` and `growth_java` are as
`_soaking.growth` says. Probes that fail between a kill and readiness are counted apart, as far as the kill is a reason:
while only Spark is away, the door has to answer.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, cycle
from pathlib import Path
from statistics import median

from benchmarks._running import Installation, serving, waited
from benchmarks._soaking import (
    RIVER_EVERY,
    SOURCES,
    Balance,
    Prober,
    Receiver,
    Sample,
    Sender,
    balance,
    growth,
    number_of,
    sample_of,
)
from feedweir.catalog.records import EntryState
from feedweir.items.schema import items_of
from feedweir.service.installation import Weir

KILLS = ("all", "java", "worker", "parser")
WARM_UP_S = 600.0
"""Or a third of a short run."""
_SAMPLE_S = 2.0
_SETTLES_WITHIN_S = 400.0
"""What a killed sender held comes free after two minutes, more than once if need be."""
_STARTS_WITHIN_S = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=4.0, help="how long (default: 4; 60 with --full)")
    parser.add_argument("--rate", type=float, default=200.0, help="items a second")
    parser.add_argument("--kill-every-s", type=float, default=60.0)
    parser.add_argument("--data", type=Path, help="where to work, and to leave data and log behind")


def run(options: argparse.Namespace) -> dict[str, object]:
    seconds = 3600.0 if options.full else 60 * options.minutes
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
        return soak(options.data, seconds, options.rate, options.kill_every_s)
    with tempfile.TemporaryDirectory() as scratch:
        return soak(Path(scratch), seconds, options.rate, options.kill_every_s)


def soak(scratch: Path, seconds: float, rate: float, kill_every_s: float) -> dict[str, object]:
    receiver = Receiver()
    with (
        serving(receiver.answer) as hook,
        Installation(scratch / "soak", allow_private=1, master="local[2]") as house,
    ):
        house.wait_until_ready()
        house.execute("\n".join(_statements(hook)))
        sender, prober = Sender(house, rate), Prober(house)
        sender.send_next()
        waited(house.all_published, _STARTS_WITHIN_S)
        sender.start()
        prober.start()
        samples = _kill_again_and_again(house, prober, seconds, kill_every_s)
        sender.stop()
        settled_s = _settled(house, receiver, sender.acknowledged)
        prober.stop()
        stopped_well = house.stop()
        found = _compared(house.directory, sender.acknowledged, receiver)
    return {
        "minutes": round(seconds / 60, 1),
        "items": sender.acknowledged,
        "items_per_s": round(sender.acknowledged / seconds, 1),
        "kills": max((one.kill for one in samples), default=0),
        **found,
        "repeats": receiver.repeats,
        "pushes_repeated": sender.repeated,
        **_probes(prober),
        **_memory(samples, seconds, kill_every_s),
        "settled_s": settled_s,
        "stopped_well": stopped_well,
    }


def _statements(hook: str) -> Iterator[str]:
    yield from (f"register feed push://S{number} as S{number};" for number in range(SOURCES))
    everything = " | ".join(f"S{number}" for number in range(SOURCES))
    yield f"create feed All from {everything};"
    yield "create feed River from All where title contains 'river';"
    yield from (f"create feed K{n} from All where title contains '{n}';" for n in range(1_000, 2_000))
    yield f"subscribe to All output webhook {hook}/hook;"
    yield "subscribe to River output file 'river.json';"


def _kill_again_and_again(
    house: Installation, prober: Prober, seconds: float, every_s: float
) -> list[Sample]:
    """Until the time is over; what memory was taken meanwhile."""
    samples: list[Sample] = []
    kinds, kill, kind = cycle(KILLS), 0, "start"
    begun = killed_at = time.monotonic()
    while time.monotonic() - begun < seconds:
        time.sleep(_SAMPLE_S)
        now = time.monotonic()
        samples.append(sample_of(kill, kind, now - killed_at, prober.ready_s, house.processes()))
        if now - killed_at >= every_s and seconds - (now - begun) > every_s / 2:
            kill, kind, killed_at = kill + 1, next(kinds), now
            prober.killed(is_door_gone=kind == "all")
            _kill(house, kind)
    return samples


def _kill(house: Installation, kind: str) -> None:
    if kind == "all":
        house.kill()
        house.start()
    else:
        house.kill_one(kind)


def _settled(house: Installation, receiver: Receiver, count: int) -> float | None:
    """How long it takes until everything is published and sent; None when it does not come to that."""
    with suppress(TimeoutError):
        wanted = set(range(count))
        return round(
            waited(
                lambda: house.all_published() and wanted <= {*receiver.numbers()},
                _SETTLES_WITHIN_S,
                every_s=1,
            ),
            1,
        )
    return None


def _compared(directory: Path, count: int, receiver: Receiver) -> dict[str, object]:
    rivers = {number for number in range(count) if number % RIVER_EVERY == 0}
    received = receiver.numbers()
    with Weir.open(directory) as weir:
        in_time = _numbers_in(weir, "River")
        unpublished = weir.log.latest() - weir.store.latest()
        weir.run()
        shown = {feed: _numbers_in(weir, feed) for feed in ("All", "River")}
        queued = _queued(weir) - set(received)
        aside = len(weir.quarantine.waiting())
    balances: dict[str, Balance] = {
        "all": balance(set(range(count)), shown["All"]),
        "river": balance(rivers, shown["River"]),
        "webhook": balance(set(range(count)), [*received, *queued]),
    }
    file = json.loads((directory / "outputs" / "river.json").read_text())
    in_file = [number_of(item["title"]) for item in file["items"]]
    return {
        "unpublished_segments": unpublished,
        "unsent": len(queued),
        "lost": sum(one.lost for one in balances.values()),
        "doubled": sum(one.doubled for one in balances.values()),
        **{f"lost_{name}": one.lost for name, one in balances.items() if one.lost},
        **{f"doubled_{name}": one.doubled for name, one in balances.items() if one.doubled},
        "file_is_current": in_file == in_time[: len(in_file)],
        "quarantined": aside,
    }


def _queued(weir: Weir) -> set[int]:
    """What waits to be sent to the webhook."""
    hook = next(one for one in weir.catalog.subscriptions.all() if one.channel == "webhook")
    states: tuple[EntryState, ...] = ("pending", "claimed", "failed")
    entries = chain.from_iterable(
        weir.catalog.outbox.entries(subscription_id=hook.id, state=state, limit=None) for state in states
    )
    return {int(entry.element_key.rpartition("item-")[2]) for entry in entries}


def _numbers_in(weir: Weir, feed: str) -> list[int]:
    """Of all elements of a feed, newest first; an item that two elements stand for is there twice."""
    seqs = weir.store.seqs(weir.catalog.feeds.named(feed).id)
    number = {item.seq: number_of(item.title) for item in items_of(weir.store.items(seqs.tolist()))}
    return [number[seq] for seq in seqs.tolist()]


def _probes(prober: Prober) -> dict[str, object]:
    return {
        "probes": prober.count,
        "probes_failed": len(prober.failed),
        "probes_failed_restarting": prober.excused,
        "slowest_probe_s": round(prober.slowest_s, 2),
        "median_restart_s": round(median(prober.restarts_s), 1) if prober.restarts_s else None,
        "slowest_restart_s": round(max(prober.restarts_s), 1) if prober.restarts_s else None,
        "first_failures": [(one.path, one.status) for one in prober.failed[:5]],
    }


def _memory(samples: list[Sample], seconds: float, every_s: float) -> dict[str, object]:
    after_kill = int(min(WARM_UP_S, seconds / 3) / every_s)
    python = growth(samples, after_kill, lambda one: one.python_bytes)
    java = growth(samples, after_kill, lambda one: one.java_bytes)
    return {
        "growth_python": None if python is None else round(python, 3),
        "growth_java": None if java is None else round(java, 3),
        "most_python_mb": max(one.python_bytes for one in samples) >> 20,
        "most_java_mb": max(one.java_bytes for one in samples) >> 20,
    }
