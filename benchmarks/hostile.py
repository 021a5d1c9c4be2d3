"""What is meant to stop an installation does not: hostile documents and statements, and damaged files.

Every document of `_hostile_documents`, in several sizes, comes to a running installation twice: fetched from an origin,
and pushed. Right after each a calm one is pushed, which has to be published in time. At last one document comes that is
more than is allowed: it, and nothing else, is quarantined. Then the files of logs are damaged, one at a time.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from statistics import median

from benchmarks._damages import damage_report
from benchmarks._hostile_documents import hostile_documents
from benchmarks._running import Installation, serving, waited
from benchmarks._streams import generated_stories, keyword_queries
from feedweir.service.installation import Weir

SIZES = (20_000, 160_000)
FULL_SIZES = (*SIZES, 1_600_000)
BOUND_S = 60.0
"""What was not published after so long stands still."""
_STARTS_WITHIN_S = 600.0
DEPTH = 60
"""Of brackets in a statement; much more is refused."""
SMALL_MEMORY_MB = 64
_TOO_LARGE = 15 << 20
_LOOK_S = 0.2
_AHEAD = 20
"""Calm documents on their way at most."""
_REGISTERED_AT_ONCE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--named", type=int, default=41_922, help="keyword feeds over one source")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        return {
            **_documents(Path(scratch), FULL_SIZES if options.full else SIZES),
            **_statements(Path(scratch), options.named),
            **damage_report(options.damages, options.seed),
        }


# Documents


@dataclass(frozen=True, slots=True)
class Served:
    """A document as the origin has it."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def _documents(scratch: Path, sizes: tuple[int, ...]) -> dict[str, object]:
    bodies = [body for size in sizes for body in hostile_documents(size).values()]
    origin = Origin([*map(Served, bodies), *_packed()])
    settings = {"allow_private": 1, "host_spacing_s": 0, "refresh": "fixed", "master": "local[2]"}
    with serving(origin.answer) as url, Installation(scratch / "hostile", **settings) as house:
        house.wait_until_ready()
        house.execute("register feed push://Calm as Calm; register feed push://Wild as Wild;")
        calm = Calm(house)
        calm.first()
        _fetch_all(house, origin, url, calm)
        slowest_push_s = _push_all(house, bodies, calm)
        stalled = calm.late() + _unpublished(house)
        unexpected = _quarantined(house)
        _overwhelm(house, origin, url, calm)
        stalled += calm.late() + _unpublished(house) + int(not house.is_ready())
        aside, restarts = _quarantined(house), house.get("/healthz").json()["restarts"]
        house.stop()
    return {
        "documents": len(origin.served) + len(bodies),
        "calm": calm.count,
        "stalled": stalled,
        "quarantined": aside,
        "quarantined_expected": 1,
        "quarantined_unexpected": unexpected,
        "slowest_s": round(max(calm.delays), 2),
        "median_s": round(median(calm.delays), 2),
        "slowest_push_s": round(slowest_push_s, 2),
        "pipeline_restarts": restarts,
    }


class Origin:
    """Serves documents by number, and knows which were asked for."""

    def __init__(self, served: list[Served]) -> None:
        self.served = served
        self.asked: set[int] = set()

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, Mapping[str, str], bytes]:
        number = int(request.path.removeprefix("/"))
        self.asked.add(number)
        one = self.served[number]
        return 200, {"Content-Type": "application/xml", **one.headers}, one.body


def _packed() -> Iterator[Served]:
    """Documents that are small on the wire and not when they are unpacked, or that take long to be."""
    encoding = {"Content-Encoding": "gzip"}
    feed = b"<rss version='2.0'><channel><item><title>packed</title></item>%s</channel></rss>"
    yield Served(gzip.compress(feed % (b" " * (64 << 20))), encoding)
    yield Served(gzip.compress(feed % (b" " * (12 << 20))), encoding)
    yield Served(gzip.compress(b"") * 350_000 + gzip.compress(feed % b""), encoding)
    yield Served(gzip.compress(gzip.compress(feed % (b" " * (64 << 20)))), {"Content-Encoding": "gzip, gzip"})


class Calm:
    """Documents that anybody may send: how long each takes from being landed to being shown."""

    def __init__(self, house: Installation) -> None:
        self._house = house
        self._waiting: dict[str, float] = {}
        self._refused = 0
        self.count = 0
        self.delays: list[float] = []

    def send(self) -> None:
        """Send one; others may be on their way, but not too many."""
        with suppress(TimeoutError):
            waited(lambda: self._look() < _AHEAD, BOUND_S, _LOOK_S)
        self.count += 1
        title = f"Calm news {self.count}"
        body = f'{{"id": "{self.count}", "title": "{title}"}}'.encode()
        if self._house.post("/push/Calm", body, "application/json").is_good:
            self._waiting[title] = time.monotonic()
        else:
            self._refused += 1

    def first(self) -> None:
        """Send one and wait for it: the first document after a start meets processes that are starting, too."""
        self.send()
        with suppress(TimeoutError):
            waited(lambda: not self._look(), _STARTS_WITHIN_S, _LOOK_S)
            self.delays.pop()

    def late(self) -> int:
        """Wait for those on their way; how many were not shown in time."""
        with suppress(TimeoutError):
            waited(lambda: not self._look(), BOUND_S, _LOOK_S)
        return len(self._waiting) + self._refused + sum(delay > BOUND_S for delay in self.delays)

    def _look(self) -> int:
        answer = self._house.get(f"/feeds/Calm.json?limit={2 * _AHEAD}")
        now = time.monotonic()
        shown = {entry["title"] for entry in answer.json()["items"]} if answer.is_good else set()
        for title in shown & self._waiting.keys():
            self.delays.append(now - self._waiting.pop(title))
        return len(self._waiting)


def _fetch_all(house: Installation, origin: Origin, url: str, calm: Calm) -> None:
    """Have all documents of the origin fetched that were not yet, calm ones between them."""
    numbers = [number for number in range(len(origin.served)) if number not in origin.asked]
    for first in range(0, len(numbers), _REGISTERED_AT_ONCE):
        some = numbers[first : first + _REGISTERED_AT_ONCE]
        house.execute("".join(f"register feed {url}/{number} as H{number};" for number in some))
    until = time.monotonic() + 5 * BOUND_S
    while len(origin.asked) < len(origin.served) and time.monotonic() < until:
        calm.send()
    calm.send()


def _push_all(house: Installation, bodies: list[bytes], calm: Calm) -> float:
    """Push them, a calm one after each; the longest that a push took."""
    slowest = 0.0
    for body in bodies:
        answer = house.post("/push/Wild", body)
        slowest = max(slowest, answer.took_s)
        calm.send()
    return slowest


def _overwhelm(house: Installation, origin: Origin, url: str, calm: Calm) -> None:
    """A document that takes more memory than reading one may, now."""
    house.stop()
    house.start(document_memory_mb=SMALL_MEMORY_MB)
    house.wait_until_ready()
    calm.first()
    large = b"<rss version='2.0'><channel>%s</channel></rss>"
    items = b"<item><title>large</title><a><b/></a></item>"
    body = gzip.compress(large % (items * (_TOO_LARGE // len(items))))
    origin.served.append(Served(body, {"Content-Encoding": "gzip"}))
    _fetch_all(house, origin, url, calm)


def _unpublished(house: Installation) -> int:
    """Landing segments that are not published in time."""
    with suppress(TimeoutError):
        waited(house.all_published, BOUND_S, _LOOK_S)
    facts = house.get("/healthz").json()
    return int(facts["landed"]) - int(facts["published"])


def _quarantined(house: Installation) -> int:
    return len(house.get("/v1/quarantine").json()["documents"])


# Statements


def _statements(scratch: Path, named: int) -> dict[str, object]:
    """Until statements are in force: one that is found by five thousand of ten thousand words, one that is nested deep,
    and very many over one source."""
    many = ", ".join(f"'term{number}'" for number in range(10_000))
    deep = "(" * DEPTH + "title contains 'a'" + " or title contains 'b')" * DEPTH
    return {
        "at_least_s": _in_force_s(
            scratch / "many", f"create feed Many from News where title contains at least 5000 of ({many});"
        ),
        "nested_s": _in_force_s(scratch / "deep", f"create feed Deep from News where {deep};"),
        "plan_named_s": _in_force_s(scratch / "named", _keyword_feeds(named)),
        "named_feeds": named,
    }


def _in_force_s(directory: Path, statements: str) -> float:
    """Processor time of this process until statements are read, planned and in force, and a batch has met them."""
    with Weir.open(directory) as weir:
        weir.execute(
            "register feed push://News as News; create feed First from News where title contains 'x';"
        )
        weir.refresh_set()
        begun = time.process_time()
        weir.execute(statements)
        weir.push("News", b"<rss><channel><item><title>term1 news</title></item></channel></rss>")
        weir.run()
        return round(time.process_time() - begun, 2)


def _keyword_feeds(count: int) -> str:
    queries = keyword_queries(list(generated_stories(5_000)), count).terms.to_pylist()
    texts = ("'" + " ".join(words) + "'" for words in queries)
    return "".join(f"create feed K{n} from News where contains {text};" for n, text in enumerate(texts))
