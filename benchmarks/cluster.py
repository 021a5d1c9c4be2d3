"""At home on a cluster: batches in many tasks, open tables while processes are killed, and the matcher in others' Spark
jobs."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import _cluster_division, _cluster_frames, _cluster_store, _cluster_tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=Path, help="a Parquet file of news instead of the generator")


def run(options: argparse.Namespace) -> dict[str, object]:
    kills, batches = (30, 300) if options.full else (4, 40)
    return {
        **_cluster_division.figures(options),
        **_cluster_tables.figures(kills, batches),
        **_cluster_store.figures(20 if options.full else 2, 60 if options.full else 8),
        **_cluster_frames.figures(options, queries=100_000 if options.full else 20_000),
    }
