"""Figures 9 (a) to (h) of the paper on filtering RSS documents, ours beside theirs, as one page.

The published figures exist as images only: of their curves we have what the text says, which stands beside ours. What
it does not give (the scale of an axis, the size of a step) is said to be missing. Our own matcher runs compiled, the
published indexes in plain Python, at a fraction of the published size unless `--full` is given: shapes of curves can be
compared, times of the published indexes cannot. The workload is that of `graphs`.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks._graph_worlds import GraphWorld, Workload, same_structure
from benchmarks._plot import line_plot
from benchmarks.graphs import Subscriptions
from feedweir.items.triples import Statement
from feedweir.match.graphs.triple_batches import batch_of_statements
from feedweir.plan.predicates import GraphPattern
from feedweir.published.graphs import (
    ContainmentTrees,
    MatrixMatcher,
    MergingIndex,
    PublicationMatrix,
    g_topss,
)

Points = list[tuple[float, float]]
Figure = Mapping[str, Points]

PUBLISHED = {
    "a": (
        "Index lookup time and subscriptions",
        "linear in the number of subscriptions, as matches are",
        "subscriptions",
        "ms",
    ),
    "b": (
        "Our matching and G-ToPSS, subscriptions of one structure",
        "match: about 20 ms whatever their number; G-ToPSS: 2,500 ms at 100,000",
        "subscriptions",
        "ms",
    ),
    "c": (
        "Index size and subscriptions",
        "half of the subscriptions with either index",
        "subscriptions",
        "in the index",
    ),
    "d": (
        "Index size and ratio of overlap (containment)",
        "about subscriptions × (1 − overlap), of 100,000",
        "overlap",
        "in the index",
    ),
    "e": (
        "False positives and merge percentage",
        "0.13 % at 90 %, 10,000 subscriptions, 20,000 publications",
        "merged %",
        "%",
    ),
    "f": (
        "Insertion time and subscriptions",
        "with containment more than without, and growing",
        "subscriptions",
        "ms",
    ),
    "g": ("Index size and merge percentage", "629 at 99 %", "merged %", "in the index"),
    "h": ("Merging time and merge percentage", "grows; no figures in the text", "merged %", "ms"),
}
"""By figure its name, what the text says of it, its axes."""
_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:56em;margin:2em auto;padding:0 1em;color:#222}"
    "h2{margin-top:2em;font-size:1.15em}figure{margin:.5em 0;max-width:54em}p{margin:.4em 0}"
)
_SHARES = (10, 30, 50, 70, 90)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--page", type=Path, default=Path("gtopss.html"), help="the page (default: gtopss.html)"
    )
    parser.add_argument("--subscriptions", type=int, default=1000, help="at most; 10,000 with --full")


def run(options: argparse.Namespace) -> dict[str, object]:
    """All eight figures and the page."""
    most = 10_000 if options.full else options.subscriptions
    figures = {
        "a": _lookup(most),
        "b": _structure(most),
        "c": _sizes(most),
        "d": _overlap(most),
        **_merging(most),
        "f": _insertion(most),
    }
    options.page.write_text(page(figures, most), encoding="utf-8")
    return {**{f"figure_9{name}": figures[name] for name in sorted(figures)}, "page": str(options.page)}


def page(figures: Mapping[str, Figure], most: int) -> str:
    parts = [
        "<h1>Filtering RSS documents: published and ours</h1>",
        "<p>Published: 100,000 subscriptions unless said otherwise, machines not named. Here: up to "
        f"{most:,}, one thread, CPU time; the published indexes in plain Python. How the published graphs were drawn, "
        "and the values of most points, the text does not give.</p>",
    ]
    for name in sorted(figures):
        title, said, x_name, y_name = PUBLISHED[name]
        plot = line_plot(figures[name], x_name, y_name, is_log=False)
        parts.append(
            f"<h2>9 ({name}) {escape(title)}</h2><p>Published: {escape(said)}.</p><figure>{plot}</figure>"
        )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Filtering RSS documents</title>"
        f"<style>{_STYLE}</style>{''.join(parts)}</html>"
    )


def _steps(most: int) -> list[int]:
    return [most * step // 5 for step in range(1, 6)]


def _world(count: int, overlap: float = 0.5) -> tuple[list[GraphPattern], list[list[Statement]]]:
    """As many matches for each subscription as the paper has: 100 of 100,000, at least one circle."""
    world = GraphWorld(Workload(count, overlap=overlap))
    return list(world.subscriptions()), list(world.publications(20, seed=4))


def _lookup(most: int) -> Figure:
    found: dict[str, Points] = {"match (Python)": [], "ours": []}
    for count in _steps(most):
        asked, publications = _world(count)
        matcher = _filled(MatrixMatcher(), asked)
        ours, batch = Subscriptions.of(asked), batch_of_statements(publications)
        ours.match(batch)
        found["match (Python)"].append(
            (count, _ms(lambda m=matcher, p=publications: [m.match(one) for one in p]) / 20)
        )  # type: ignore[misc]
        found["ours"].append((count, _ms(lambda o=ours, b=batch: o.match(b)) / 20))  # type: ignore[misc]
    return found


def _structure(most: int) -> Figure:
    found: dict[str, Points] = {"G-ToPSS (Python)": [], "match (Python)": [], "ours": []}
    for count in _steps(most):
        asked, facts = same_structure(count, min(100, count // 2))
        ours, batch = Subscriptions.of(asked), batch_of_statements([facts])
        ours.match(batch)
        for name, matcher in (("G-ToPSS (Python)", g_topss()), ("match (Python)", MatrixMatcher())):
            filled = _filled(matcher, asked)
            found[name].append((count, _ms(lambda m=filled, p=facts: m.match(p))))  # type: ignore[misc]
        found["ours"].append((count, _ms(lambda o=ours, b=batch: [o.match(b) for _ in range(20)]) / 20))  # type: ignore[misc]
    return found


def _sizes(most: int) -> Figure:
    found: dict[str, Points] = {"no index": [], "containment": [], "merging at 50 %": []}
    for count in _steps(most):
        asked, publications = _world(count)
        found["no index"].append((count, count))
        found["containment"].append((count, len(_filled(ContainmentTrees(), asked).roots)))
        found["merging at 50 %"].append((count, len(_merged(asked, publications, 50)[0])))
    return found


def _overlap(most: int) -> Figure:
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    points = [(share, len(_filled(ContainmentTrees(), _world(most, share)[0]).roots)) for share in shares]
    return {"containment": points, "count × (1 − overlap)": [(share, most * (1 - share)) for share in shares]}


def _insertion(most: int) -> Figure:
    found: dict[str, Points] = {"no index": [], "containment": []}
    for count in _steps(most):
        asked, _ = _world(count)
        later = asked[-50:]
        for name, index in (("no index", MatrixMatcher()), ("containment", ContainmentTrees())):
            _filled(index, asked[:-50])
            found[name].append((count, _ms(lambda i=index, p=later, n=count: _filled(i, p, n)) / len(later)))  # type: ignore[misc]
    return found


def _merging(most: int) -> dict[str, Figure]:
    """Figures (e), (g) and (h): the index at several merge percentages, statistics from other publications."""
    asked, _ = _world(most)
    world = GraphWorld(Workload(most))
    list(world.subscriptions())
    learnt, seen = list(world.publications(200, seed=6)), list(world.publications(100, seed=7))
    false, sizes, times = [], [], []
    for share in _SHARES:
        index, spent = _merged(asked, learnt, share)
        before = index.false_positives
        for publication in seen:
            index.match(publication)
        false.append((share, 100 * (index.false_positives - before) / len(seen)))
        sizes.append((share, len(index)))
        times.append((share, spent))
    return {"e": {"false positives": false}, "g": {"merging": sizes}, "h": {"merging (Python)": times}}


def _merged(
    asked: Sequence[GraphPattern], publications: Sequence[Sequence[Statement]], share: int
) -> tuple[MergingIndex, float]:
    """(an index that was merged down by a percentage, the milliseconds of merging)."""
    index = MergingIndex(len(asked), round(len(asked) * (1 - share / 100)), PublicationMatrix(0.3))
    _filled(index, asked)
    for publication in random.Random(3).sample(list(publications), len(publications)):
        index.collect(publication)
    return index, _ms(index.merge)


def _filled(index: Any, asked: Sequence[GraphPattern], first: int = 0) -> Any:
    for number, pattern in enumerate(asked, first):
        index.add(number, pattern)
    return index


def _ms(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)
