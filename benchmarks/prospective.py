"""The tables and figures of the publication on prospective search, ours beside theirs, as one page.

Times are CPU seconds of one thread. The plain run uses few documents and the Excite-like set throughout; `--full` uses
the published numbers of documents, multipliers up to 14 and a set of 3.07 million queries for the clustering.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks import _excite as excite
from benchmarks._plot import line_plot
from feedweir.match.prospective import Clustered, Found, Matcher, Ordered, Primitive, Shared, TermSets

Row = tuple[str, object, object]

STEPS: dict[str, Callable[[TermSets, int], Matcher]] = {
    "primitive": Primitive,
    "frequency and position": Ordered,
    "bloom filter": lambda queries, n: Ordered(queries, n, has_filter=True),
    "partitions": lambda queries, n: Ordered(queries, n, has_filter=True, partitions=2),
}
CLUSTERINGS: dict[str, Callable[[TermSets, int], Matcher]] = {
    "random": lambda queries, n: Clustered(queries, n, clustering="random"),
    "alphabetical": lambda queries, n: Clustered(queries, n, clustering="alphabetical"),
    "overlap": Clustered,
}
OURS: dict[str, Callable[[TermSets, int], Matcher]] = {"shared (ours)": Shared}
PUBLISHED_43 = {
    "random": (957_366, 6_089_165, 8_870_966),
    "alphabetical": (948_417, 5_784_684, 7_670_446),
    "overlap": (939_779, 5_522_510, 6_543_883),
    "bloom filter": (3_069_916, 9_239_690, 130_691_462),
}
PUBLISHED_44 = {
    32: (15.05, 939_779, 5_522_510, 6_543_883),
    64: (14.59, 900_359, 5_400_181, 3_527_224),
    96: (14.61, 890_258, 5_356_174, 2_597_491),
    128: (14.68, 886_101, 5_334_635, 2_145_484),
}
PUBLISHED_DOCUMENTS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--page", type=Path, help="write the page (HTML) here")
    parser.add_argument("--size", type=int, default=excite.QUERIES, help="queries of the Excite-like set")


def run(options: argparse.Namespace) -> dict[str, object]:
    n_documents = 2_000 if options.full else 60
    n_sample = 20_000 if options.full else 400
    drawn = excite.workload(options.size, n_documents + n_sample)
    sample = drawn.documents.only(np.arange(n_documents, n_documents + n_sample))
    work = excite.Workload(drawn.queries, drawn.documents.head(n_documents), drawn.n_terms)
    combined = excite.workload(3_069_916, n_documents, seed=2) if options.full else work
    multipliers = (1, 2, 4, 8, 10, 14) if options.full else (1, 2)
    result: dict[str, object] = {
        "table_3_1": table_31(work),
        "figures_3_3_to_3_5": by_size(work, multipliers),
        "figure_3_6_and_4_4": by_selectivity(work, sample),
        "figure_3_7": by_partitions(work, (1, 2, 4, 8, 16) if options.full else (1, 2, 4)),
        "table_4_1": containment(work.queries, work.n_terms),
        "figure_4_1": partial_containment(work.queries, work.n_terms),
        "table_4_3_and_figure_4_3": clustering(combined),
        "table_4_4": widths(combined),
        "figure_4_5": throughput(work),
    }
    if options.page is not None:
        options.page.write_text(page(result), encoding="utf-8")
    return result


# Section 3: the core


def table_31(work: excite.Workload) -> list[Row]:
    found = Ordered(work.queries, work.n_terms).match(work.documents)
    n = len(work.documents)
    return [
        ("queries", 1_077_958, len(work.queries)),
        ("unique terms in queries", 271_167, int((np.bincount(work.queries.terms) > 0).sum())),
        ("postings in the index", 3_633_970, len(work.queries.terms)),
        ("known terms per document", 144.37, round(float(work.documents.sizes.mean()), 2)),
        ("postings traversed per document", 199_262.33, round(found.postings / n, 2)),
        ("of them with position 0", 6_629.67, round(found.first_postings / n, 2)),
        ("matches per document", "not given", round(len(found.rows) / n, 2)),
    ]


def by_size(work: excite.Workload, multipliers: Sequence[int]) -> dict[str, list[tuple[int, float]]]:
    """Seconds for the published number of documents against the queries repeated so many times."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for multiplier in multipliers:
        rows = np.random.default_rng(4).permutation(np.tile(np.arange(len(work.queries)), multiplier))
        queries = work.queries.only(rows)
        for name, build in (STEPS | OURS).items():
            _, seconds = timed(build(queries, work.n_terms), work.documents)
            scaled = seconds / len(work.documents) * PUBLISHED_DOCUMENTS
            lines.setdefault(name, []).append((len(queries), round(scaled, 3)))
    return lines


def by_selectivity(work: excite.Workload, sample: TermSets) -> dict[str, list[float]]:
    """Microseconds per document on each fifth of the queries, from those with fewest matches in the sample up."""
    found = Shared(work.queries, work.n_terms).match(sample)
    hits = np.bincount(found.queries, minlength=len(work.queries))
    order = np.argsort(hits, kind="stable")
    lines: dict[str, list[float]] = {}
    for fifth in np.array_split(order, 5):
        queries = work.queries.only(np.sort(fifth))
        for name, build in (STEPS | {"overlap": Clustered} | OURS).items():
            lines.setdefault(name, []).append(per_document(build(queries, work.n_terms), work.documents))
    return lines


def by_partitions(work: excite.Workload, counts: Sequence[int]) -> list[tuple[int, float]]:
    return [
        (n, per_document(Ordered(work.queries, work.n_terms, has_filter=True, partitions=n), work.documents))
        for n in counts
    ]


# Section 4: clusters


def containment(queries: TermSets, n_terms: int) -> list[Row]:
    """How many queries are contained in another one, by asking every query of every query."""
    found = Shared(queries, n_terms).match(queries)
    is_other = found.rows != found.queries
    inner, outer = found.queries[is_other], found.rows[is_other]
    firsts = queries.terms[queries.offsets[:-1]]
    alike = firsts[inner] == firsts[outer]
    contained, sharing = len(np.unique(inner)), len(np.unique(inner[alike]))
    return [
        ("contained in another query, %", 25.26, round(100 * contained / len(queries), 2)),
        ("with the same least frequent term, %", 20.66, round(100 * sharing / len(queries), 2)),
    ]


def partial_containment(queries: TermSets, n_terms: int, n: int = 1000) -> list[Row]:
    """For some queries, how much of them the most similar other query has."""
    order = np.argsort(queries.terms, kind="stable")
    owners = np.repeat(np.arange(len(queries)), queries.sizes)[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(queries.terms, minlength=n_terms))])
    shares = []
    for query in np.random.default_rng(5).choice(len(queries), min(n, len(queries)), replace=False):
        terms = queries.terms[queries.offsets[query] : queries.offsets[query + 1]]
        others, counts = np.unique(
            np.concatenate([owners[starts[term] : starts[term + 1]] for term in terms]), return_counts=True
        )
        shares.append(counts[others != query].max(initial=0) / len(terms))
    kept = np.array(shares)
    return [
        ("queries without a term in common with any other, %", 5, round(100 * float((kept == 0).mean()), 1)),
        ("half of their terms in another, %", 65, round(100 * float((kept >= 0.5).mean()), 1)),
        ("fully contained in another, %", 25, round(100 * float((kept == 1).mean()), 1)),
    ]


def clustering(work: excite.Workload) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = {}
    for name, build in ({"bloom filter": STEPS["bloom filter"]} | CLUSTERINGS).items():
        core = build(work.queries, work.n_terms)
        found, seconds = timed(core, work.documents)
        told[name] = {
            "superqueries": [PUBLISHED_43[name][0], getattr(core, "n_superqueries", len(work.queries))],
            "postings": [PUBLISHED_43[name][1], core.n_postings],
            "accumulators per 10,000": [PUBLISHED_43[name][2], _scaled(found.accumulators, work)],
            "seconds per 10,000": ["a figure", round(seconds / len(work.documents) * PUBLISHED_DOCUMENTS, 2)],
        }
    return told


def widths(work: excite.Workload) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = {}
    for limit, (seconds_then, superqueries, postings, accumulators) in PUBLISHED_44.items():
        core = Clustered(work.queries, work.n_terms, limit=limit)
        found, seconds = timed(core, work.documents)
        told[f"SQ{limit // 32}"] = {
            "seconds per 10,000": [
                seconds_then,
                round(seconds / len(work.documents) * PUBLISHED_DOCUMENTS, 2),
            ],
            "superqueries": [superqueries, core.n_superqueries],
            "postings": [postings, core.n_postings],
            "accumulators per 10,000": [accumulators, _scaled(found.accumulators, work)],
        }
    return told


def throughput(work: excite.Workload) -> dict[str, float]:
    """Documents per second of every method."""
    methods = STEPS | CLUSTERINGS | OURS
    return {
        name: round(1e6 / per_document(build(work.queries, work.n_terms), work.documents), 1)
        for name, build in methods.items()
    }


def _scaled(count: int, work: excite.Workload) -> int:
    return round(count / len(work.documents) * PUBLISHED_DOCUMENTS)


def timed(core: Matcher, documents: TermSets) -> tuple[Found, float]:
    core.match(documents.head(1))
    start = process_time()
    found = core.match(documents)
    return found, process_time() - start


def per_document(core: Matcher, documents: TermSets) -> float:
    """Microseconds."""
    return round(timed(core, documents)[1] / len(documents) * 1e6, 2)


# The page


def page(result: Mapping[str, Any]) -> str:
    sizes = {
        name: [(float(n), seconds) for n, seconds in points]
        for name, points in result["figures_3_3_to_3_5"].items()
    }
    rates = {name: [(n, PUBLISHED_DOCUMENTS / s) for n, s in points] for name, points in sizes.items()}
    fifths = {
        name: [(float(fifth + 1), time) for fifth, time in enumerate(times)]
        for name, times in result["figure_3_6_and_4_4"].items()
    }
    parts = [
        "<h1>Prospective search: published and ours</h1>",
        f"<p>{escape(str(__doc__))}</p>",
        _rows("Table 3.1: queries, documents, lookups", result["table_3_1"]),
        _figure("Figures 3.3 and 3.4: seconds for 10,000 documents", line_plot(sizes, "queries", "seconds")),
        "<p>Published: the best method of section 3 takes less than 20 s for 1.08 million queries.</p>",
        _figure("Figure 3.5: documents per second", line_plot(rates, "queries", "documents per second")),
        _figure(
            "Figures 3.6 and 4.4: by selectivity",
            line_plot(fifths, "fifth of the queries", "µs per document"),
        ),
        _rows(
            "Figure 3.7: partitions",
            [(f"{n} partitions", "a figure", f"{t} µs") for n, t in result["figure_3_7"]],
        ),
        _rows("Table 4.1: containment", result["table_4_1"]),
        _rows("Figure 4.1: partial containment", result["figure_4_1"]),
        _nested("Table 4.3 and figure 4.3: clusterings", result["table_4_3_and_figure_4_3"]),
        _nested("Table 4.4: 32 to 128 terms", result["table_4_4"]),
        _rows(
            "Figure 4.5: documents per second (published: a gain of more than 20 over all steps)",
            [(name, "a figure", rate) for name, rate in result["figure_4_5"].items()],
        ),
    ]
    return f"<!doctype html><meta charset='utf-8'><title>Prospective search</title>{''.join(parts)}"


def _rows(title: str, rows: Sequence[Row]) -> str:
    body = "".join(
        f"<tr><td>{escape(name)}<td align='right'>{then}<td align='right'>{now}</tr>"
        for name, then, now in rows
    )
    return f"<h2>{escape(title)}</h2><table><tr><th><th>published<th>ours</tr>{body}</table>"


def _nested(title: str, table: Mapping[str, Mapping[str, Sequence[object]]]) -> str:
    rows = [(f"{name}: {what}", *pair) for name, row in table.items() for what, pair in row.items()]
    return _rows(title, [(name, then, now) for name, then, now in rows])


def _figure(title: str, svg: str) -> str:
    return f"<h2>{escape(title)}</h2><figure style='max-width:48em'>{svg}</figure>"
