"""What the whole suite shares: one Spark session, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from feedweir.spark.session import open_session

    session = open_session("local[2]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
