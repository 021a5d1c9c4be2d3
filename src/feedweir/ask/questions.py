"""Questions about what is stored: previews, back-tests, searches, plans, and why an item is or is not in a feed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE, Allowance
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.ask.explanation import PlanExplanation, explanation, plan_in_force
from feedweir.ask.join_outcomes import element_of, in_window, version_of
from feedweir.ask.join_report import all_joins, joins_of_feed
from feedweir.ask.match_questions import MatchQuestions
from feedweir.ask.matching_feeds import MatchingFeeds
from feedweir.ask.outcome import Outcome
from feedweir.ask.plan_views import explained_plans
from feedweir.ask.preview import StoredElement, Trial, backtest, element_at, first_teller, preview
from feedweir.ask.trace import Trace, Tracer
from feedweir.ask.why import Clause, candidacy, why
from feedweir.catalog import Catalog
from feedweir.compile.changes import with_what_it_reads
from feedweir.compile.compiled_plans import compiled_plan
from feedweir.compile.statistics_intake import known_streams
from feedweir.errors import CatalogError, LanguageError
from feedweir.items.model import Item, row_of
from feedweir.items.schema import items_of
from feedweir.join.stored.join_versions import StoredJoins
from feedweir.language import check, parse, parse_search
from feedweir.language.defined_names import CatalogNames, DefinedNames, id_path_of_source
from feedweir.language.queries import Named, Query
from feedweir.language.statements import Ask, CreateFeed, Explain
from feedweir.logs.directory import DataDirectory
from feedweir.logs.files import retry_when_compacted
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.match.lookback import LookBack, look_back
from feedweir.optimize.filter_plans.plan_report import ExplainedPlan
from feedweir.optimize.normalisation import normalise
from feedweir.plan import expand
from feedweir.plan.nodes import EVERY_SOURCE, Distinct, Feed, Node, Source, Union, Window
from feedweir.plan.query import Query as ItemQuery
from feedweir.storage import local

_ROWS = 20


class Questions:
    """Answers from the catalog and the logs; changes nothing. Every command, page and program calls these methods."""

    def __init__(
        self,
        catalog: Catalog,
        store: Store,
        directory: DataDirectory,
        clock: Callable[[], datetime],
        allowance: Allowance = DEFAULT_ALLOWANCE,
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._directory = directory
        self._clock = clock
        self._allowance = allowance
        self.matching = MatchQuestions(catalog, store, directory)

    def preview(self, text: str, limit: int = 1_000) -> Trial:
        """What a query (`from …` or `create feed …`) finds among the newest `limit` items, without activating it."""
        plan = self._plan(text)
        return retry_when_compacted(lambda: preview(plan, self._store, items=limit))

    def backtest(self, text: str) -> Trial:
        """What a query would have found since the first stored item."""
        plan = self._plan(text)
        return retry_when_compacted(lambda: backtest(plan, self._store))

    def answer(self, plan: Node) -> Outcome:
        """A query without a name: what it finds among the newest items."""
        trial = retry_when_compacted(lambda: preview(plan, self._store, samples=_ROWS))
        message = f"{trial.hits} of the newest {trial.searched} items"
        return Outcome(message=message, rows=tuple(row_of(sample.item) for sample in trial.samples))

    def explain(self, text: str) -> PlanExplanation:
        """How a query, or the feed of a name, is evaluated: its plan before and after every rule, and what it costs."""
        names = self._names()
        asked = self._query_in(text, names)
        in_force = plan_in_force(asked, self.matching.sets)
        return explanation(asked, names, known_streams(self._catalog, self._clock()), in_force)

    def plans(self, source: str = "") -> tuple[ExplainedPlan, ...]:
        """How the filters of a source, or of every source, are evaluated together, at which cost."""
        return explained_plans(self._catalog, self._directory.plans, self._clock(), source)

    def joins(self, feed: str = "") -> tuple[str, ...]:
        """How the joins of a feed, or of all feeds, are evaluated, line by line."""
        installed = self.matching.sets.installed()
        if installed is None or not isinstance(installed.joins, StoredJoins):
            return ("no set is in force",)
        joins = installed.joins
        if not feed:
            shards = all_joins(self._directory, joins, self._store.latest())
            return tuple(line for one in shards for line in one.lines()) or ("no feed joins",)
        record = self._catalog.feeds.named(feed)
        found = joins_of_feed(self._directory, joins, self._store, record.id, feed)
        if found is None:
            raise CatalogError(
                f"{feed!r} has no JOIN or FOLLOWED BY of its own",
                hint=f"explain feed {feed} shows its plan",
            )
        return tuple(found.lines())

    def matching_feeds(self, item: int | str, *, owner: str | None = None) -> MatchingFeeds:
        """Which feeds match a stored item: of all feeds, or of those that concern an owner."""
        return self.matching.of_stored([self.item(item)], owner)

    def matching_feeds_of_document(
        self, body: bytes, *, source: str = "", media_type: str = "", owner: str | None = None
    ) -> MatchingFeeds:
        """Which feeds would match the items of a document, had it been pushed to a source; nothing of it is stored.

        The items are listed in the order of the document.
        """
        record = self._catalog.feeds.definition(source)
        id_path = id_path_of_source(record.statement) if record and record.kind == "source" else ""
        reader = parse_process(self._allowance)
        pushed = reader.pushed(source, body, media_type, self._clock(), id_path)
        found = self.matching.of_document(pushed.parsed.items, owner)
        return replace(found, items=found.items[::-1])  # the last of a document is the first of the stream

    def search(self, text: str, limit: int = 50, *, owner: str | None = None) -> LookBack:
        """The newest stored items that a search-box query matches; of an owner, among those in their feeds."""
        query = ItemQuery(0, (), parse_search(text))
        among = None if owner is None else self._seqs_of(owner)
        return retry_when_compacted(
            lambda: look_back(
                query, [local(one) for one in self._store.item_paths()[::-1]], limit=limit, among=among
            )
        )

    def _seqs_of(self, owner: str) -> NDArray[np.int64]:
        feeds = self._catalog.feeds.all(owner=owner)
        return np.unique(
            np.concatenate([np.empty(0, np.int64), *(self._store.seqs(one.id) for one in feeds)])
        )

    def trace(self, item: int | str, *, limit: int = 100) -> Trace:
        """The way of an item (its number, guid or link) from landing to each delivery, with times."""
        tracer = Tracer(self._catalog, self._store, LandingLog(self._directory.landing))
        return tracer.trace(self.item(item), limit=limit)

    def why(self, item: int | str, feed: str) -> Clause:
        """Clause by clause why an item (its number, guid or link) is or is not in a feed, and what the matcher did."""
        version, names = self._catalog.feeds.version(), self._names()
        record = self._catalog.feeds.named(feed)  # refuses, with the names that are near
        plan: Node = Source(feed) if record.kind == "source" else Feed(feed)
        found = self.item(item)

        def joined_as(node: Node, whole: str) -> StoredElement | None:
            if self._is_known(whole, found):
                feed = self._catalog.feeds.named(whole).id
                return retry_when_compacted(lambda: element_of(self._store, feed, found))
            plan = expand(node, names.plan_of)
            return retry_when_compacted(lambda: element_at(plan, self._store, found))

        def first_of_story(node: Distinct, whole: str) -> Item | None:
            if self._is_known(whole, found):
                feed = self._catalog.feeds.named(whole).id
                first = next(iter(self._store.joined.tellers(feed, found.seq, node.identifier)), None)
            else:
                plan = expand(node, names.plan_of)
                first = retry_when_compacted(lambda: first_teller(plan, self._store, found.seq))
            return None if first is None else self._where("seq", first)

        def met(window: Window, whole: str) -> int | None:
            streams = named_streams(window.input) if self._is_known(whole, found) else ()
            if not streams:
                return None
            feeds = [one.id for one in self._catalog.feeds.several(streams)]
            return retry_when_compacted(lambda: in_window(self._store, feeds, found, window.spec))

        clause = why(plan, found, names.plan_of, joined_as, met, first_of_story)
        in_force = self.matching.in_force(version)
        matched = candidacy(record.id, normalise(plan, names.plan_of), found, in_force)
        return replace(clause, parts=(*clause.parts, *matched))

    def _is_known(self, feed: str, item: Item) -> bool:
        """Whether the logs have the result of an item for a feed as it is now: no definition it uses is newer."""
        found = with_what_it_reads(self._catalog, feed)
        ids = [one.id for one in found]
        known = retry_when_compacted(lambda: version_of(self._store, item, ids)) if found else -1
        return bool(found) and max(one.version for one in found) <= known

    def _names(self) -> DefinedNames:
        return CatalogNames(self._catalog.feeds)

    def _plan(self, text: str) -> Node:
        names = self._names()
        statement = self._query_in(text, names)
        feed = statement.name if isinstance(statement, CreateFeed) else ""
        return compiled_plan(statement.query, names, feed=feed)

    def _query_in(self, text: str, names: DefinedNames) -> Ask | CreateFeed:
        """The one query of a text: `from …`, `create feed …`, `explain …`, or the name of a feed."""
        if names.kind_of(text.strip()) is not None:
            return Ask(Query(Named(text.strip())))
        statements = parse(text)
        statement = statements[0] if len(statements) == 1 else None
        if isinstance(statement, Explain):
            statement = statement.statement
        if not isinstance(statement, (Ask, CreateFeed)):
            raise LanguageError(
                "expected exactly one query", text=text, hint="from News where title contains 'x'"
            )
        check(statement, names)
        return statement

    def item(self, wanted: int | str) -> Item:
        """By number, or the newest revision with a guid or a link; a guid may look like a number."""
        found = self._where("seq", wanted) if isinstance(wanted, int) else None
        found = found or self._where("identity", str(wanted)) or self._where("link", str(wanted))
        if found is None:
            if isinstance(wanted, int) and self._store.is_removed(wanted):
                raise CatalogError(f"item {wanted} has been deleted", hint="see the setting retain_items")
            hint = "`feedweir items FEED --json` lists the numbers, guids and links of items"
            raise CatalogError(f"there is no item {wanted!r}", hint=hint)
        return found

    def _where(self, column: str, value: int | str) -> Item | None:
        return retry_when_compacted(lambda: self._newest_where(column, value))

    def _newest_where(self, column: str, value: int | str) -> Item | None:
        for path in self._store.item_paths():
            rows = pq.read_table(local(path), filters=pc.field(column) == pa.scalar(value)).sort_by("seq")
            if rows.num_rows:
                return list(items_of(rows))[-1]
        return None


def named_streams(node: Node) -> tuple[str, ...]:
    """The feeds that a stream is all items of; none when it is not simply so, or has every source."""
    match node:
        case Source(name) if name != EVERY_SOURCE:
            return (name,)
        case Feed(name):
            return (name,)
        case Union(inputs):
            each = [named_streams(input) for input in inputs]
            return tuple(dict.fromkeys(name for some in each for name in some)) if all(each) else ()
    return ()
