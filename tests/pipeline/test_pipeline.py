"""One test body over every engine: what is published is what the obvious meaning says, however it was cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engines import Engine, in_process, naive, on_spark
from tests.join.stories import STATEMENTS, Shown, cut, histories


@pytest.fixture(params=["naive", "in process", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "spark":
        return on_spark(request.getfixturevalue("spark"))
    return {"naive": naive, "in process": in_process}[request.param]


@pytest.fixture
def scratch() -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        yield Path(directory)


def test_documents_become_virtual_feeds(engine: Engine, tmp_path: Path) -> None:
    history = [
        Shown("Post", ((2, "flood warning"), (1, "river music"))),
        Shown("Notes", ((1, "music at night"), (2, "market day"))),
        Shown("Crier", (), is_broken=True),
        Shown("Post", ((3, "quiet river"), (2, "flood warning lifted"), (1, "river music"))),
    ]
    feeds = engine(tmp_path, STATEMENTS, [history[:2], history[2:]])
    assert feeds["Post"] == [
        ("Post", "1", 0, "river music"),
        ("Post", "2", 0, "flood warning"),
        ("Post", "2", 1, "flood warning lifted"),
        ("Post", "3", 0, "quiet river"),
    ]
    assert [title for *_, title in feeds["Water"]] == [
        "river music",
        "flood warning",
        "flood warning lifted",
        "quiet river",
    ]
    assert [title for *_, title in feeds["Calm"]] == ["river music", "music at night", "quiet river"]
    assert [title for *_, title in feeds["Edited"]] == ["flood warning lifted"]


@settings(max_examples=20, deadline=None)
@given(histories)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_one_process_publishes_what_the_obvious_meaning_says(size: int, history: list[Shown]) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        expected = naive(Path(first), STATEMENTS, [history])
        assert in_process(Path(second), STATEMENTS, cut(history, size)) == expected


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_spark_publishes_what_the_obvious_meaning_says(spark, size: int, history: list[Shown]) -> None:  # type: ignore[no-untyped-def]
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        expected = naive(Path(first), STATEMENTS, [history])
        assert on_spark(spark)(Path(second), STATEMENTS, cut(history, size)) == expected
