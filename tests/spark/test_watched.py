"""A query whose JVM is gone has ended: whoever asks is told so and not refused."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from feedweir.spark.pipeline import WatchedQuery


class Orphan:
    """A query as it is while another JVM is being started: each question goes to the one that died."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    @property
    def isActive(self) -> bool:
        raise self._error

    def exception(self) -> Exception | None:
        raise self._error


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), Py4JNetworkError("sending")])
def test_a_query_that_cannot_be_asked_has_ended_with_its_jvm(error: Exception) -> None:
    orphan: Any = Orphan(error)
    query = WatchedQuery(orphan)
    assert not query.isActive
    assert "the Java process of Spark ended" in str(query.exception())
