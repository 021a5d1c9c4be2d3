"""What a Python worker of Spark does with a task, and the form of its receipt on the way back to the driver."""

from __future__ import annotations

import gc
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import pyarrow as pa

from feedweir.acquire.allowance import Allowance
from feedweir.acquire.parse_process import parse_process
from feedweir.engine.batches import Assignment, Receipt
from feedweir.engine.directory import DataDirectory
from feedweir.engine.worker import Worker

RECEIPT_SCHEMA = pa.schema([("assignment", pa.string()), ("receipt", pa.string())])


@lru_cache(maxsize=4)
def worker_of(directory: DataDirectory, allowance: Allowance) -> Worker:
    """A Python worker process lives for many batches: what it opened for one serves the next."""
    return Worker(directory, parse_process(allowance))


def receipt_of(directory: DataDirectory, assignment: Assignment, allowance: Allowance) -> pa.RecordBatch:
    """Do a task, unless its batch was published already, and hand back its receipt."""
    worker = worker_of(directory, allowance)
    receipt = None if worker.is_published(assignment) else json.dumps(worker.run(assignment).to_json())
    _settle_down()
    rows = {"assignment": [json.dumps(asdict(assignment))], "receipt": [receipt]}
    return pa.RecordBatch.from_pydict(rows, schema=RECEIPT_SCHEMA)


def receipts_in(rows: Sequence[Any]) -> tuple[Assignment, list[Receipt]]:
    """The batch that collected rows belong to, and the receipts that are among them."""
    assignment = Assignment(**json.loads(rows[0].assignment))
    return assignment, [Receipt.from_json(json.loads(row.receipt)) for row in rows if row.receipt]


@lru_cache(maxsize=1)
def _settle_down() -> None:
    """Spark collects garbage after every task; what the first one loaded is there to stay and need not be looked at."""
    gc.collect()
    gc.freeze()
