"""The matcher as functions of Spark: the same pairs as the plain meaning, in DataFrames, streams and SQL."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from feedweir.errors import FrameError
from feedweir.items.model import Item
from feedweir.language import format_predicate, parse_search
from feedweir.plan.predicates import And, Compare, Contains, Not, Or, Predicate, Term
from feedweir.spark import compile_queries, dataframes, match, register
from feedweir.spark.query_files import opened
from tests import naive

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = ("river", "storm", "coast", "market", "rate", "harbour")
ARTICLES = [
    (1, "The river floods", "high water in town", ["sea", "rain"], datetime(2026, 3, 1, 12, tzinfo=UTC)),
    (2, None, "storm", None, None),
    (3, "Storm at the coast", None, [], datetime(2026, 3, 2, tzinfo=UTC)),
    (4, "", "", ["rain"], None),
]
SEARCHES = {
    "water": "river OR storm -coast",
    "coast": "intitle:coast",
    "rain": "category:rain",
    "never": "hail",
}
WANTED = {1: ["rain", "water"], 2: ["water"], 3: ["coast"], 4: ["rain"]}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Sets of these tests are kept apart; kernels stay where they are."""
    monkeypatch.setattr("feedweir.spark.query_files.place", lambda: tmp_path / "queries")
    yield tmp_path / "queries"
    opened.cache_clear()


@pytest.fixture
def articles(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        ARTICLES, "id int, headline string, body string, tags array<string>, at timestamp"
    )


COLUMNS = {"title": "headline", "text": "body", "category": "tags", "published": "at"}


def test_every_row_gets_the_ids_of_what_wants_it(articles: DataFrame) -> None:
    found = match(articles, compile_queries(SEARCHES), **COLUMNS)  # type: ignore[arg-type]
    assert found.columns == [*articles.columns, "matches"]
    assert {row.id: sorted(row.matches) for row in found.collect()} == WANTED
    assert {row.headline for row in found.collect()} == {row[1] for row in ARTICLES}


def test_pairs_are_rows_of_the_columns_that_are_kept(articles: DataFrame) -> None:
    queries = compile_queries(SEARCHES)
    found = match(articles, queries, how="pairs", keep=["id"], into="search", **COLUMNS)  # type: ignore[arg-type]
    assert found.columns == ["id", "search"]
    assert sorted(map(tuple, found.collect())) == [
        (id, name) for id, names in WANTED.items() for name in names
    ]


def test_sql_knows_the_queries_as_a_function(spark: SparkSession, articles: DataFrame) -> None:
    register(spark, compile_queries(SEARCHES), "searches", parameters=("title", "text"))
    articles.createOrReplaceTempView("articles")
    rows = spark.sql("select id, explode(searches(headline, body)) as name from articles").collect()
    assert sorted(map(tuple, rows)) == [(1, "water"), (2, "water"), (3, "coast")]


def test_a_stream_is_matched_as_it_comes(spark: SparkSession, articles: DataFrame, tmp_path: Path) -> None:
    articles.write.parquet(str(tmp_path / "articles"))
    stream = spark.readStream.schema(articles.schema).parquet(str(tmp_path / "articles"))
    found = match(stream, compile_queries(SEARCHES), how="pairs", keep=["id"], **COLUMNS)  # type: ignore[arg-type]
    query = found.writeStream.format("memory").queryName("found").start()
    query.processAllAvailable()
    query.stop()
    rows = spark.sql("select id, query from found").collect()
    assert sorted(map(tuple, rows)) == [(id, name) for id, names in WANTED.items() for name in names]


def test_queries_come_as_statements_numbers_or_a_dataframe(spark: SparkSession, articles: DataFrame) -> None:
    columns = {"title": "headline", "source": "press"}
    pressed = articles.selectExpr("*", "if(id = 1, 'BBC', 'CNN') as press")
    statements = [
        "river",
        "create feed Storms from BBC | CNN where title contains 'storm'",
        "create feed Both from Storms where title contains 'coast'",
        "from BBC where title contains 'storm'",
    ]
    found = match(pressed, compile_queries(statements), how="pairs", keep=["id"], **columns)
    assert sorted(map(tuple, found.collect())) == [(1, 0), (3, 1), (3, 2)]
    table = spark.createDataFrame([(7, "river"), (9, "coast")], "id bigint, query string")
    found = match(articles, compile_queries(table), how="pairs", keep=["id"], title="headline")
    assert sorted(map(tuple, found.collect())) == [(1, 7), (3, 9)]


def test_a_machine_that_has_no_queries_yet_takes_them_from_the_file(articles: DataFrame, place: Path) -> None:
    queries = compile_queries(SEARCHES)
    (place / queries.name).rename(place.parent / "elsewhere")
    compiled, ids = opened(queries.name, str(queries.archive))
    assert len(compiled) == len(SEARCHES)
    assert ids.to_pylist() == list(SEARCHES)
    assert (place / queries.name).is_dir()


def test_the_same_queries_are_compiled_once_and_few_are_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_queries(SEARCHES)
    monkeypatch.setattr("feedweir.spark.query_files._write", None)
    assert compile_queries(SEARCHES) == first
    monkeypatch.undo()
    monkeypatch.setattr("feedweir.spark.query_files.place", lambda: place)
    for number in range(12):
        compile_queries([f"word{number}"])
    assert len(list(place.iterdir())) <= 2 * 8


def test_a_column_of_xml_is_read_by_paths_and_graphs(spark: SparkSession) -> None:
    rows = [
        (1, "<order><city>Lyon</city></order>", "a"),
        (2, "<order><city>Rome</city></order>", "b"),
        (3, None, "c"),
        (4, "<order><", "d"),
    ]
    queries = compile_queries(
        [
            "from * where path //order[city = 'Lyon']",
            "from * where graph { (?item, dc:title, 'c') or (?item, title, c) }",
        ]
    )
    found = match(
        spark.createDataFrame(rows, "id int, document string, name string"),
        queries,
        how="pairs",
        keep=["id"],
        title="name",
        xml="document",
    )
    assert sorted(map(tuple, found.collect())) == [(1, 0), (3, 1)]


def test_a_worker_without_feedweir_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    step = cloudpickle.dumps(dataframes._travelling(dataframes.with_lists, "name", "file", (), [], "matches"))
    monkeypatch.setitem(sys.modules, "feedweir.spark", None)
    monkeypatch.setitem(sys.modules, "feedweir.spark.dataframes", None)
    with pytest.raises(RuntimeError, match=r"Feedweir is not installed for .*PYSPARK_PYTHON"):
        cloudpickle.loads(step)(iter(()))


def random_predicate(chance: random.Random, depth: int = 0) -> Predicate:
    kind = chance.random()
    if kind < 0.5 or depth > 2:
        attribute = chance.choice([None, "title", "content", "author"])
        return Contains(attribute, (Term(chance.choice(WORDS)),), 1)
    if kind < 0.6:
        return Compare("title", "=", chance.choice(WORDS))
    parts = tuple(random_predicate(chance, depth + 1) for _ in range(2))
    return {0: And(parts), 1: Or(parts), 2: Not(parts[0])}[chance.randrange(3)]


def test_it_finds_what_the_plain_meaning_finds(spark: SparkSession) -> None:
    chance = random.Random(5)
    texts = lambda: " ".join(chance.choices(WORDS, k=chance.randrange(3))) or None  # noqa: E731
    rows = [(number, texts(), texts(), texts()) for number in range(300)]
    predicates = [random_predicate(chance) for _ in range(200)]
    statements = [f"from * where {format_predicate(one)}" for one in predicates]
    frame = spark.createDataFrame(rows, "id int, t string, c string, a string").repartition(3)
    found = match(
        frame, compile_queries(statements), how="pairs", keep=["id"], title="t", content="c", author="a"
    )
    items = [
        Item(source="", identity="", title=t or "", content=c or "", authors=(a,) if a else (), arrived=NOON)
        for _, t, c, a in rows
    ]
    wanted = {
        (number, query)
        for number, item in enumerate(items)
        for query, predicate in enumerate(predicates)
        if naive.holds(predicate, item)
    }
    assert {tuple(row) for row in found.collect()} == wanted
    assert len(wanted) > 1_000


def test_a_bad_query_is_named_or_left_out() -> None:
    with pytest.raises(FrameError, match=r"(?s)query 'broken'.*never closed.*1 more") as raised:
        compile_queries({"good": "river", "broken": "a AND (", "join": JOINED})
    assert "skip_bad" in raised.value.hint
    queries = compile_queries({"good": "river", "broken": "a AND (", "join": JOINED}, skip_bad=True)
    assert queries.count == 1
    assert [name for name, _ in queries.refused] == ["broken", "join"]
    assert "installation" in queries.refused[1][1]


JOINED = "create feed J from A as $r join last 3 items on B as $w with $r[title = window.title]"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"titel": "headline"}, "did you mean `title`"),
        ({"title": "headlin"}, "did you mean `headline`"),
        ({"title": "id"}, "column id has int where title has strings"),
        ({"published": "headline"}, "has string where published has times"),
        ({}, "no column is named"),
        ({"title": "headline", "into": "body"}, "has a column body already"),
        ({"title": "headline", "keep": ["nothing"]}, "no column nothing"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_runs(
    articles: DataFrame, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(FrameError, match=message):
        match(articles, compile_queries(["river"]), **asked)


def test_queries_of_sources_need_to_know_the_source(articles: DataFrame) -> None:
    with pytest.raises(FrameError, match="some queries name sources"):
        match(articles, compile_queries(["from BBC where title contains 'x'"]), title="headline")


@pytest.mark.parametrize("queries", [[], {}, {1: "a", "b": "c"}])
def test_what_are_no_queries_is_refused(queries: Any) -> None:
    with pytest.raises(FrameError):
        compile_queries(queries)


def test_a_dataframe_of_queries_needs_its_columns(spark: SparkSession) -> None:
    with pytest.raises(FrameError, match="no column id and no column query"):
        compile_queries(spark.createDataFrame([(1,)], "number int"))


def test_a_search_is_what_it_is_in_a_search_box() -> None:
    assert parse_search("from russia with love")
    assert compile_queries(["from russia with love", "create a feed"]).count == 2
