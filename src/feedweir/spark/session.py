"""The Spark session, with settings that measurably matter."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from feedweir.errors import EngineError
from feedweir.spark.class_archive import archive_option
from feedweir.spark.java import steadfast_java_home

JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The JVM only plans and passes receipts on. On two cores its optimising compiler took more time than it saved: 0.5 s
of CPU per batch with it, 0.2 s without."""

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.metricsEnabled": "false",
    # A batch is a plan of one step: generating code for it takes longer than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.python.worker.reuse": "true",
}
"""What our jobs need wherever they run."""

LOCAL_SETTINGS = {
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    "spark.ui.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.stopTimeout": "30s",
    # Local checkpoints need no checksum files beside them: half the files, half the renames.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
"""What we decide where Spark is ours alone; on a cluster its owner does."""

_DIES_WITHIN_S = 3.0


def open_session(
    master: str, scratch: Path, *, memory: str = "1g", settings: dict[str, str] | None = None
) -> SparkSession:
    """A session on `master` (`local[*]`, `spark://…`), or on what `spark-submit` has started.

    `scratch` is for files that Spark can lose. `settings` are handed through, and overrule ours.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    _forget_what_died()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("feedweir")
    chosen = dict(SETTINGS)
    if not is_submitted():
        os.environ["JAVA_HOME"] = str(steadfast_java_home(scratch))
        builder = builder.master(master)
        chosen["spark.driver.memory"] = memory
        chosen["spark.driver.extraJavaOptions"] = f"{JVM_OPTIONS} {archive_option()}"
    if is_local(master) and not is_submitted():
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        places = {"spark.local.dir": str(scratch), "spark.sql.warehouse.dir": str(scratch / "warehouse")}
        chosen |= {**LOCAL_SETTINGS, **places}
    for key, value in {**chosen, **(settings or {})}.items():
        builder = builder.config(key, value)
    with _errors_into(scratch / "spark.log"):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def is_submitted() -> bool:
    """Whether `spark-submit` started this process: then the JVM is there, with its master and its settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_local(master: str) -> bool:
    return master.startswith("local")


def spark_settings(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The table `[spark]` under the names that Spark knows: `executor.memory` is `spark.executor.memory`."""
    return {name if name.startswith("spark.") else f"spark.{name}": value for name, value in given}


def close_session(session: SparkSession) -> None:
    """Stop it, unless its JVM has ended."""
    with suppress(OSError, Py4JError):
        session.stop()


def has_died() -> bool:
    """Whether there was a JVM and it has ended, as when it ran out of memory."""
    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)  # none of ours under spark-submit
    return process is not None and process.poll() is not None


@contextmanager
def death_told() -> Iterator[None]:
    """An `EngineError` when the JVM ended in the block, whatever error that became."""
    try:
        yield
    except (OSError, Py4JError) as error:
        if _is_dying():
            raise EngineError("the Java process ended while Spark was being started") from error
        raise


def _is_dying() -> bool:
    """As `has_died`; the connections of a process are closed a moment before it has ended."""
    gateway: Any = SparkContext._gateway
    if getattr(gateway, "proc", None) is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(_DIES_WITHIN_S)
    return has_died()


def kill_java() -> None:
    """End the JVM as it is: whoever waits for its answer gets an error."""
    gateway: Any = SparkContext._gateway
    if getattr(gateway, "proc", None) is not None:
        gateway.proc.kill()


def _forget_what_died() -> None:
    """PySpark would go on using a JVM that has ended."""
    if not has_died():
        return
    if SparkContext._active_spark_context is not None:
        with suppress(OSError, Py4JError), warnings.catch_warnings(action="ignore"):
            SparkContext._active_spark_context.stop()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


@contextmanager
def _errors_into(log: Path) -> Iterator[None]:
    """Processes started in the block write their standard error to a file: Spark's messages stay off the terminal."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
