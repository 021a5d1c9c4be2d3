"""What a question or a statement costs where there are many feeds: matching, creating, listing, previewing, reasons.

An installation gets its feeds as statements and its items as documents that land; then programs ask it over HTTP, one
request after the other. `*_ms` is the CPU time of a request, the asking side included, `*_wall_ms` the median by the
clock, which has what the disk takes as well. Feeds read one source, several, all, or another feed; `why` asks about a
feed that joins four thousand items. `version_s` is the CPU time of `feedweir --version`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from feedweir.service.daemon import Daemon
from feedweir.service.installation import Weir
from feedweir.service.local_backend import LocalBackend
from feedweir.web.app import create_app
from feedweir.web.web_server import WebServer

_START = datetime(2026, 1, 1, tzinfo=UTC)
_SOURCES = 50
_WORDS = 20_000
_A_SCRIPT = 25_000
_JOINED = 4_000

JOINS = """
register feed push://left as Left; register feed push://right as Right;
create feed Linked from Left as $p join last 3 days on Right as $w with $p[links shares-link window.links];
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--feeds", type=int, help="how many feeds there are (100,000; 1,000,000 with --full)")
    parser.add_argument("--requests", type=int, default=30, help="of each kind")


def run(options: argparse.Namespace) -> dict[str, object]:
    feeds = options.feeds or (1_000_000 if options.full else 100_000)
    result: dict[str, object] = {"feeds": feeds, **version_times()}
    with tempfile.TemporaryDirectory() as scratch:
        now = [_START]
        with Weir.open(Path(scratch) / "data", clock=lambda: now[0]) as weir:
            result |= filled(weir, feeds, now)
            with asked_over_http(weir) as ask:
                result |= doors(weir, ask, feeds, options.requests)
    return result


def version_times() -> dict[str, object]:
    """The second start: the first one may find files that nobody has read for long."""
    command = [sys.executable, "-c", "from feedweir.cli import main; main()", "--version"]
    spent, taken = [], []
    for _ in range(3):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(time.perf_counter() - begun)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"version_s": min(spent), "version_wall_s": min(taken)}


# The installation


def filled(weir: Weir, feeds: int, now: list[datetime]) -> dict[str, object]:
    """First the items, which few feeds want, and then the feeds."""
    draw = random.Random(7)
    sources = "; ".join(f"register feed push://s{number} as s{number}" for number in range(_SOURCES))
    weir.execute(f"{sources};{JOINS}")
    for number in range(20):
        weir.push(f"s{number}", document(draw, 50))
    for number in range(_JOINED // 200):
        now[0] += timedelta(minutes=10)
        for source in ("Left", "Right"):
            weir.push(source, document(draw, 100, f"{source}{number}"))
    weir.run()
    begun = time.process_time()
    advised = 0
    for first in range(0, feeds, _A_SCRIPT):
        script = "\n".join(statement(draw, number) for number in range(first, min(first + _A_SCRIPT, feeds)))
        advised += sum(bool(done.advice) for done in weir.execute(script))
    statements_s = time.process_time() - begun
    begun = time.process_time()
    weir.refresh_set()
    return {
        "statements_s": statements_s,
        "advised_in_scripts": advised,
        "compile_s": time.process_time() - begun,
    }


def statement(draw: random.Random, number: int) -> str:
    one, other, third = (word(draw) for _ in range(3))
    source = f"s{draw.randrange(_SOURCES)}"
    match number % 20:
        case 0 | 1 | 2 | 3:
            said = f"* where contains '{one}' and contains '{other}'"
        case 4 | 5:
            said = f"{source} | s{draw.randrange(_SOURCES)} where contains '{one}' or title contains '{other} {third}'"
        case 6 | 7 if number > 40:
            said = f"f{20 * draw.randrange(number // 20)} where contains '{third}'"
        case 8 | 9:
            said = f"{source} where contains '{one}' and not contains '{other}' and published > 2020-01-15"
        case _:
            said = f"{source} where title contains '{one}' and contains '{other}'"
    return f"create feed f{number} from {said};"


def word(draw: random.Random) -> str:
    """Some words are common, most are rare."""
    common = int(draw.paretovariate(0.6)) if draw.random() < 0.3 else draw.randrange(_WORDS)
    return f"word{min(common, _WORDS - 1)}"


def document(draw: random.Random, items: int, name: str = "") -> bytes:
    """Items with a name share one of three links."""
    texts = (
        f"<item><guid>{name}{draw.random()}</guid><title>{' '.join(word(draw) for _ in range(8))}</title>"
        f"<description>{' '.join(word(draw) for _ in range(40))}</description>"
        f"<link>http://a.example/{number % 3 if name else draw.random()}</link></item>"
        for number in range(items)
    )
    return f"<rss version='2.0'><channel><title>t</title>{''.join(texts)}</channel></rss>".encode()


# Asking

Ask = Callable[[str, str, bytes], Any]
"""Method, path, body: what was answered."""


@contextmanager
def asked_over_http(weir: Weir) -> Iterator[Ask]:
    service = Daemon(weir, lambda committed: _NoQuery(), None)
    with WebServer(create_app(LocalBackend(weir, service))) as server:
        connection = http.client.HTTPConnection(server.host, server.port)

        def ask(method: str, path: str, body: bytes) -> Any:
            connection.request(method, path, body)
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status} {said[:300]!r}")
            return json.loads(said)

        yield ask
        connection.close()


class _NoQuery:
    isActive = False

    def stop(self) -> None:
        """Nothing runs."""

    def exception(self) -> None:
        """Nothing failed."""


def doors(weir: Weir, ask: Ask, feeds: int, requests: int) -> dict[str, object]:
    draw = random.Random(11)
    joined = weir.items("Left", _JOINED)
    joins = [joined[0].seq, joined[len(joined) // 2].seq, joined[-1].seq]

    def said(text: str) -> Any:
        return ask("POST", "/v1/statements", text.encode())["results"]

    def match(number: int) -> Any:
        return ask("POST", f"/v1/match?source=s{number % _SOURCES}", document(draw, 1))

    def create(number: int) -> Any:
        return said(statement(draw, 20 * number + 10).replace("feed f", "feed new"))

    def create_wide(number: int) -> Any:
        return said(statement(draw, 20 * number).replace("feed f", "feed wide"))

    def again(number: int) -> Any:
        """A feed that is there already."""
        same = weir.catalog.feeds.named(f"f{draw.randrange(feeds // 20) * 20}").statement
        (done,) = said(same.replace("feed f", f"feed again{number}f", 1))
        assert any("is equal to" in one or "were not compared" in one for one in done["advice"])

    result = measured("match", match, requests)
    result |= measured("show", lambda number: said(f"show feeds like '*{number + 123}'"), requests)
    result |= measured("create", create, requests)
    result |= measured("create_wide", create_wide, requests)
    result |= measured("create_again", again, requests)
    result |= measured("match_beside", match, requests)
    weir.refresh_set()
    result |= measured("match_in_force", match, requests)
    result |= measured("preview", lambda number: said(f"from s1 where contains '{word(draw)}'"), requests)
    result |= measured(
        "why", lambda number: ask("GET", f"/v1/why?item={joins[number % 3]}&feed=Linked", b""), 6
    )
    return result


def measured(name: str, work: Callable[[int], Any], requests: int) -> dict[str, object]:
    for number in range(2):
        work(number)
    begun, walls = time.process_time(), []
    for number in range(2, 2 + requests):
        at = time.perf_counter()
        work(number)
        walls.append(time.perf_counter() - at)
    spent = (time.process_time() - begun) / requests
    return {f"{name}_ms": 1e3 * spent, f"{name}_wall_ms": 1e3 * median(walls)}
