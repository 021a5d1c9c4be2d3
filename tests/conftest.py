"""What the whole suite shares: how long property tests search, and one Spark session, started when a test asks for it.

`make test` draws the same examples every time, so that a change fails for what it changed; `make nightly` draws new
ones, and `DEPTH` times as many, but for tests that are only for the night and have all they need.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

DEPTH = 10
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("deep", deadline=None)
settings.load_profile(PROFILE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    deepened = set()  # a test with parameters is several items and one function
    for item in items if PROFILE == "deep" else ():
        test = getattr(item, "obj", None)
        function = getattr(test, "__func__", test)
        chosen = getattr(test, "_hypothesis_internal_use_settings", None)
        is_nightly = item.get_closest_marker("nightly") is not None
        if isinstance(chosen, settings) and not is_nightly and function not in deepened:
            deepened.add(function)
            deeper = settings(chosen, max_examples=DEPTH * chosen.max_examples)
            setattr(function, "_hypothesis_internal_use_settings", deeper)  # noqa: B010


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from feedweir.spark.session import open_session

    session = open_session("local[2]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
