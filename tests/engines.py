"""Three ways from documents to feeds, under one name each: the obvious one, one process, and Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from feedweir.acquire.parse.parser import parse
from feedweir.errors import DocumentError
from feedweir.items.model import Document, Item
from feedweir.language.defined_names import DefinedNames
from feedweir.logs.landing import Landed
from feedweir.pipeline.batch_run import Division
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.plan.nodes import Source
from feedweir.service.installation import Weir
from tests.join.stories import Shown
from tests.naive import elements_of

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)

Feeds: TypeAlias = dict[str, list[tuple[str, str, int, str]]]
"""By feed: (source, guid, revision, title) of every element, in stream order."""
Engine: TypeAlias = Callable[[Path, str, Sequence[Sequence[Shown]]], Feeds]


def open_weir(directory: Path, statements: str) -> Weir:
    weir = Weir.open(directory, clock=lambda: NOON)
    weir.execute(statements)
    return weir


def land(weir: Weir, documents: Sequence[Shown]) -> None:
    """All in one segment."""
    weir.log.append([Landed(source=shown.source, arrived=NOON, body=shown.body()) for shown in documents])


def published(weir: Weir) -> Feeds:
    """Everything that was published, read as a reader would."""
    feeds: Feeds = {}
    for record in weir.catalog.feeds.all():
        items = weir.store.items(weir.store.seqs(record.id).tolist())
        columns = (items.column(name).to_pylist() for name in ("source", "identity", "revision", "title"))
        feeds[record.name] = list(zip(*columns, strict=True))
    return feeds


def in_process(directory: Path, statements: str, batches: Sequence[Sequence[Shown]]) -> Feeds:
    with open_weir(directory, statements) as weir:
        weir.refresh_set()
        runner = LocalRunner(weir.directory, weir.commit, tasks=3)
        for documents in batches:
            land(weir, documents)
            runner.run_available()
        return published(weir)


def on_spark(session: SparkSession) -> Engine:
    def run(directory: Path, statements: str, batches: Sequence[Sequence[Shown]]) -> Feeds:
        from feedweir.spark.pipeline import start_pipeline

        with open_weir(directory, statements) as weir:
            weir.refresh_set()
            query = start_pipeline(session, weir.directory, weir.commit, division=Division(2, least_bytes=1))
            try:
                for documents in batches:
                    land(weir, documents)
                    query.processAllAvailable()
            finally:
                query.stop()
            return published(weir)

    return run


def naive(directory: Path, statements: str, batches: Sequence[Sequence[Shown]]) -> Feeds:
    """Item by item, with dictionaries."""
    with open_weir(directory, statements) as weir:
        _, definitions = weir.catalog.feeds.definitions()
    names = DefinedNames(definitions)
    plans = {one.name: names.plan_of(one.name) or Source(one.name) for one in definitions}
    items = news([shown for documents in batches for shown in documents])
    by_number = {item.seq: item for item in items}
    feeds: Feeds = {}
    for name, plan in plans.items():
        seqs = dict.fromkeys(element.item.seq for element in elements_of(plan, items, plans))
        found = [by_number[seq] for seq in seqs]
        feeds[name] = [(item.source, item.identity, item.revision, item.title) for item in found]
    return feeds


def news(history: Sequence[Shown]) -> list[Item]:
    """The stream that documents make: every item that was not there before, or not so, by a dictionary."""
    known: dict[tuple[str, str], tuple[tuple[str, ...] | None, int]] = {}
    found: list[Item] = []
    for item in _items(history):
        visible = (item.title, item.summary, item.content, item.link)
        previous, revision = known.get((item.source, item.identity), (None, -1))
        if visible != previous:
            known[item.source, item.identity] = (visible, revision + 1)
            found.append(replace(item, revision=revision + 1))
    return found


def _items(history: Sequence[Shown]) -> list[Item]:
    items: list[Item] = []
    for number, shown in enumerate(history):
        try:
            document = Document(number=number, source=shown.source, arrived=NOON, body=shown.body())
            items += sorted(parse(document).items, key=lambda item: item.seq)
        except DocumentError:
            continue
    return items
