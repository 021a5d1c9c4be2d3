"""Millions of keyword queries against items: every published method and ours, the text path, updates, growth.

Times are CPU seconds of one thread. `--queries` (one a line) and `--items` (Parquet with title and summary) take real
data for the text path; without them a generator makes both.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import _excite as excite
from benchmarks._plot import line_plot
from feedweir.catalog import Definition
from feedweir.compile.compiler import compile_definitions
from feedweir.compile.statement_shares import processes_for
from feedweir.items.columns import ItemColumns
from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.match import (
    Frequencies,
    KeywordQueries,
    SegmentedSet,
    apply_changes,
    compile_set,
    is_worth_merging,
    open_version,
    prepare_merge,
    write_version,
)
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.pipeline.sets import install_set
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query
from feedweir.published.prospective import METHODS, PUBLISHED, Shared, TermSets, best_of, matcher
from feedweir.service.installation import Weir
from feedweir.text.analyser import words

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from how i in is it my of on or that the this to was what when where"
        " who why will with you your",
    )
)
_BATCH = 4096
_SINGLE = 1_000
"""Items that are asked about one by one."""
_SPARE_QUERIES = 20_000
"""Drawn beside the others, to be added later."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=Path, help="real queries, one a line (.gz allowed)")
    parser.add_argument("--items", type=Path, help="real items: a Parquet file with title and summary")
    parser.add_argument("--size", type=int, default=excite.QUERIES, help="generated queries")
    parser.add_argument("--statements", type=int, default=200_000, help="statements that are read as text")
    parser.add_argument("--plot", type=Path, help="write the growth plot (SVG) here")


def run(options: argparse.Namespace) -> dict[str, object]:
    drawn = excite.workload(options.size + _SPARE_QUERIES, 1500)
    documents = drawn.documents if options.full else drawn.documents.head(300)
    work = excite.Workload(drawn.queries.head(options.size), documents, drawn.n_terms)
    more = drawn.queries.only(np.arange(options.size, len(drawn.queries)))
    result: dict[str, object] = {"queries": len(work.queries), "terms": work.n_terms}
    result |= kernels(work)
    with tempfile.TemporaryDirectory() as scratch:
        result |= whole_path(work, Path(scratch), options)
        result |= single(work, Path(scratch), options)
        result |= updates(replace(work, documents=drawn.documents), more, Path(scratch))
        result |= statements(work, Path(scratch), options.statements)
        result |= against_perq(work)
    result |= growth(options)
    return result


# Methods on term sets


def kernels(work: excite.Workload) -> dict[str, object]:
    rates: dict[str, float] = {}
    answers = {}
    for name in METHODS:
        core = matcher(name, work.queries, work.n_terms)
        core.match(work.documents.head(1))
        runs = [timed(lambda core=core: core.match(work.documents)) for _ in range(3)]
        found = runs[0][0]
        rates[name] = len(work.documents) / min(seconds for _, seconds in runs)
        answers[name] = np.sort(found.rows.astype(np.int64) * len(work.queries) + found.queries)
        if name == "shared":
            touched = {"tests_per_item": found.tests / len(work.documents)}
    sample = work.documents.head(5)
    naive = naive_pairs(work.queries, sample)
    first = answers["shared"]
    agree = all(np.array_equal(first, answer) for answer in answers.values())
    agree &= np.array_equal(first[first < 5 * len(work.queries)], naive)
    best = max(rates[name] for name in PUBLISHED if name in rates)
    return {
        "agree": bool(agree),
        "hits_per_item": len(first) / len(work.documents),
        "known_terms_per_item": float(work.documents.sizes.mean()),
        "items_per_s": {name: round(rate, 1) for name, rate in rates.items()},
        "auto_picks": best_of(work.queries, work.n_terms, work.documents.head(20)),
        "speedup_over_primitive": rates["shared"] / rates["primitive"],
        "speedup_over_paper_best": rates["shared"] / best,
        **touched,
    }


def naive_pairs(queries: TermSets, documents: TermSets) -> np.ndarray[Any, Any]:
    """Every query against every document, nothing clever."""
    found = []
    for row in range(len(documents)):
        terms = documents.terms[documents.offsets[row] : documents.offsets[row + 1]]
        is_there = np.isin(queries.terms, terms)
        has_all = np.logical_and.reduceat(is_there, queries.offsets[:-1])
        found.append(np.flatnonzero(has_all) + row * len(queries))
    return np.concatenate(found)


# From text to pairs


def whole_path(work: excite.Workload, scratch: Path, options: argparse.Namespace) -> dict[str, object]:
    queries = KeywordQueries(*excite.keyword_columns(work.queries, work.n_terms))
    _, build_s = timed(lambda: compile_set(queries, scratch / "set"))
    opened: Any = open_compiled(scratch / "set")
    texts = excite.texts(work.documents)
    batch = items_of_texts([""] * len(texts), texts)
    opened.match(batch.slice(0, 10))
    found, seconds = timed(lambda: opened.match(batch))
    expected = matcher("shared", work.queries, work.n_terms).match(work.documents)
    on_disk = sum(path.stat().st_size for path in (scratch / "set").iterdir())
    result = {
        "build_s": build_s,
        "bytes_per_query": opened.index.nbytes / len(opened),
        "disk_bytes_per_query": on_disk / len(opened),
        "text_items_per_s": len(texts) / seconds,
        "text_agrees": len(found) == len(expected.rows),
    }
    real = options.queries is not None and options.items is not None
    if real:
        seen = observed(real_items(options.items, first=20_000, n=10_000))
        return result | text_ratio(real_queries(options.queries), real_items(options.items), scratch, seen)
    return result | text_ratio(queries, batch, scratch)


# One at a time


def single(work: excite.Workload, scratch: Path, options: argparse.Namespace) -> dict[str, object]:
    """Microseconds for one item, from its value to the keys, and for a document, from its bytes to the feeds' names."""
    if options.queries is not None and options.items is not None:
        queries, items = real_queries(options.queries), real_items(options.items, _SINGLE)
        seen = observed(real_items(options.items, first=20_000, n=10_000))
    else:
        queries = KeywordQueries(*excite.keyword_columns(work.queries, work.n_terms))
        texts = excite.texts(work.documents)
        items, seen = items_of_texts([""] * len(texts), texts), None
    compile_set(queries, scratch / "single", frequencies=seen)
    opened = open_compiled(scratch / "single")
    values = list(items_of(items))
    found, spent = one_by_one(lambda item: opened.match(ItemColumns([item])).keys.tolist(), values)
    together = opened.match(items)
    agree = found == [together.keys[together.rows == row].tolist() for row in range(len(values))]
    return {
        "one_item_us": spent,
        "one_item_agrees": agree,
        **one_document(queries, values, scratch, options.statements),
    }


def one_document(queries: KeywordQueries, items: list[Item], scratch: Path, n: int) -> dict[str, object]:
    """The same queries as statements, each item as a document."""
    terms = queries.terms.to_pylist()[:n]
    feeds = (
        f"create feed f{number} from a where " + " and ".join(f"item contains '{word}'" for word in words)
        for number, words in enumerate(terms)
    )
    with Weir.open(scratch / "weir") as weir:
        weir.execute(";\n".join(["register feed http://a.example/feed as a", *feeds]))
        weir.refresh_set()
        documents = [
            f"<rss><channel><item><title>{escape(item.title)}</title><description>{escape(item.summary)}</description>"
            "</item></channel></rss>"
            for item in items
        ]
        _, spent = one_by_one(
            lambda body: weir.ask.matching_feeds_of_document(body.encode(), source="a"), documents
        )
    return {"one_document_us": spent}


def one_by_one(ask: Callable[[Any], Any], given: list[Any]) -> tuple[list[Any], float]:
    """(what each is answered, the median of the microseconds); once more before, so that all is near."""
    for one in given[:50]:
        ask(one)
    answers = [timed(lambda one=one: ask(one)) for one in given]
    return [answer for answer, _ in answers], round(1e6 * median(spent for _, spent in answers), 1)


def statements(work: excite.Workload, scratch: Path, n: int) -> dict[str, object]:
    """Statements as text become an installed set: seconds of the clock, by one process and by one for each core.

    Both ways take turns and the better time of each counts, as whatever else the machine does meets either.
    """
    given = definitions(work, n)
    seconds: dict[int | None, list[float]] = {1: [], None: []}
    spent_s = []
    for turn in range(2):
        for n_processes, taken in seconds.items():
            before = process_time()
            target = scratch / f"installed-{turn}-{n_processes}"
            taken.append(clocked(lambda: installed(given, n_processes, target))[1])  # noqa: B023 - called at once
            if n_processes == 1:
                spent_s.append(process_time() - before)
    alone, together = min(seconds[1]), min(seconds[None])
    return {
        "statements": len(given),
        "statements_processes": processes_for(len(given)),
        "statements_one_process_s": alone,
        "statements_one_process_cpu_s": min(spent_s),
        "statements_build_s": together,
        "parallel_gain": alone / together,
        "statements_agree": segment_bytes(scratch / "installed-0-1")
        == segment_bytes(scratch / "installed-0-None"),
    }


def definitions(work: excite.Workload, n: int) -> list[Definition]:
    """Feeds as people write them, over one source, each for the words of a generated query."""
    terms = work.queries.head(min(n, len(work.queries)))
    rows = np.split(terms.terms, terms.offsets[1:-1])
    conditions = (
        " and ".join(f"item contains '{excite.word(term)}'" for term in row.tolist()) for row in rows
    )
    source = Definition(0, "a", "source", "register feed http://a.example/feed as a")
    return [source] + [
        Definition(number, f"f{number}", "virtual", f"create feed f{number} from a where {condition}")
        for number, condition in enumerate(conditions, start=1)
    ]


def installed(given: list[Definition], n_processes: int | None, sets: Path) -> None:
    found = compile_definitions(given, n_processes=n_processes)
    install_set(sets, 1, found.queries, found.joins)


def segment_bytes(sets: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(sets.glob("segments/*/*"), key=lambda path: path.name)]


def text_ratio(
    queries: KeywordQueries, items: pa.RecordBatch, scratch: Path, seen: Frequencies | None = None
) -> dict[str, object]:
    """Everything from Arrow to pairs, against the regular expression that only finds words; best of five each."""
    compile_set(queries, scratch / "ratio", frequencies=seen)
    opened: Any = open_compiled(scratch / "ratio")
    titles, summaries = (items.column(name).to_pylist() for name in ("title", "summary"))
    texts = [f"{title} {summary}" for title, summary in zip(titles, summaries, strict=True)]
    batches = [items.slice(start, _BATCH) for start in range(0, items.num_rows, _BATCH)]
    opened.match(batches[0])
    ours, theirs, hits = [], [], 0
    for _ in range(5):
        # neither keeps its results, so that neither pays for a growing heap
        hits, seconds = timed(lambda: sum(len(opened.match(batch)) for batch in batches))
        ours.append(seconds)
        theirs.append(timed(lambda: sum(len(re.findall(r"\w+", text.lower())) for text in texts))[1])
    return {
        "text_ratio": min(ours) / min(theirs),
        "ratio_queries": len(opened),
        "ratio_hits_per_item": hits / items.num_rows,
        "ratio_items_per_s": items.num_rows / min(ours),
    }


def real_queries(path: Path) -> KeywordQueries:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = data.decode("utf-8", "replace").splitlines()
    found = (re.findall(r"\w+", line) for line in lines)
    # a row of underscores has no word in it, and a statement that asks for it is refused
    terms = [[word for word in some if word not in STOP_WORDS and word.strip("_")] for some in found]
    kept = [words for words in terms if words]
    return KeywordQueries(pa.array(np.arange(len(kept))), pa.array(kept, pa.list_(pa.string())))


def observed(items: pa.RecordBatch) -> Frequencies:
    """In how many of these items, which are not those that are measured, each word stands."""
    counts: Counter[str] = Counter()
    for title, summary in zip(
        *(items.column(name).to_pylist() for name in ("title", "summary")), strict=True
    ):
        counts.update({*words(title), *words(summary)})
    return Frequencies(items.num_rows, counts)


def real_items(path: Path, n: int = 20_000, first: int = 0) -> pa.RecordBatch:
    table = pq.read_table(path, columns=["title", "summary"]).slice(first, n)
    return items_of_texts(
        *(pc.fill_null(table.column(name), "").to_pylist() for name in ("title", "summary"))
    )


def items_of_texts(titles: list[str], summaries: list[str]) -> pa.RecordBatch:
    n = len(titles)
    known = {"title": pa.array(titles), "summary": pa.array(summaries), "seq": pa.array(np.arange(n))}
    columns = [known.get(field.name, _blank(field.type, n)) for field in ITEM_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=ITEM_SCHEMA)


def _blank(kind: pa.DataType, n: int) -> pa.Array:
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(np.zeros(n + 1, np.int32), pa.nulls(0, kind.value_type))
    if pa.types.is_string(kind):
        return pa.repeat("", n)
    return pa.array(np.zeros(n, np.int64)).cast(kind)


# Changes


def updates(
    work: excite.Workload, more: TermSets, scratch: Path, n_changes: int = 1000, most_rounds: int = 200
) -> dict[str, object]:
    """Throughput with `n_changes` a second, all of whose work is done on the same core, against none.

    Half of the changes add queries like those that are there, half remove some. A second of changes follows the other
    until everything is to be merged; the merge belongs to the price, and so does opening each version to match.
    """
    root = scratch / "changing"
    base: Any = write_version(root, 1, KeywordQueries(*excite.keyword_columns(work.queries, work.n_terms)))
    batch = items_of_texts([""] * len(work.documents), excite.texts(work.documents))
    base.match(batch)
    _get_ready(replace(work, queries=work.queries.head(8000)), more, batch.slice(0, 10), scratch / "small")
    random = np.random.default_rng(3)
    changed, segments = base, 1
    spent: list[float] = []
    slower: list[float] = []
    while len(spent) < most_rounds and not is_worth_merging(changed.segments):
        added = _queries(more, random.integers(0, len(more), n_changes // 2), len(spent))
        removed = random.integers(0, len(work.queries), n_changes // 2).tolist()
        written, seconds = timed(lambda added=added, removed=removed: apply_changes(root, added, removed))
        changed, more_seconds = timed(lambda version=written: _opened(version, batch.slice(0, 1)))
        spent.append(seconds + more_seconds)
        segments = max(segments, len(changed.segments))
        if len(spent) % 10 == 5:
            slower.append(_slowdown(base, changed, batch))
    merged, merge_s = timed(
        lambda: _opened(apply_changes(root, prepared=prepare_merge(root)), batch.slice(0, 1))
    )
    slowdown, share = float(np.mean(slower)), (sum(spent) + merge_s) / len(spent)
    return {
        "update_dip": max(0.0, 1.0 - (1.0 - share) / slowdown),
        "update_match_slowdown": slowdown - 1.0,
        "update_apply_s_per_1000": float(np.mean(spent)),
        "update_merge_s_per_1000": merge_s / len(spent),
        "update_seconds": len(spent),
        "update_segments": segments,
        "update_agrees": len(merged) == len(changed)
        and len(merged.match(batch)) == len(changed.match(batch)),
    }


def _get_ready(work: excite.Workload, more: TermSets, items: pa.RecordBatch, root: Path) -> None:
    """Once with a small set, so that no kernel is compiled while the clock runs."""
    write_version(root, 1, KeywordQueries(*excite.keyword_columns(work.queries, work.n_terms)))
    for number, size in enumerate((200, 5)):
        _opened(apply_changes(root, _queries(more, np.arange(size), number), [number]), items)
    _opened(apply_changes(root, prepared=prepare_merge(root)), items)


def _slowdown(base: Any, changed: Any, batch: pa.RecordBatch) -> float:
    """In turns, so that whatever else the machine does meets both."""
    turns = [(timed(lambda: base.match(batch))[1], timed(lambda: changed.match(batch))[1]) for _ in range(7)]
    return min(now for _, now in turns) / min(before for before, _ in turns)


def _opened(version: SegmentedSet, item: pa.RecordBatch) -> Any:
    """What a process that matches does with a version: reads what is new, and gets ready for the first batch."""
    opened = open_version(version.root, version.version)
    opened.match(item)
    return opened


def _queries(terms: TermSets, rows: np.ndarray[Any, Any], number: int) -> list[Query]:
    first = 10_000_000 + number * len(rows)
    return [
        _query(first + k, terms.terms[terms.offsets[row] : terms.offsets[row + 1]])
        for k, row in enumerate(rows)
    ]


def _query(key: int, numbers: np.ndarray[Any, Any]) -> Query:
    terms = tuple(Term(excite.word(term)) for term in numbers.tolist())
    return Query(key, (), Contains(None, terms, len(terms)))


# Against perq, and growth


def against_perq(work: excite.Workload, n_queries: int = 100_000) -> dict[str, object]:
    try:
        import perq
    except ImportError:
        return {"speedup_over_perq": "perq is not installed"}
    queries, documents = work.queries.head(n_queries), work.documents.head(200)
    words = [excite.word(term) for term in range(work.n_terms)]
    rows = np.split(queries.terms, queries.offsets[1:-1])
    asked = (perq.Query(number, [(words[term],) for term in terms]) for number, terms in enumerate(rows))
    with perq.MemoryStore() as store:
        perq.index(asked, store)
        return _perq_timed(perq, perq.QueryMatcher(store), queries, documents, words, work.n_terms)


def _perq_timed(
    perq: Any, theirs: Any, queries: TermSets, documents: TermSets, words: list[str], n_terms: int
) -> dict[str, object]:
    prepared = [
        perq.Document(
            [words[term] for term in documents.terms[documents.offsets[r] : documents.offsets[r + 1]]]
        )
        for r in range(len(documents))
    ]
    list(theirs.matches(prepared[0]))
    found, seconds = timed(lambda: [list(theirs.matches(document)) for document in prepared])
    ours = Shared(queries, n_terms)
    ours.match(documents.head(1))
    same, our_seconds = timed(lambda: ours.match(documents))
    return {
        "speedup_over_perq": seconds / our_seconds,
        "perq_agrees": sum(map(len, found)) == len(same.rows),
        "perq_items_per_s": len(documents) / seconds,
    }


def growth(options: argparse.Namespace) -> dict[str, object]:
    """Time per item and bytes per query as the set grows; ten million only in the large sweep."""
    sizes = (
        (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
        if options.full
        else (100_000, 300_000, 1_000_000)
    )
    table: list[dict[str, float]] = []
    for size in sizes:
        work = excite.workload(size, 200)
        core = Shared(work.queries, work.n_terms)
        core.match(work.documents.head(1))
        found, seconds = timed(lambda core=core, work=work: core.match(work.documents))
        table.append(
            {
                "queries": len(work.queries),
                "us_per_item": seconds / len(work.documents) * 1e6,
                "hits_per_item": len(found.rows) / len(work.documents),
                "bytes_per_query": core.nbytes / len(work.queries) + 8,
            }
        )
    if options.plot is not None:
        options.plot.write_text(growth_plot(table), encoding="utf-8")
    return {"growth": table}


def growth_plot(table: list[dict[str, float]]) -> str:
    shown = {
        "µs per item": "us_per_item",
        "hits per item": "hits_per_item",
        "bytes per query": "bytes_per_query",
    }
    lines = {name: [(row["queries"], row[column]) for row in table] for name, column in shown.items()}
    return line_plot(lines, "queries", "by number of queries, both axes logarithmic")


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """By the clock on the wall, as several processes work together."""
    start = perf_counter()
    result = work()
    return result, perf_counter() - start


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = process_time()
    result = work()
    return result, process_time() - start
