"""Workers log what the installation's setting says, as soon as their first task tells them."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedweir import Weir
from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE
from feedweir.health.log_setup import log_in_worker
from feedweir.logs.batches import Assignment
from feedweir.pipeline.batch_tasks import WholeTask
from feedweir.spark.tasks import run_task

DOCUMENT = b"<rss version='2.0'><channel><item><guid>1</guid><title>River</title></item></channel></rss>"


@pytest.fixture(autouse=True)
def as_in_a_new_process() -> Iterator[None]:
    ours = logging.getLogger("feedweir")
    before = ours.level
    log_in_worker.cache_clear()
    yield
    log_in_worker.cache_clear()
    ours.setLevel(before)


@pytest.fixture
def landed(tmp_path: Path) -> Path:
    with Weir.open(tmp_path) as weir:
        weir.execute("register feed push://post as Post; create feed Water from Post")
        weir.push("Post", DOCUMENT)
        weir.refresh_set()
    return tmp_path


def run_all(root: Path, log_level: str = "") -> None:
    (task,) = [WholeTask(Assignment(0, 1, Weir.open(root).version_in_force()))]
    assert pickle.loads(run_task(root, task, DEFAULT_ALLOWANCE, log_level)).item_count == 1


def test_a_task_tells_its_worker_the_level(landed: Path, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("feedweir").setLevel("INFO")
    run_all(landed, "debug")
    events = [vars(record)["event"] for record in caplog.records if "event" in vars(record)]
    assert events == ["parsed", "new", "matched"]


def test_without_a_level_a_worker_logs_as_before(landed: Path, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("feedweir").setLevel("INFO")
    run_all(landed)
    assert logging.getLogger("feedweir").level == logging.INFO
    assert [record for record in caplog.records if "event" in vars(record)] == []
