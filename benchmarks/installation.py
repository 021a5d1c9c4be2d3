"""One installation with joins and keyword feeds by the hundred thousand, driven from outside: `feedweir run` on Spark.

Everything is made by statements, pushed as documents and read back from what was published. `start_s` is from starting
the process with a compiled set to the first item published; `add_…_s` from a statement to a set in force that has it;
`after_idle_s` is the batch after a silence; `growth` compares the time of the last batches with that of early ones, by
the processor time of all processes; `busy_stream_skew` is the largest of 16 slices of the busy stream's values by their
mean. The results of some joins are compared with what the items say (`lost`, `doubled`); the process is killed
between batches.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._join_world import JoinSpec, World, documents, expected_pairs, joins, keyword_feeds
from benchmarks._running import ROOT, Installation, waited
from feedweir.join.patterns.scope import ValueSlice
from feedweir.logs.directory import current_version
from feedweir.logs.files import open_arrow
from feedweir.service.installation import Weir

_LIMIT_S = 1_800.0
_CHECKED = 300
_GROUPS = 16
_PROBES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--joins", type=int, default=0, help="how many (default: 20,000; 100,000 with --full)"
    )
    parser.add_argument(
        "--feeds", type=int, default=0, help="by words (default: 100,000; 1,000,000 with --full)"
    )
    parser.add_argument(
        "--items", type=int, default=0, help="how many (default: 12,000; 100,000 with --full)"
    )
    parser.add_argument("--batch", type=int, default=1_000, help="items that are pushed together")
    parser.add_argument("--repeats", type=float, default=0.0, help="how often values come again")
    parser.add_argument("--silence-s", type=float, default=75.0)
    parser.add_argument("--data", type=Path, help="where to work, and to leave data and log behind")


def run(options: argparse.Namespace) -> dict[str, object]:
    counts = (100_000, 1_000_000, 100_000) if options.full else (20_000, 100_000, 12_000)
    n_joins, n_feeds, n_items = (
        given or default
        for given, default in zip((options.joins, options.feeds, options.items), counts, strict=True)
    )
    with tempfile.TemporaryDirectory() as scratch:
        place = options.data or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        world = World(options.repeats or 40 / n_joins**0.5 / 1_000)
        return measured(place / "house", world, list(joins(n_joins)), n_feeds, n_items, options)


class Driver:
    """Pushes items, and knows when they are published."""

    def __init__(self, house: Installation, world: World) -> None:
        self.house = house
        self._world = world

    def push(self, count: int) -> float:
        """Push so many items; how long until all are published."""
        begun = time.perf_counter()
        for source, body in documents(self._world.next_items(count)):
            answer = self.house.post(f"/push/S{source}", body, "application/rss+xml")
            if not answer.is_good:
                raise RuntimeError(f"the push was refused: {answer.body.decode()[:300]}")
        waited(self.house.all_published, _LIMIT_S, every_s=0.05)
        return time.perf_counter() - begun

    def added_s(self, statements: str) -> float:
        """How long until the set in force has what statements say."""
        sets = self.house.directory / "sets"
        before = current_version(sets)
        begun = time.perf_counter()
        self.house.execute(statements)
        waited(lambda: current_version(sets) != before, _LIMIT_S, every_s=0.02)
        return time.perf_counter() - begun


def measured(
    directory: Path,
    world: World,
    specs: list[JoinSpec],
    n_feeds: int,
    n_items: int,
    options: argparse.Namespace,
) -> dict[str, object]:
    compile_s = _prepared(directory, specs, n_feeds)
    with Installation(directory, master="local[2]", fetch=0) as house:
        driver = Driver(house, world)
        started = time.perf_counter()
        waited(lambda: house.get("/healthz").status != 0, _LIMIT_S)
        driver.push(10)
        start_s = time.perf_counter() - started
        # A worker's first batches load kernels; what is measured comes after them.
        for _ in range(_PROBES):
            driver.push(options.batch)
        early = [_cost(driver, options.batch) for _ in range(_PROBES)]
        while len(world.items) < n_items // 2:
            driver.push(options.batch)
        house.kill()
        house.start()
        waited(lambda: house.get("/healthz").status != 0, _LIMIT_S)
        driver.push(options.batch)
        while len(world.items) < n_items:
            driver.push(options.batch)
        late = [_cost(driver, options.batch) for _ in range(_PROBES)]
        memory = sum(one.own_bytes for one in house.processes())
        keyword_s = driver.added_s(
            "create feed KNew from * where title contains 'w1' and title contains 'x2';"
        )
        keyword_batch_s = driver.push(10)
        join_s = driver.added_s("S0//item[l0->a] FOLLOWED BY{a=b, 77 minutes} S0//item[l0->b] PUBLISH JNew;")
        join_batch_s = driver.push(10)
        calm_s = driver.push(10)
        time.sleep(options.silence_s)
        idle_s = driver.push(10)
        stopped_well = house.stop()
    found = _compared(directory, world, specs)
    walls = sorted(one for one, _ in late)
    return {
        "joins": len(specs),
        "feeds": n_feeds,
        "items": len(world.items),
        "results_per_item": found.pop("results_per_item"),
        "items_per_s": round(options.batch / walls[len(walls) // 2], 1),
        "memory_mb": round(memory / 1e6),
        "compile_s": round(compile_s, 1),
        "start_s": round(start_s, 1),
        "add_keyword_s": round(keyword_s, 2),
        "add_join_s": round(join_s, 2),
        "next_after_keyword_s": round(keyword_batch_s, 2),
        "next_after_join_s": round(join_batch_s, 2),
        "calm_s": round(calm_s, 2),
        "after_idle_s": round(idle_s, 2),
        "busy_stream_skew": _skew(directory),
        "growth": round(_middle(cpu for _, cpu in late) / _middle(cpu for _, cpu in early), 2),
        "batch_cpu_s": round(_middle(cpu for _, cpu in late), 2),
        **found,
        "stopped_well": stopped_well,
    }


def _middle(values: object) -> float:
    ordered = sorted(values)  # type: ignore[call-overload]
    return float(ordered[len(ordered) // 2])


def _prepared(directory: Path, specs: list[JoinSpec], n_feeds: int) -> float:
    """An installation whose set is compiled; how long compiling took, by the clock."""
    script = directory.with_suffix(".txt")
    sources = [f"register feed push://S{number} as S{number};" for number in range(8)]
    script.write_text("\n".join([*sources, *(one.statement() for one in specs), *keyword_feeds(n_feeds)]))
    _command(directory, "exec", "--file", str(script))
    begun = time.perf_counter()
    code = (
        "import sys; from pathlib import Path; from feedweir.service.installation import Weir\n"
        "with Weir.open(Path(sys.argv[1])) as weir: weir.refresh_set()"
    )
    subprocess.run([sys.executable, "-c", code, str(directory)], check=True, cwd=ROOT)
    return time.perf_counter() - begun


def _command(directory: Path, *words: str) -> None:
    program = "from feedweir.cli import main; main()"
    command = [sys.executable, "-c", program, "--data", str(directory), *words]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def _cost(driver: Driver, count: int) -> tuple[float, float]:
    """(seconds, processor seconds of all processes) that a batch takes."""
    before = _cpu_s(driver.house)
    took = driver.push(count)
    after = _cpu_s(driver.house)
    return took, sum(after[pid] - before.get(pid, 0.0) for pid in after)


def _cpu_s(house: Installation) -> dict[int, float]:
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for one in house.processes():
        try:
            fields = Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[one.pid] = (int(fields[11]) + int(fields[12])) / tick
    return found


def _skew(directory: Path) -> float:
    """Of the rows of the fullest shard's history, those of the largest of 16 slices by the mean."""
    rows = [
        sum((_rows_by_slice(path) for path in folder.rglob("*.rows.arrow")), np.zeros(_GROUPS, np.int64))
        for folder in (directory / "joins").iterdir()
    ]
    fullest = max(rows, key=lambda one: int(one.sum()))
    return round(float(fullest.max() / max(fullest.mean(), 1)), 2)


def _rows_by_slice(path: Path) -> NDArray[np.int64]:
    values = open_arrow(path)["value"].combine_chunks().to_numpy()
    return np.array([ValueSlice(number, _GROUPS).has(values).sum() for number in range(_GROUPS)], np.int64)


def _compared(directory: Path, world: World, specs: list[JoinSpec]) -> dict[str, float]:
    """What is lost and doubled of some joins of two blocks, and how many results an item has."""
    with Weir.open(directory) as weir:
        return _compared_in(weir, world, specs)


def _compared_in(weir: Weir, world: World, specs: list[JoinSpec]) -> dict[str, float]:
    store = weir.store
    manifests = store.manifests()
    items = store.item_table(manifests, ("seq", "identity"))
    number_of = {
        seq: int(identity)
        for seq, identity in zip(items["seq"].to_pylist(), items["identity"].to_pylist(), strict=True)
    }
    order = [number_of[seq] for seq in sorted(number_of)]
    plain = [one for one in specs if not one.third]
    chosen = plain[:: max(1, len(plain) // _CHECKED)][:_CHECKED]
    made = store.joined.made_table(manifests)
    ids = {one.name: one.id for one in weir.catalog.feeds.several({spec.name for spec in chosen})}
    wanted = {ids[spec.name]: spec.name for spec in chosen}
    results: dict[str, Counter[tuple[int, ...]]] = {spec.name: Counter() for spec in chosen}
    for feed, parts in zip(made["feed"].to_pylist(), made["made_of"].to_pylist(), strict=True):
        if feed in wanted:
            results[wanted[feed]][tuple(number_of[seq] for seq in parts)] += 1
    lost = wrong = 0
    for spec in chosen:
        expected = expected_pairs(spec, world.items, order)
        found = results[spec.name]
        lost += len(expected - found.keys())
        wrong += sum(found.values()) - len(expected & found.keys())
    return {
        "results_per_item": round(made.num_rows / max(len(world.items), 1), 1),
        "compared": sum(sum(one.values()) for one in results.values()),
        "lost": lost,
        "doubled": wrong,
    }
