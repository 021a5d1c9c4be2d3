"""The file of classes that lets a JVM start sooner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from feedweir.spark import class_archive as archive


def test_without_a_file_the_jvm_is_told_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert archive.archive_option() == ""


def test_a_file_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    archive.archive_path().parent.mkdir(parents=True)
    archive.archive_path().touch()
    assert f"-XX:SharedArchiveFile={archive.archive_path()}" in archive.archive_option()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_session_starts_with_a_file_that_was_written_or_was_not(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from feedweir.spark import archive
sys.prefix = {str(tmp_path)!r}
archive.write_archive(archive.archive_path())
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    program = f"""
import sys
from pathlib import Path
sys.prefix = {str(tmp_path)!r}
from feedweir.spark.session import open_session
session = open_session("local[1]", Path({str(tmp_path / "scratch")!r}))
print(session.range(7).count())
session.stop()
"""
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert answer.stdout.split() == ["7"]
