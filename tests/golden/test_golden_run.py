"""The golden run: an installation lives through the worlds on each engine, and its readers get what was recorded."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.golden import house
from tests.golden.listing import differences
from tests.golden.record import answers_text, recorded_answers, recorded_feeds
from tests.golden.worlds import World, worlds

every_world = pytest.mark.parametrize("world", worlds(), ids=lambda world: world.name)


@every_world
def test_one_process_gives_what_was_recorded(world: World, tmp_path: Path) -> None:
    compare(house.lived_through(world, house.in_process, tmp_path), world)


@every_world
def test_spark_gives_what_was_recorded(world: World, tmp_path: Path, spark: SparkSession) -> None:
    compare(house.lived_through(world, house.on_spark(spark), tmp_path), world)


def compare(result: house.Result, world: World) -> None:
    feeds = json.loads(recorded_feeds(world).read_text("utf-8"))
    answers = recorded_answers(world).read_text("utf-8").splitlines()
    now = answers_text(result.answers).splitlines()
    found = [*differences(result.listing, feeds), *unified_diff(answers, now, "recorded", "now", lineterm="")]
    if found:
        hint = "if that is right: python -m tests.golden.record run (its other ways show more)"
        pytest.fail("\n".join([*found, hint]), pytrace=False)
