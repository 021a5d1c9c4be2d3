"""The same job on a standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from feedweir.service.installation import Weir
from feedweir.spark.java import java_home
from tests.engines import land, naive, open_weir, published
from tests.join.stories import STATEMENTS, cut
from tests.spark.test_kill import made_up_history, run_to_the_end

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

SPARK = Path(pyspark.__file__).parent


def started(
    name: str, arguments: list[str], environment: dict[str, str], sign: str
) -> tuple[subprocess.Popen[str], str]:
    """A process of the cluster, and the line that tells that it is ready."""
    command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if re.search(sign, line):
            return process, line
    raise AssertionError(f"{name} did not start")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home(tmp_path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
    }
    ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    master, line = started("master.Master", ports, environment, r"Starting Spark master at spark://")
    processes = [master]
    found = re.search(r"spark://[\d.]+:\d+", line)
    assert found
    for _ in range(2):
        arguments = [*ports, "--cores", "1", "--memory", "1g", found.group()]
        worker, _ = started("worker.Worker", arguments, environment, r"Successfully registered with master")
        processes.append(worker)
    yield found.group()
    for process in reversed(processes):
        process.kill()
        process.wait()


def test_a_cluster_publishes_what_the_obvious_meaning_says(cluster: str, tmp_path: Path) -> None:
    import random

    history = made_up_history(random.Random(5))
    with open_weir(tmp_path / "wide", STATEMENTS) as weir:
        for documents in cut(history, 3):
            land(weir, documents)
    run_to_the_end(tmp_path / "wide", cluster, len(cut(history, 3)))
    with Weir.open(tmp_path / "wide") as weir:
        assert published(weir) == naive(tmp_path / "naive", STATEMENTS, [history])
