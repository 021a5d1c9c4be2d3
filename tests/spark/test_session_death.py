"""A JVM that ends while Spark is being started is told as such, and other errors are not."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from feedweir.errors import EngineError
from feedweir.spark import session
from feedweir.spark.session import death_told


def test_a_process_that_was_killed_is_what_every_error_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "600"]) as java:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
        java.kill()
        with pytest.raises(EngineError, match="Java process ended"), death_told():
            raise Py4JNetworkError("Answer from Java side is empty")
        with pytest.raises(EngineError), death_told():
            raise ConnectionRefusedError


def test_an_error_of_a_process_that_lives_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_DIES_WITHIN_S", 0.0)
    with subprocess.Popen(["sleep", "600"]) as java:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
        with pytest.raises(ConnectionRefusedError), death_told():
            raise ConnectionRefusedError
        java.kill()
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(ConnectionRefusedError), death_told():
        raise ConnectionRefusedError
