"""How many mixed statements a second are parsed, checked and planned, and whether each reads back as itself."""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable
from multiprocessing import get_context

from feedweir.language import Query, check, format_statement, parse
from feedweir.language.name_checks import Kind
from feedweir.language.plan_builder import build
from feedweir.language.statements import Ask, CreateFeed

_SOURCES = tuple(f"source{number}" for number in range(1000))
_PEOPLE = ("broder", "hong", "petrovic", "amann", "creus", "irmak")


class SourcesOnly:
    """A catalog of sources; feeds that the benchmark creates do not read each other."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = dict.fromkeys(_SOURCES, "source")

    def kind_of(self, name: str) -> Kind | None:
        return self.kinds.get(name)

    def all_names(self) -> tuple[str, ...]:
        return _SOURCES

    def query_of(self, name: str) -> Query | None:
        return None


class Writer:
    """Statements of every kind over a vocabulary of invented words."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0
        syllables = ("ra", "mo", "ti", "ku", "ne", "sol", "var", "den", "fi", "lu")
        self.words = tuple("".join(self.random.choices(syllables, k=3)) for _ in range(5000))

    def statement(self) -> str:
        """The next one: mostly feeds by words, as people write them."""
        self.number += 1
        (write,) = self.random.choices(_KINDS, weights=_WEIGHTS)
        return write(self)

    def word(self) -> str:
        return self.random.choice(self.words)

    def source(self) -> str:
        return self.random.choice(_SOURCES)

    def union(self) -> str:
        return " | ".join(self.source() for _ in range(self.random.randint(1, 3)))

    def atom(self) -> str:
        kind = self.random.randrange(8)
        if kind < 4:
            return f"{self.random.choice(('title', 'description', 'category'))} contains '{self.word()}'"
        if kind == 4:
            return f"contains '{self.word()} \"{self.word()} {self.word()}\" {self.word()[:4]}*'"
        if kind == 5:
            return f"author = '{self.random.choice(_PEOPLE)}'"
        if kind == 6:
            return f"published.year >= {self.random.randint(1990, 2020)}"
        return f"links references 'http://{self.word()}.org/{self.word()}'"

    def condition(self) -> str:
        parts = [self.atom() for _ in range(self.random.randint(1, 3))]
        text = " and ".join(parts)
        return f"{text} and not ({self.atom()} or {self.atom()})" if self.random.random() < 0.2 else text


def _words(w: Writer) -> str:
    return f"create feed feed{w.number} from {w.union()} where {w.condition()}"


def _search(w: Writer) -> str:
    box = f'{w.word()} {w.word()} -{w.word()} intitle:"{w.word()} {w.word()}"'
    return (
        f"create feed feed{w.number} from {w.union()} where search '{box} author:{w.random.choice(_PEOPLE)}'"
    )


def _group(w: Writer) -> str:
    members = f"{w.source()} | {w.source()} as $a | ({w.union()}) as $b"
    return f"create feed feed{w.number} from ({members}) as $r where $a[{w.atom()}] and $r[{w.condition()}]"


def _join(w: Writer) -> str:
    window = w.random.choice(("3 months", "50 items", "12 hours"))
    joined = f"join last {window} on ({w.source()} as $m | {w.source()}) with $r[title similar window.title]"
    return f"create feed feed{w.number} from ({w.union()}) as $r {joined} where $m[{w.atom()}] and $r[{w.atom()}]"


def _xscl(w: Writer) -> str:
    left = f"{w.source()}//book->x1[.//author->x2][.//title->x3]"
    right = f"{w.source()}//blog->x4[.//author->x5][.//title->x6]"
    return f"{left} FOLLOWED BY{{x2=x5 AND x3=x6, 30 days}} {right} PUBLISH feed{w.number}"


def _graph(w: Writer) -> str:
    triples = (
        f"(?i, dc:subject, '{w.word()}') AND ((?i, year, ?x) SUCHTHAT (?x > {w.random.randint(1990, 2020)}))"
    )
    return f"SELECT * FROM {w.source()} WHERE {triples} PUBLISH feed{w.number}"


def _register(w: Writer) -> str:
    return f"register feed http://{w.word()}.org/{w.word()}.rss as feed{w.number}"


def _subscribe(w: Writer) -> str:
    return f"subscribe to {w.source()} output mail '{w.word()}@example.org' every {w.random.randint(1, 24)} hours"


_KINDS: tuple[Callable[[Writer], str], ...] = (
    _words,
    _search,
    _group,
    _join,
    _xscl,
    _graph,
    _register,
    _subscribe,
)
_WEIGHTS = (45, 15, 8, 5, 5, 5, 10, 7)


def statements(count: int, seed: int = 7) -> list[str]:
    """So many statements, the same ones every time."""
    writer = Writer(seed)
    return [writer.statement() for _ in range(count)]


def compile_all(texts: list[str]) -> tuple[float, float]:
    """Parse, check and plan each statement by itself; the seconds that passed, and those the processor worked."""
    names = SourcesOnly()
    started, worked = time.perf_counter(), time.process_time()
    for text in texts:
        for statement in parse(text):
            check(statement, names)
            if isinstance(statement, (CreateFeed, Ask)):
                build(statement.query, names)
    return time.perf_counter() - started, time.process_time() - worked


def _failures(texts: list[str]) -> int:
    """How many statements do not read back as themselves."""
    found = 0
    for text in texts:
        tree = parse(text)
        found += tuple(part for statement in tree for part in parse(format_statement(statement))) != tree
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, object]:
    """One core first, then the same statements over several processes."""
    count = options.statements * (10 if options.full else 1)
    texts = statements(count)
    compile_all(texts[:2000])
    gc.collect()
    one_core_s, processor_s = compile_all(texts)
    shares = [texts[start :: options.processes] for start in range(options.processes)]
    with get_context("fork").Pool(options.processes) as pool:
        pool.map(compile_all, [texts[:500]] * options.processes)
        started = time.perf_counter()
        pool.map(compile_all, shares, chunksize=1)
        together_s = time.perf_counter() - started
        failures = sum(pool.map(_failures, shares, chunksize=1))
    return {
        "statements": count,
        "statements_per_s": round(count / together_s),
        "statements_per_s_one_core": round(count / one_core_s),
        "statements_per_processor_s": round(count / processor_s),
        "processes": options.processes,
        "round_trip_failures": failures,
    }
