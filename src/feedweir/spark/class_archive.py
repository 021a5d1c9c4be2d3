"""A class-data archive of the classes that Spark loads: with it, a session starts in half the time.

    python -m feedweir.spark.class_archive

writes the file into the environment that Spark is installed in. A JVM that cannot use it (another build, another Spark)
ignores it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark

_QUIET = "-Xlog:disable"
_PATIENCE_S = 300


def archive_path() -> Path:
    """Where the file is, or would be."""
    return Path(sys.prefix) / "share" / "feedweir" / f"spark-{pyspark.__version__}.jsa"


def archive_option() -> str:
    """The JVM option that names the file; empty if there is none."""
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} {_QUIET}" if path.exists() else ""


def write_archive(path: Path) -> bool:
    """Run a small pipeline and archive the classes it loaded; returns whether this Java can do that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as scratch:
        draft = Path(scratch) / "draft.jsa"
        _run_a_batch(Path(scratch), f"-XX:ArchiveClassesAtExit={draft} {_QUIET}")
        if draft.exists():
            draft.replace(path)
            return True
    return False


def _run_a_batch(scratch: Path, option: str) -> None:
    from feedweir.logs.directory import DataDirectory
    from feedweir.logs.landing import Landed, LandingLog
    from feedweir.pipeline.sets import install_set
    from feedweir.spark.pipeline import start_pipeline
    from feedweir.spark.session import JVM_OPTIONS, open_session

    directory = DataDirectory(scratch / "data")
    install_set(directory.sets, 1, ())
    LandingLog(directory.landing).append([Landed(source="nobody", arrived=datetime.now(UTC), body=b"<rss/>")])
    settings = {"spark.driver.extraJavaOptions": f"{JVM_OPTIONS} {option}"}
    session = open_session("local[1]", directory.scratch, settings=settings)
    query = start_pipeline(session, directory, lambda manifest: None, tasks=1)
    query.processAllAvailable()
    query.stop()
    gateway: Any = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    # The JVM writes the file when it ends, and ends when nobody can write to it any more.
    gateway.proc.stdin.close()
    gateway.proc.wait(_PATIENCE_S)


if __name__ == "__main__":
    target = archive_path()
    print(
        f"wrote {target}"
        if write_archive(target)
        else "this Java cannot archive classes; nothing was written"
    )
