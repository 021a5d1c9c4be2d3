"""The tables and figures of the publication on prospective search, ours beside theirs, as one page.

Times are CPU seconds of one thread, scaled to the published 10,000 documents. The plain run takes fewer documents,
multipliers up to 4 and a third of the combined set of queries; `--full` takes the published numbers of queries,
multipliers up to 14 and 2,000 documents.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import _excite as excite
from benchmarks._prospective_page import PUBLISHED_43, PUBLISHED_44, page
from feedweir.published.prospective import Clustered, Found, Matcher, Ordered, Primitive, Shared, TermSets

Row = tuple[str, object, object]
Phases = tuple[float, float]
"""Seconds of the matching phase and of the testing phase."""
Build = Callable[[TermSets, int], Matcher]

PUBLISHED_DOCUMENTS = 10_000
OURS = "shared (ours)"
STEPS: dict[str, Build] = {
    "primitive": Primitive,
    "frequency and position": Ordered,
    "bloom filter": lambda queries, n: Ordered(queries, n, has_filter=True),
}
CLUSTERINGS: dict[str, Build] = {
    "random": lambda queries, n: Clustered(queries, n, clustering="random"),
    "alphabetical": lambda queries, n: Clustered(queries, n, clustering="alphabetical"),
    "overlap": Clustered,
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of what was published is run."""

    documents: int
    sample: int
    """Documents by which queries are told apart that match much or little; 144,000 were published."""
    multipliers: tuple[int, ...]
    partitions: tuple[int, ...]
    combined: int


PLAIN = Scale(100, 10_000, (1, 2, 4), (1, 2, 4), 1_000_000)
FULL = Scale(2_000, 144_000, (1, 2, 4, 8, 10, 14), (1, 2, 4, 8, 16), excite.COMBINED_QUERIES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--page", type=Path, default=Path("prospective.html"), help="the page (default: prospective.html)"
    )
    parser.add_argument("--size", type=int, default=excite.QUERIES, help="queries of the Excite-like set")


def run(options: argparse.Namespace) -> dict[str, object]:
    scale = FULL if options.full else PLAIN
    drawn = excite.workload(options.size, scale.documents + scale.sample)
    sample = drawn.documents.only(np.arange(scale.documents, scale.documents + scale.sample))
    work = excite.Workload(drawn.queries, drawn.documents.head(scale.documents), drawn.n_terms)
    combined_size = round(scale.combined * options.size / excite.QUERIES)
    both = excite.combined(combined_size, scale.documents)
    result: dict[str, object] = {
        "scale": scale_of(scale, work, both),
        "table_3_1": table_31(work),
        **by_size(work, scale),
        **by_selectivity(work, sample),
        "table_4_1": containment(work.queries, work.n_terms),
        "figure_4_1": partial_containment(work.queries, work.n_terms),
        "table_4_2": table_42(both),
        **clustering(both),
        "table_4_4": widths(both),
        "figure_4_5": {"Excite": throughput(work), "combined": throughput(both)},
    }
    options.page.write_text(page(result), encoding="utf-8")
    return {**result, "page": str(options.page)}


def scale_of(scale: Scale, work: excite.Workload, both: excite.Workload) -> list[Row]:
    return [
        ("documents timed", PUBLISHED_DOCUMENTS, scale.documents),
        ("documents that tell selectivities", 144_000, scale.sample),
        ("queries of the Excite set", excite.QUERIES, len(work.queries)),
        ("queries of the combined set", excite.COMBINED_QUERIES, len(both.queries)),
        ("largest multiplier", 14, max(scale.multipliers)),
    ]


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


def by_size(work: excite.Workload, scale: Scale) -> dict[str, object]:
    """Figures 3.3, 3.4, 3.5 and 3.7: the queries repeated so many times, each method with its phases.

    Ours gets as many queries that differ instead: it finds equal ones in one place, however many they are.
    """
    bars: dict[str, dict[str, Phases]] = {}
    partitions: list[list[float]] = []
    for multiplier in scale.multipliers:
        rows = np.random.default_rng(4).permutation(np.tile(np.arange(len(work.queries)), multiplier))
        queries = work.queries.only(rows)
        group = {
            name: phases(build(queries, work.n_terms), work.documents)[1] for name, build in STEPS.items()
        }
        tried = {
            n: phases(Ordered(queries, work.n_terms, has_filter=True, partitions=n), work.documents)[1]
            for n in scale.partitions
        }
        best = min(tried, key=lambda n: sum(tried[n]))
        other = excite.workload(len(queries), len(work.documents), seed=3)
        group["best partitions"] = tried[best]
        group[OURS] = phases(Shared(other.queries, other.n_terms), other.documents)[1]
        bars[f"{len(queries):,}"] = group
        partitions.append([len(queries), best, sum(tried[1]), sum(tried[best])])
    lines = {
        name: [(int(size.replace(",", "")), round(sum(group[name]), 3)) for size, group in bars.items()]
        for name in bars[next(iter(bars))]
    }
    rates = {
        name: [(n, round(PUBLISHED_DOCUMENTS / seconds, 1)) for n, seconds in points]
        for name, points in lines.items()
    }
    return {"figure_3_3": bars, "figure_3_4": lines, "figure_3_5": rates, "figure_3_7": partitions}


def by_selectivity(work: excite.Workload, sample: TermSets) -> dict[str, object]:
    """Figures 3.6 and 4.4: each fifth of the queries, from those with fewest matches in the sample up."""
    found = Shared(work.queries, work.n_terms).match(sample)
    hits = np.bincount(found.queries, minlength=len(work.queries))
    core: dict[str, dict[str, Phases]] = {}
    clustered: dict[str, dict[str, Phases]] = {}
    partitioned: Build = lambda queries, n: Ordered(queries, n, has_filter=True, partitions=2)  # noqa: E731
    for number, fifth in enumerate(np.array_split(np.argsort(hits, kind="stable"), 5), start=1):
        queries = work.queries.only(np.sort(fifth))
        title = ("fewest", "2nd", "3rd", "4th", "most")[number - 1] + " matches"
        core[title] = {
            name: phases(build(queries, work.n_terms), work.documents)[1]
            for name, build in (STEPS | {"2 partitions": partitioned}).items()
        }
        clustered[title] = {"bloom filter": core[title]["bloom filter"]} | {
            name: phases(build(queries, work.n_terms), work.documents)[1]
            for name, build in (CLUSTERINGS | {OURS: Shared}).items()
        }
    return {"figure_3_6": core, "figure_4_4": clustered}


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
        ("contained in another query", 272_248, contained),
        ("… in percent", 25.26, round(100 * contained / len(queries), 2)),
        ("with the same least frequent term", 222_713, sharing),
        ("… in percent", 20.66, round(100 * sharing / len(queries), 2)),
        ("queries", 1_077_958, len(queries)),
    ]


def partial_containment(queries: TermSets, n_terms: int, n: int = 1000) -> list[tuple[float, float]]:
    """Of some queries, which percentage has at least so many percent of its terms in the most similar other one."""
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
        (percent, round(100 * float((kept >= percent / 100 - 1e-9).mean()), 1))
        for percent in (1, *range(10, 101, 10))
    ]


def table_42(work: excite.Workload) -> list[Row]:
    return [
        ("queries", excite.COMBINED_QUERIES, len(work.queries)),
        ("unique terms", excite.COMBINED_TERMS, int((np.bincount(work.queries.terms) > 0).sum())),
        ("postings", excite.COMBINED_POSTINGS, len(work.queries.terms)),
    ]


def clustering(work: excite.Workload) -> dict[str, object]:
    """Table 4.3 and figure 4.3."""
    table: dict[str, list[Row]] = {}
    bars: dict[str, Phases] = {}
    for name, build in ({"bloom filter": STEPS["bloom filter"]} | CLUSTERINGS | {OURS: Shared}).items():
        core = build(work.queries, work.n_terms)
        found, bars[name] = phases(core, work.documents)
        if name != OURS:
            then = PUBLISHED_43[name]
            table[name] = [
                ("(super)queries", then[0], getattr(core, "n_superqueries", len(work.queries))),
                ("postings", then[1], core.n_postings),
                ("accumulators for 10,000 documents", then[2], _scaled(found.accumulators, work)),
                ("(super)queries per query", *_per_query(then[0], core, len(work.queries))),
            ]
    return {"table_4_3": table, "figure_4_3": {f"{len(work.queries):,} queries": bars}}


def _per_query(then: int, core: Matcher, n: int) -> tuple[float, float]:
    return round(then / excite.COMBINED_QUERIES, 3), round(getattr(core, "n_superqueries", n) / n, 3)


def widths(work: excite.Workload) -> dict[str, list[Row]]:
    told: dict[str, list[Row]] = {}
    for limit, (match_s, test_s, superqueries, postings, accumulators) in PUBLISHED_44.items():
        core = Clustered(work.queries, work.n_terms, limit=limit)
        found, (matching, testing) = phases(core, work.documents)
        told[f"SQ{limit // 32} ({limit} terms)"] = [
            ("matching, s", match_s, round(matching, 2)),
            ("testing, s", test_s, round(testing, 2)),
            ("total, s", round(match_s + test_s, 2), round(matching + testing, 2)),
            ("superqueries", superqueries, core.n_superqueries),
            ("postings", postings, core.n_postings),
            ("accumulators for 10,000 documents", accumulators, _scaled(found.accumulators, work)),
        ]
    return told


def throughput(work: excite.Workload) -> dict[str, float]:
    """Documents per second of every method."""
    partitioned: Build = lambda queries, n: Ordered(queries, n, has_filter=True, partitions=2)  # noqa: E731
    methods = STEPS | {"2 partitions": partitioned} | CLUSTERINGS | {OURS: Shared}
    return {
        name: round(
            PUBLISHED_DOCUMENTS / sum(phases(build(work.queries, work.n_terms), work.documents)[1]), 1
        )
        for name, build in methods.items()
    }


def _scaled(count: int, work: excite.Workload) -> int:
    return round(count / len(work.documents) * PUBLISHED_DOCUMENTS)


def phases(core: Matcher, documents: TermSets) -> tuple[Found, Phases]:
    """What is found, and the seconds of both phases for the published number of documents."""
    core.match(documents.head(1))
    found, whole = timed(lambda: core.match(documents))
    scale = PUBLISHED_DOCUMENTS / len(documents)
    if isinstance(core, Shared):
        return found, (round(whole * scale, 3), 0.0)
    core.match(documents.head(1), has_tests=False)
    _, matching = timed(lambda: core.match(documents, has_tests=False))
    return found, (round(min(matching, whole) * scale, 3), round(max(whole - matching, 0.0) * scale, 3))


def timed(work: Callable[[], Found]) -> tuple[Found, float]:
    start = process_time()
    found = work()
    return found, process_time() - start
