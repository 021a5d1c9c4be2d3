"""A driver to be killed: runs the pipeline over a data directory and says on its output what it is about to do.

    python -m tests.spark.driver DIRECTORY MASTER SEGMENT

It ends by itself once SEGMENT is published and committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from feedweir.engine.batches import Assignment, Manifest, Receipt
from feedweir.engine.settle import Settler
from feedweir.keeper.weir import Weir


def say(*words: object) -> None:
    print(*words, flush=True)


class TalkingSettler(Settler):
    """Says when a batch is about to exist and when it does."""

    def settle(self, assignment: Assignment, receipts: list[Receipt]) -> Manifest:  # type: ignore[override]
        say("publishing", assignment.upto)
        manifest = super().settle(assignment, receipts)
        say("published", assignment.upto)
        return manifest


def talking(publisher: Callable[..., Callable[[DataFrame, int], None]]) -> Callable[..., Any]:
    """Says when the tasks of a batch are about to run."""

    def make(*arguments: Any) -> Callable[[DataFrame, int], None]:
        publish = publisher(*arguments)

        def run_and_publish(receipts: DataFrame, batch_id: int) -> None:
            say("running", batch_id)
            publish(receipts, batch_id)

        return run_and_publish

    return make


def main(directory: str, master: str, last: str) -> None:
    from feedweir.spark import pipeline
    from feedweir.spark.session import open_session

    pipeline.Settler = TalkingSettler  # type: ignore[attr-defined]
    pipeline._publisher = talking(pipeline._publisher)
    with Weir.open(directory) as weir:
        weir.refresh_set()
        session = open_session(master, Path(directory) / "scratch")

        def commit(manifest: Manifest) -> None:
            say("committing", manifest.upto)
            weir.commit(manifest)
            say("committed", manifest.upto)

        # One segment a batch: as many batches, and as many moments to die at, as there are segments.
        query = pipeline.start_pipeline(session, weir.directory, commit, tasks=2, max_batch_bytes=1)
        say("started")
        while weir.store.latest() < int(last):
            query.processAllAvailable()
        query.processAllAvailable()
        query.stop()
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
