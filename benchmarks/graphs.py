"""Graph patterns by the hundred thousand on the paper's workload (`_graph_worlds.py`), and every pattern by itself.

Publications are triples already, as the paper's are: what is timed is from terms to subscriptions, a batch of a hundred
at a time, in CPU time of one thread. `agree` compares what is found with the naive evaluator, with SPARQL by pyoxigraph
and with the published matchers, on samples of the subscriptions. SPARQL is timed on a sample and extrapolated to all
subscriptions. `speedup_over_gtopss` is figure 9 (b), subscriptions of one structure that differ in what they
compare with; G-ToPSS and `match` run as published, in Python, so their speedups say more of the language than those of
compiled baselines would. News are ordinary items as Arrow columns, and what is timed includes making triples of them.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import numpy as np
import pyoxigraph
from tests import naive

from benchmarks._graph_worlds import GraphWorld, Workload, same_structure
from benchmarks._tree_feeds import NAMES, TOPICS, Press, conditions, through_weir
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.items.triples import Node, Statement
from feedweir.match.graphs.graph_builder import compile_graphs
from feedweir.match.graphs.graph_containment import PatternIndex
from feedweir.match.graphs.graph_forms import parts_of
from feedweir.match.graphs.graph_set import GraphSet
from feedweir.match.graphs.part_users import PartUsers
from feedweir.match.graphs.triple_batches import TripleBatch, batch_of_statements, triples_in
from feedweir.plan.predicates import Constant, Constraint, GraphPattern, GraphTerm, Iri, Triple, Variable
from feedweir.published.graphs import MatrixMatcher, g_topss

_AT_ONCE = 100
NEWS_WORDS = tuple(f"word{number}" for number in range(4000))


def measure(workload: Workload, items: int, sample: int) -> dict[str, object]:
    """One workload: built, matched, compared."""
    world = GraphWorld(workload)
    asked = list(world.subscriptions())
    build_s, ours = _timed(lambda: Subscriptions.of(asked), repeats=1)
    for batch in _batches(list(world.publications(min(items, 100), seed=1))):
        ours.match(batch)
    publications = list(world.publications(items, seed=2))
    batches = _batches(publications)
    spent_s, found = _timed(lambda: [ours.match(batch) for batch in batches])
    tried = sum(ours.graphs.matches(batch).tried for batch in batches)
    sparql_s, agrees = _compared(asked, found, publications, sample)
    return {
        "subscriptions": len(asked),
        "labels": workload.labels,
        "noise": workload.noise,
        "items": items,
        "parts": len(ours.graphs),
        "matched": round(sum(len(rows) for rows, _ in found) / items, 1),
        "shapes_tried": round(tried / items, 1),
        "build_s": round(build_s, 1),
        "ms_per_item": round(1000 * spent_s / items, 4),
        "bytes_per_subscription": round(ours.nbytes / len(asked)),
        "sparql_ms_per_item": round(1000 * sparql_s * len(asked), 1),
        "speedup_over_sparql": round(sparql_s * len(asked) / (spent_s / items)),
        "agree": agrees,
    }


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The set of all parts, and who needs them: a small part of what a compiled set is."""

    graphs: GraphSet
    users: PartUsers

    @classmethod
    def of(cls, asked: Sequence[GraphPattern]) -> Subscriptions:
        numbers: dict[GraphPattern, int] = {}
        parts = [[numbers.setdefault(part, len(numbers)) for part in parts_of(one)] for one in asked]
        return cls(compile_graphs(list(numbers)), PartUsers.of(parts, len(numbers)))

    def match(self, batch: TripleBatch) -> tuple[Any, Any]:
        """(rows, subscriptions)."""
        has = self.graphs.matches(batch)
        return self.users.found(has.rows, has.parts)

    @property
    def nbytes(self) -> int:
        users = self.users
        return self.graphs.nbytes + users.starts.nbytes + users.users.nbytes + users.needed.nbytes


def _batches(publications: Sequence[Sequence[Statement]]) -> list[TripleBatch]:
    return [
        batch_of_statements(publications[first : first + _AT_ONCE])
        for first in range(0, len(publications), _AT_ONCE)
    ]


def _compared(
    asked: Sequence[GraphPattern],
    found: Sequence[tuple[Any, Any]],
    publications: Sequence[Sequence[Statement]],
    sample: int,
) -> tuple[float, bool]:
    """(seconds of SPARQL for one pattern on one item, whether all answers agree) on some patterns and items.

    Half of the patterns are drawn from what was found, so that there is something to agree on.
    """
    chance = random.Random(5)
    had = [
        set(users[rows == row].tolist())
        for rows, users in found
        for row in range(min(_AT_ONCE, len(publications)))
    ]
    some_items = chance.sample(range(len(publications)), min(5, len(publications)))
    matched = sorted(set().union(*(had[row] for row in some_items)))
    chosen = chance.sample(matched, min(sample // 2, len(matched)))
    chosen += chance.sample(range(len(asked)), min(sample - len(chosen), len(asked)))
    queries = {number: as_sparql(asked[number]) for number in chosen}
    published: dict[int, Any] = {}
    matcher = MatrixMatcher()
    for number in dict.fromkeys(chosen):
        matcher.add(number, asked[number])
    spent, agrees = 0.0, True
    for row in some_items:
        facts = publications[row]
        store = pyoxigraph.Store()
        store.extend(pyoxigraph.Quad(*map(_term, one)) for one in facts)
        start = time.process_time()
        by_sparql = {number for number, query in queries.items() if bool(store.query(query))}
        spent += time.process_time() - start
        published[row] = matcher.match(facts)
        plain = [(tuple(a), tuple(b), tuple(c)) for a, b, c in facts]
        by_naive = {number for number in chosen[:20] if naive.has_subgraph(asked[number], plain)}
        expected = had[row].intersection(chosen)
        agrees &= by_sparql == expected and published[row] == expected
        agrees &= by_naive == expected.intersection(chosen[:20])
    return spent / (len(queries) * len(some_items)), agrees


def as_sparql(pattern: GraphPattern) -> str:
    """A pattern without constraints as a question of SPARQL."""

    def written(term: GraphTerm) -> str:
        if isinstance(term, Variable):
            return f"?v{term.name}"
        assert isinstance(term, Iri)
        return f"<{term.iri}>"

    inside = " . ".join(
        f"{written(t.subject)} {written(t.predicate)} {written(t.object)}" for t in pattern.triples
    )
    return f"ASK {{ {inside} }}"


def _term(node: Node) -> Any:
    return pyoxigraph.NamedNode(node.value) if node.kind == "iri" else pyoxigraph.Literal(node.value)


def one_structure(count: int, matched: int) -> dict[str, object]:
    """Figure 9 (b): ours, `match` and the order of G-ToPSS."""
    asked, facts = same_structure(count, matched)
    subscriptions = Subscriptions.of(asked)
    batch = batch_of_statements([facts])
    subscriptions.match(batch)
    ours_s, found = _timed(lambda: [subscriptions.match(batch) for _ in range(200)])
    ours = set(found[0][1].tolist())
    n_shapes = len(subscriptions.graphs.shapes.counts)
    result: dict[str, object] = {"subscriptions": count, "matched": len(ours), "shapes": n_shapes}
    agrees = True
    for name, matcher in (("match", MatrixMatcher()), ("gtopss", g_topss())):
        for number, pattern in enumerate(asked):
            matcher.add(number, pattern)
        spent_s, answer = _timed(lambda one=matcher: one.match(facts), repeats=1)  # type: ignore[misc]
        agrees &= answer == ours
        result[f"{name}_ms"] = round(1000 * spent_s, 2)
        result[f"speedup_over_{name}"] = round(spent_s / (ours_s / 200), 1)
    return result | {"ms": round(1000 * ours_s / 200, 4), "agree": agrees}


def containment(count: int) -> dict[str, object]:
    """All containments of a workload, and what finding those of one subscription takes."""
    asked = list(GraphWorld(Workload(subscriptions=count)).subscriptions())
    index = PatternIndex(asked)
    index.containing(index)
    spent_s, (rows, users) = _timed(lambda: index.containing(index), repeats=1)
    return {
        "subscriptions": count,
        "pairs": len(rows),
        "contained": round(len(np.unique(rows[rows != users])) / count, 3),
        "containment_us": round(1e6 * spent_s / count, 2),
    }


def news(patterns: int, items: int) -> dict[str, object]:
    """Ordinary items: their columns in, pairs of items and patterns out."""
    chance = random.Random(7)
    asked = [_about_news(chance) for _ in range(patterns)]
    ours = Subscriptions.of(asked)
    batches = [batch_of([_story(chance, number) for number in range(1000)]) for _ in range(-(-items // 1000))]
    rows = np.arange(1000)

    def match() -> int:
        return sum(len(ours.match(triples_in(batch, rows, ours.graphs.wants))[0]) for batch in batches)

    match()
    spent_s, found = _timed(match)
    return {
        "patterns": patterns,
        "items": 1000 * len(batches),
        "pairs_per_item": round(found / (1000 * len(batches)), 2),
        "news_items_per_s": round(1000 * len(batches) / spent_s),
    }


def weir(feeds: int, items: int) -> dict[str, object]:
    """Feeds that ask for graphs, through an installation (`_tree_feeds.py`): statements as text, documents pushed."""
    chance = random.Random(11)
    asked = conditions([_about_press(chance) for _ in range(2 * feeds)], chance)
    return through_weir(list(islice(asked, feeds)), Press(3), items, sample=64)


def _about_press(chance: random.Random) -> GraphPattern:
    """What the documents of an installation say: creators, subjects, languages."""
    item = Variable("i")

    def one(name: str, among: Sequence[str]) -> Triple:
        return Triple(item, Constant(name), Constant(among[int(len(among) * chance.random() ** 2)]))

    triples = [chance.choice((one("creator", NAMES), one("subject", TOPICS)))]
    if chance.random() < 0.4:
        triples.append(one("language", ("en", "de", "fr", "es")))
    if chance.random() < 0.3:
        triples.append(one("publisher", NAMES))
    return GraphPattern(tuple(triples))


def _about_news(chance: random.Random) -> GraphPattern:
    """A creator or a subject, a date, now and then a second subject."""
    item = Variable("i")
    creator = Triple(item, Constant("creator"), Constant(f"Name {int(3000 * chance.random() ** 2)}"))
    subject = Triple(item, Constant("subject"), Constant(f"topic {int(2000 * chance.random() ** 2)}"))
    triples = [chance.choice((creator, subject))]
    held: tuple[Constraint, ...] = ()
    if chance.random() < 0.5:
        triples.append(Triple(item, Constant("language"), Constant(chance.choice(("en", "de", "fr")))))
    if chance.random() < 0.3:
        triples.append(Triple(item, Constant("date"), Variable("d")))
        held = (Constraint("d", ">", f"2026-{chance.randrange(1, 13):02}-01"),)
    return GraphPattern(tuple(triples), held)


def _story(chance: random.Random, number: int) -> Item:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=chance.randrange(8000))
    words = " ".join(chance.choices(NEWS_WORDS, k=8))
    url = f"https://news.example/{number}/{chance.randrange(10**9)}"
    return Item(
        source="press",
        identity=url,
        title=words,
        summary=f"<p>{words}</p>",
        link=url,
        links=(url,),
        authors=(f"Name {chance.randrange(3000)}",),
        categories=tuple(f"topic {chance.randrange(2000)}" for _ in range(chance.randrange(1, 4))),
        published=at,
        arrived=at,
        language=chance.choice(("en", "de", "fr")),
        raw=f"<item><title>{words}</title></item>",
    )


def _timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """(CPU seconds, result): the median of some runs."""
    spent: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        spent.append(time.process_time() - start)
    return sorted(spent)[len(spent) // 2], result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subscriptions", type=int, default=20_000, help="how many; 100,000 with --full")
    parser.add_argument(
        "--part",
        choices=("all", "world", "structure", "containment", "news", "weir"),
        default="all",
        help="one part only",
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    """The paper's workload; `--full` at its size, with each number of labels and each share of noise."""
    count = 100_000 if options.full else options.subscriptions
    result: dict[str, object] = {}
    if options.part in ("all", "world"):
        worlds = [Workload(count)]
        if options.full:
            worlds += [Workload(count, labels=labels) for labels in (20, 2000)]
            worlds += [Workload(count, noise=noise) for noise in (0, 30)]
        measured = [
            measure(world, 2000 if options.full else 300, 400 if options.full else 100) for world in worlds
        ]
        result |= measured[0] | ({"workloads": measured[1:]} if options.full else {})
    if options.part in ("all", "structure"):
        result["one_structure"] = one_structure(count, 100)
    if options.part in ("all", "containment"):
        result["containment"] = containment(count)
    if options.part in ("all", "news"):
        result["news"] = news(count, 20_000 if options.full else 5_000)
    if options.part == "weir" or (options.part == "all" and options.full):
        result |= weir(count, 20_000 if options.full else 2_000)
    return result
