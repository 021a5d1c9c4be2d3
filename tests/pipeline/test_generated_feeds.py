"""Generated queries over generated histories, through everything from documents to published feeds, on every engine."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from feedweir.language import Query, format_statement
from feedweir.language.plan_builder import build
from feedweir.language.statements import CreateFeed
from feedweir.plan import expand
from tests.engines import Engine, Feeds, in_process, news, on_spark
from tests.join.stories import Shown, cut, histories_of
from tests.naive import elements_of
from tests.plan.made import SOURCES, WORDS, World, queries

definitions = st.fixed_dictionaries(
    {"V": queries(most_joins=1), "W": queries(("A", "V"), most_joins=2), "X": queries(("B", "W", "V"))}
)
histories = histories_of(SOURCES, WORDS, most=12)


def statements_of(defined: dict[str, Query]) -> str:
    sources = [f"register feed http://example.org/{name} as {name}" for name in SOURCES]
    feeds = [format_statement(CreateFeed(name, defined[name])) for name in ("V", "W", "X")]
    return ";\n".join([*sources, *feeds])


def meant(defined: dict[str, Query], history: list[Shown]) -> Feeds:
    """What the statements mean, by the obvious evaluator."""
    world = World(defined)
    plans = {name: build(query, world, feed=name) for name, query in defined.items()}
    items = news(history)
    return {
        name: [
            (element.item.source, element.item.identity, element.item.revision, element.item.title)
            for element in elements_of(expand(plan, plans.get), items)
        ]
        for name, plan in plans.items()
    }


def check(engine: Engine, defined: dict[str, Query], history: list[Shown], size: int) -> None:
    with TemporaryDirectory() as directory:
        found = engine(Path(directory), statements_of(defined), cut(history, size))
    assert {name: found[name] for name in defined} == meant(defined, history)


@settings(max_examples=20, deadline=None)
@given(definitions, histories, st.sampled_from([1, 7, 1000]))
def test_one_process_gives_what_generated_statements_mean(
    defined: dict[str, Query], history: list[Shown], size: int
) -> None:
    check(in_process, defined, history, size)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(definitions, histories, st.sampled_from([3, 7, 1000]))
def test_spark_gives_what_generated_statements_mean(
    spark: SparkSession, defined: dict[str, Query], history: list[Shown], size: int
) -> None:
    check(on_spark(spark), defined, history, size)


@pytest.mark.nightly
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(definitions, histories, st.sampled_from([1, 3, 7, 1000]))
def test_spark_gives_what_many_generated_statements_mean(
    spark: SparkSession, defined: dict[str, Query], history: list[Shown], size: int
) -> None:
    check(on_spark(spark), defined, history, size)
