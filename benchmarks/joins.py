"""Joins by the hundred thousand: the technical benchmark of two documents, a stream of feed items, similarity joins.

Two documents whose leaves have equal values position by position meet all queries: a two-level schema with N leaves and
a three-level schema with branching 4; queries pick k leaves of each side (k by Zipf) and equate them. The stream is of
items with five leaves and windows without end, in the join room alone and through the whole pipeline on Spark.
`--full` makes every figure of the experiments that this repeats; a line for each measurement goes to standard error.
`--page` writes them, with table 3, beside what was published.

Templates are counted as they are evaluated, left and right told apart, and either way, a template and its mirror
image as one: the published counts of the three-level schema are of the second kind (2, 6, 20 for at most 2, 3, 4 value
joins in 1,000 queries; 22 in 100,000), those of all possible templates (1, 3, 16 for 1 to 3 value joins) of the first.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._join_items import ITEM_LEAVES, Items, generated_items, read_items, stream
from benchmarks._join_page import page
from benchmarks._join_queries import Schema, deep, flat, queries_of
from benchmarks._join_shapes import possible_templates
from benchmarks._join_similar import similar
from benchmarks._join_stream import measured
from benchmarks._join_technical import technical

COUNTS = (10, 100, 1000, 10_000, 100_000)
SKEWS = (0.0, 0.4, 0.8, 1.2, 1.6)
TABLE_3 = {1: (1, 1), 2: (3, 3), 3: (6, 16), 4: (16, "<230")}
"""By value joins, as published: the possible templates over flat documents, and over any."""
BY_LEAVES = {4: 4, 6: 6, 12: 12}
BY_MOST = {2: 2, 3: 6, 4: 20, 5: 39}
"""By the most value joins of a query, as published for 1,000 queries over the three-level schema; the draw decides."""
AT_MOST_QUERIES = 22

Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", default="", help="a Parquet file of news items for the stream experiment")
    parser.add_argument("--limit", type=int, default=0, help="at most so many items of the stream")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--page", type=Path, help="write the figures and tables beside the published ones here"
    )
    parser.add_argument(
        "--only-spark", action="store_true", help="only the stream through the whole pipeline"
    )


def items_of(options: argparse.Namespace, limit: int) -> Items:
    return read_items(options.items, limit) if options.items else generated_items(limit)


def through_spark(options: argparse.Namespace, limit: int) -> Row:
    """The stream at 100,000 queries through landing, parsing, matching, witnesses, joins and publishing."""
    items = items_of(options, limit)
    schema = Schema(ITEM_LEAVES)
    queries = queries_of(schema, 100_000, len(ITEM_LEAVES), 0.8, random.Random(7))
    found = measured(
        (query.join for query in queries),
        items.columns,
        items.times.tolist(),
        size=min(2_000, -(-len(items) // 4)),
        cores=options.cores,
    )
    return {"queries": 100_000, "items": len(items), **found}


def templates(three_level: Row) -> Row:
    """Ours beside what was published, setting by setting."""
    possible = {
        f"{count} value joins": {
            kind: {"ours": possible_templates(count, is_flat=kind == "flat"), "published": published}
            for kind, published in zip(("flat", "complex"), TABLE_3[count], strict=True)
        }
        for count in TABLE_3
    }
    leaves = {
        f"N={count}": {"ours": technical(flat(count), 1000, count, 0.8)["templates"], "published": published}
        for count, published in BY_LEAVES.items()
    }
    most = {
        f"K={count}": _both_ways(technical(deep(), 1000, count, 0.8), published)
        for count, published in BY_MOST.items()
    }
    return {
        "possible": possible,
        "two_level": leaves,
        "three_level_1000_queries": most,
        f"three_level_{three_level['queries']}_queries": _both_ways(three_level, AT_MOST_QUERIES),
    }


def _both_ways(row: Row, published: int) -> Row:
    return {
        "ours": row["templates_either_way"],
        "published": published,
        "left_and_right_apart": row["templates"],
    }


def told(figure: str, setting: str, measure: Callable[[], Row]) -> Row:
    """A measurement, told as it is made."""
    row = measure()
    cells = "  ".join(f"{name} {value}" for name, value in row.items())
    print(f"figure {figure:>5}  {setting:<44}  {cells}", file=sys.stderr, flush=True)
    return {"figure": figure, "setting": setting, **row}


def technical_figures() -> list[Row]:
    """Figures 8 to 15: what is varied in each, all else at its default (1,000 queries, N=6 or K=4, Zipf 0.8)."""
    settings: list[tuple[str, str, Callable[[], Row]]] = []
    for first, name, schema, most in (("8", "two-level", flat(6), 6), ("11", "three-level", deep(), 4)):
        for count in COUNTS:
            # The views of figures 14 and 15 are those of the last point of these.
            figure = first if count < COUNTS[-1] else f"{first}, {14 if first == '8' else 15}"
            settings.append(
                (figure, f"{name}, {count} queries", _measure(schema, count, most, 0.8)),
            )
        skewed = "10" if first == "8" else "13"
        settings += [(skewed, f"{name}, Zipf {skew}", _measure(schema, 1000, most, skew)) for skew in SKEWS]
    settings += [
        ("9", f"two-level, {leaves} leaves", _measure(flat(leaves), 1000, leaves, 0.8))
        for leaves in (4, 6, 8, 10, 12)
    ]
    settings += [
        ("12", f"three-level, at most {most} value joins", _measure(deep(), 1000, most, 0.8))
        for most in (2, 3, 4, 5)
    ]
    ordered = sorted(settings, key=lambda setting: int(setting[0].split(",")[0]))
    return [told(*setting) for setting in ordered]


def _measure(schema: Schema, count: int, most: int, skew: float) -> Callable[[], Row]:
    return lambda: technical(schema, count, most, skew)


def run(options: argparse.Namespace) -> Row:
    full = options.full
    if options.only_spark:
        return through_spark(options, options.limit or 20_000)
    result: Row = {}
    if full:
        figures = technical_figures()
        two, three = (
            [row for row in figures if row["setting"].startswith(name) and row["setting"].endswith("queries")]
            for name in ("two-level", "three-level")
        )
        result["figures"] = figures
    else:
        two = [technical(flat(6), count, 6, 0.8) for count in (1000, 100_000)]
        three = [technical(deep(), count, 4, 0.8) for count in (1000, 100_000)]
        result |= {"two_level": two, "three_level": three}
    # Windows without end: what is found grows with the square of the items.
    items = items_of(options, options.limit or (60_000 if full else 20_000))
    streams = [
        told("16", f"stream of {len(items)} items, {count} queries", lambda count=count: stream(items, count))
        for count in (COUNTS if full else (1000, 100_000))
    ]
    whole = through_spark(options, min(len(items), 24_000 if full else 12_000))
    similars = [
        similar(options.items, 200_000, 4000, threshold)
        for threshold in ((0.9, 0.8, 0.7, 0.6, 0.5) if full else (0.8, 0.6))
    ]
    checks = [*two, *three, *streams, *similars, whole]
    found = {
        "templates": templates(three[-1]),
        "speedup_over_sequential": min(two[-1]["speedup_compiled"], three[-1]["speedup_compiled"]),
        "speedup_over_sequential_in_python": min(two[-1]["speedup"], three[-1]["speedup"]),
        "view_cache_gain": three[-1]["view_gain"],
        **result,
        "stream": streams,
        "engine_items_per_s": streams[-1]["items_per_s"],
        "pipeline": whole,
        "items_per_s": whole["items_per_s"],
        "state_bytes_per_item": whole["state_bytes_per_item"],
        "similar": similars,
        "similar_items_per_s": min(one["items_per_s"] for one in similars),
        "agree": all(bool(one["agree"]) for one in checks),
    }
    if options.page is not None:
        figures = result.get("figures") or technical_figures()
        options.page.write_text(page({**found, "figures": figures}), encoding="utf-8")
        found["page"] = str(options.page)
    return found
