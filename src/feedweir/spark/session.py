"""The Spark session, with the settings that were measured to matter."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from feedweir.spark.archive import archive_option
from feedweir.spark.java import steadfast_java_home

JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The JVM plans and passes receipts on, the work is done in Python: on two cores an optimising compiler took more than
the planning that it made faster (0.5 s of CPU a batch with it, 0.2 s without)."""

SETTINGS = {
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.metricsEnabled": "false",
    # A batch is a plan of one step: code for it is made in more time than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.stopTimeout": "30s",
    # Local checkpoints need no checksum files beside them: half the files, half the renames.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}


def open_session(
    master: str, scratch: Path, *, memory: str = "1g", settings: dict[str, str] | None = None
) -> SparkSession:
    """A session on `master` (`local[*]`, `spark://…`); `scratch` is where Spark may put what it can lose."""
    scratch.mkdir(parents=True, exist_ok=True)
    _forget_what_died()
    os.environ["JAVA_HOME"] = str(steadfast_java_home(scratch))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("feedweir").config("spark.driver.memory", memory)
    builder = builder.config("spark.local.dir", str(scratch)).config(
        "spark.sql.warehouse.dir", str(scratch / "warehouse")
    )
    options = {"spark.driver.extraJavaOptions": f"{JVM_OPTIONS} {archive_option()}"}
    for key, value in {**SETTINGS, **options, **(settings or {})}.items():
        builder = builder.config(key, value)
    with _errors_into(scratch / "spark.log"):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def close_session(session: SparkSession) -> None:
    """Stop it; a JVM that has ended by itself is stopped already."""
    with suppress(OSError, Py4JError):
        session.stop()


def has_died() -> bool:
    """Whether there was a JVM and it has ended by itself, as for want of memory."""
    gateway: Any = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is not None


def _forget_what_died() -> None:
    """PySpark goes on with the JVM it knows, also when that is no more."""
    if not has_died():
        return
    if SparkContext._active_spark_context is not None:
        with suppress(OSError, Py4JError), warnings.catch_warnings(action="ignore"):
            SparkContext._active_spark_context.stop()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


@contextmanager
def _errors_into(log: Path) -> Iterator[None]:
    """What is started in the block writes its standard error to a file: Spark's chatter is not for the terminal."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
