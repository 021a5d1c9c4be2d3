"""What goes on around a running installation during a soak: who sends, who asks, who receives, what memory it takes."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from statistics import median

from benchmarks._running import Answer, Installation, Process

SOURCES = 8
ITEMS_PER_DOCUMENT = 25
RIVER_EVERY = 7
SETTLED_AFTER_S = 5.0
"""A killed process may be missed a little later."""
PROBE_TIMEOUT_S = 15.0
YOUNG_S, OLD_S = 30.0, 60.0
"""Memory is compared at these ages since a kill, when what was loaded again is loaded."""
READY_S = 15.0
"""And when the pipeline has run for so long since: a busy machine needs most of a minute to start it."""


_ASKED = b"<rss version='2.0'><channel><item><title>the river</title></item></channel></rss>"


def title_of(number: int) -> str:
    return f"Item {number} {'river' if number % RIVER_EVERY == 0 else 'market'}"


def number_of(title: str) -> int:
    return int(title.split()[1])


class Sender:
    """Pushes items at a steady rate; what was not acknowledged is pushed again, as a careful sender does."""

    def __init__(self, house: Installation, per_s: float) -> None:
        self._house = house
        self._per_s = per_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.acknowledged = 0
        """All items below this number."""
        self.repeated = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def send_next(self) -> bool:
        numbers = range(self.acknowledged, self.acknowledged + ITEMS_PER_DOCUMENT)
        items = [
            {"id": f"item-{n}", "title": title_of(n), "summary": f"What happened to {n}, in a few words."}
            for n in numbers
        ]
        source = self.acknowledged // ITEMS_PER_DOCUMENT % SOURCES
        answer = self._house.post(f"/push/S{source}", json.dumps(items).encode(), "application/json")
        if answer.is_good:
            self.acknowledged = numbers.stop
        return answer.is_good

    def _run(self) -> None:
        begun, first = time.monotonic(), self.acknowledged
        while not self._stopping.is_set():
            due = first + (time.monotonic() - begun) * self._per_s
            if self.acknowledged >= due:
                time.sleep(0.02)
            elif not self.send_next():
                self.repeated += 1
                time.sleep(0.2)


class Receiver:
    """A webhook that remembers ids, as a careful receiver does."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._messages: dict[str, tuple[int, ...]] = {}
        self.repeats = 0

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, Mapping[str, str], bytes]:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        numbers = tuple(number_of(item["title"]) for item in body["data"]["feed"]["items"])
        with self._turn:
            self.repeats += request.headers["webhook-id"] in self._messages
            self._messages[request.headers["webhook-id"]] = numbers
        return 204, {}, b""

    def numbers(self) -> list[int]:
        with self._turn:
            return [number for numbers in self._messages.values() for number in numbers]


@dataclass(frozen=True, slots=True)
class Failed:
    """A probe that was not answered well."""

    at: float
    path: str
    status: int


class Prober:
    """Asks every door every second, and knows what is excused from a kill until all is well again: everything when the
    door was killed, too, else only that the pipeline is not ready."""

    def __init__(self, house: Installation) -> None:
        self._house = house
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._killed_at: float | None = None
        self._ready_at: float | None = None
        self._is_door_gone = False
        self.count = 0
        self.failed: list[Failed] = []
        self.excused = 0
        self.restarts_s: list[float] = []
        self.slowest_s = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def killed(self, *, is_door_gone: bool) -> None:
        self._killed_at, self._is_door_gone = time.monotonic(), is_door_gone
        self._ready_at = None

    @property
    def ready_s(self) -> float:
        """How long the pipeline has run since the last kill."""
        return 0.0 if self._ready_at is None else time.monotonic() - self._ready_at

    def _is_excused(self, path: str) -> bool:
        return self._killed_at is not None and (self._is_door_gone or path == "/readyz")

    def _run(self) -> None:
        rounds = 0
        while not self._stopping.wait(1):
            rounds += 1
            for path in ("/healthz", "/metrics", "/feeds/River.json?limit=20", "/readyz"):
                self._probe(path, lambda path=path: self._house.get(path, PROBE_TIMEOUT_S))  # type: ignore[misc]
            if rounds % 5 == 0:
                self._probe(
                    "/v1/search", lambda: self._house.get("/v1/search?q=river&limit=5", PROBE_TIMEOUT_S)
                )
                self._probe("/v1/match", self._match)

    def _match(self) -> Answer:
        return self._house.post("/v1/match?source=S1", _ASKED, "application/rss+xml", PROBE_TIMEOUT_S)

    def _probe(self, path: str, ask: Callable[[], Answer]) -> None:
        # Before and after: a kill may come while the door is being asked.
        was_excused = self._is_excused(path)
        answer = ask()
        self.count += 1
        is_excused = was_excused or self._is_excused(path)
        if not is_excused:
            self.slowest_s = max(self.slowest_s, answer.took_s)
        if not answer.is_good and is_excused:
            self.excused += 1
        elif not answer.is_good:
            self.failed.append(Failed(time.monotonic(), path, answer.status))
        if path == "/readyz" and answer.is_good:
            self._note_ready()

    def _note_ready(self) -> None:
        since = time.monotonic() - self._killed_at if self._killed_at is not None else 0.0
        if since >= SETTLED_AFTER_S:
            self.restarts_s.append(since)
            self._killed_at, self._ready_at = None, time.monotonic()


# Memory


@dataclass(frozen=True, slots=True)
class Sample:
    """What processes held at an age since a kill, which was the so-manieth and of a kind."""

    kill: int
    kind: str
    age_s: float
    ready_s: float
    """How long the pipeline had run since."""
    python_bytes: int
    java_bytes: int


def sample_of(kill: int, kind: str, age_s: float, ready_s: float, processes: Sequence[Process]) -> Sample:
    python = sum(one.own_bytes for one in processes if one.kind != "java")
    java = sum(one.own_bytes for one in processes if one.kind == "java")
    return Sample(kill, kind, age_s, ready_s, python, java)


def growth(samples: Sequence[Sample], after_kill: int, of: Callable[[Sample], int]) -> float | None:
    """By how much memory has grown, from the first third of all kills to the last, at the same ages after kills of the
    same kind; None when there were too few. A kill takes memory with it, so that only the same after the same can be
    compared; the middle of what the kinds say is the answer."""
    ratios = []
    for kind in sorted({one.kind for one in samples}):
        levels = _levels([one for one in samples if one.kind == kind and one.kill >= after_kill], of)
        third = max(len(levels) // 3, 1)
        if len(levels) > 1:
            ratios.append(median(levels[-third:]) / median(levels[:third]) - 1)
    return median(ratios) if ratios else None


def _levels(samples: Sequence[Sample], of: Callable[[Sample], int]) -> list[float]:
    """After each kill the least that was held: processes that Spark starts for a moment add up to 200 MB at times, and
    what is never given back is in the least, too."""
    settled = [one for one in samples if YOUNG_S <= one.age_s < OLD_S and one.ready_s >= READY_S and of(one)]
    kills = sorted({one.kill for one in settled})
    return [min(of(one) for one in settled if one.kill == kill) for kill in kills]


# The balance


@dataclass(frozen=True, slots=True)
class Balance:
    lost: int
    doubled: int


def balance(expected: set[int], found: Sequence[int]) -> Balance:
    """What should have come against what came."""
    counts = Counter(found)
    return Balance(len(expected - counts.keys()), sum(count - 1 for count in counts.values()))
