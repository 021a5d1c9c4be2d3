"""The matcher in others' jobs: rows of a DataFrame a second and core, against the same in one process.

All of it is CPU time, of the Java process and of the Python workers too, because the machine may be busy. In one
process the rows are matched and their ids listed; on Spark they also go from Java to Python and back.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._streams import generated_stories, keyword_queries, stories_of
from benchmarks._tree_feeds import cpu_s
from feedweir.spark import compile_queries, match, register
from feedweir.spark.dataframes import lists_of

COLUMNS = {"title": "title", "text": "summary"}


def figures(
    options: argparse.Namespace, *, articles: int = 200_000, queries: int = 100_000
) -> dict[str, object]:
    """The keys of `cluster` that speak of DataFrames."""
    source = stories_of(options.items) if options.items else generated_stories(articles)
    stories = [story for story, _ in zip(source, range(articles), strict=False)]
    table = pa.table(
        {
            "id": pa.array(range(len(stories))),
            "title": [story.title for story in stories],
            "summary": [story.summary for story in stories],
        }
    )
    drawn = keyword_queries(stories, queries)
    texts = {
        int(key): " ".join(words) for key, words in zip(drawn.keys, drawn.terms.to_pylist(), strict=True)
    }
    compiled = compile_queries(texts)
    alone = _in_one_process(table, compiled)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        return {
            "frame_rows": len(stories),
            "frame_queries": queries,
            **_on_spark(Path(scratch), table, compiled, alone),
        }


def _in_one_process(table: pa.Table, compiled) -> tuple[float, list[list[int]]]:  # type: ignore[no-untyped-def]
    """CPU seconds, and by row the ids of what wants it."""
    columns = (("title", "title"), ("content", "summary"))
    (batch,) = table.select(["title", "summary"]).combine_chunks().to_batches()

    def run() -> pa.Array:
        return lists_of(compiled.name, str(compiled.archive), columns, ["title", "summary"], *batch.columns)

    run()  # opens the set
    begun = time.process_time()
    found = run()
    return time.process_time() - begun, found.to_pylist()


def _on_spark(
    scratch: Path, table: pa.Table, compiled, alone: tuple[float, list[list[int]]]
) -> dict[str, object]:  # type: ignore[no-untyped-def]
    from feedweir.spark.session import close_session, open_session

    parts = 8
    for part in range(parts):
        pq.write_table(
            table.slice(part * len(table) // parts, len(table) // parts), scratch / f"{part}.parquet"
        )
    session = open_session("local[2]", scratch / "scratch")
    try:
        register(session, compiled, "wanted_by", parameters=("title", "text"))
        frame = session.read.parquet(*(str(scratch / f"{part}.parquet") for part in range(parts)))
        frame.createOrReplaceTempView("articles")
        ways = {
            "match_df_per_core": lambda: match(frame, compiled, keep=["id"], **COLUMNS),
            "match_pairs_per_core": lambda: match(frame, compiled, how="pairs", keep=["id"], **COLUMNS),
            "sql_function_per_core": lambda: session.sql(
                "select id, wanted_by(title, summary) as matches from articles"
            ),
        }
        rates = {name: round(alone[0] / _spent(way), 3) for name, way in ways.items()}
        wanted = {(row, one) for row, ids in enumerate(alone[1]) for one in ids}
        found = {
            "rows": [(row.id, one) for row in ways["match_df_per_core"]().collect() for one in row.matches],
            "pairs": [(row.id, row.query) for row in ways["match_pairs_per_core"]().collect()],
            "sql": [
                (row.id, one) for row in ways["sql_function_per_core"]().collect() for one in row.matches
            ],
        }
        agree = all(len(pairs) == len(wanted) and set(pairs) == wanted for pairs in found.values())
        return {**rates, "frame_pairs": len(wanted), "frames_agree": agree}
    finally:
        close_session(session)


def _spent(way: Callable[[], object]) -> float:
    """CPU seconds of all processes, when the workers have the set open."""

    def run() -> None:
        way().write.format("noop").mode("overwrite").save()  # type: ignore[attr-defined]

    run()
    times = []
    for _ in range(3):
        begun = cpu_s()
        run()
        times.append(cpu_s() - begun)
    return min(times)
