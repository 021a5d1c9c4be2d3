"""Questions about what is stored: previews, back-tests, searches, plans, and why an item is or is not in a feed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from feedweir.catalog import Catalog
from feedweir.engine.candidates import candidacy
from feedweir.engine.directory import DataDirectory
from feedweir.engine.explaining import PlanExplanation
from feedweir.engine.files import again_if_gone
from feedweir.engine.preview import StoredElement, Trial, backtest, element_at, first_teller, preview
from feedweir.engine.store import Store
from feedweir.engine.why import Clause, why
from feedweir.errors import CatalogError, LanguageError
from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.keeper.matching import Matching
from feedweir.keeper.names import CatalogNames, DefinedNames
from feedweir.keeper.statements.asking import explanation
from feedweir.keeper.statements.outcome import Outcome
from feedweir.language import check, parse, parse_search
from feedweir.language.statements import Ask, CreateFeed, Explain, Named, Query
from feedweir.match.history import LookBack, look_back
from feedweir.plan import build, expand
from feedweir.plan.nodes import Feed, Node, Source
from feedweir.plan.query import Query as ItemQuery

_ROWS = 20


class Questions:
    """Answers from the catalog and the logs; changes nothing."""

    def __init__(self, catalog: Catalog, store: Store, directory: DataDirectory) -> None:
        self._catalog = catalog
        self._store = store
        self.matching = Matching(catalog, store, directory)
        """Which feeds want items."""

    def preview(self, text: str, limit: int) -> Trial:
        plan = self._plan(text)
        return again_if_gone(lambda: preview(plan, self._store, items=limit))

    def backtest(self, text: str) -> Trial:
        plan = self._plan(text)
        return again_if_gone(lambda: backtest(plan, self._store))

    def answer(self, plan: Node) -> Outcome:
        """A query without a name: what it finds among the newest items."""
        trial = again_if_gone(lambda: preview(plan, self._store, samples=_ROWS))
        message = f"{trial.hits} of the newest {trial.searched} items"
        return Outcome(message=message, rows=tuple(row_of(sample.item) for sample in trial.samples))

    def explain(self, text: str) -> PlanExplanation:
        names = self._names()
        return explanation(self._query_in(text, names), names)

    def search(self, text: str, limit: int, owner: str | None = None) -> LookBack:
        """Of an owner, only the items in feeds that concern them are looked at."""
        query = ItemQuery(0, (), parse_search(text))
        among = None if owner is None else self._seqs_of(owner)
        return again_if_gone(
            lambda: look_back(query, self._store.item_paths()[::-1], limit=limit, among=among)
        )

    def _seqs_of(self, owner: str) -> NDArray[np.int64]:
        feeds = self._catalog.feeds.all(owner=owner)
        return np.unique(
            np.concatenate([np.empty(0, np.int64), *(self._store.seqs(one.id) for one in feeds)])
        )

    def why(self, item: int | str, feed: str) -> Clause:
        """Clause by clause, and at last how the matcher came to its answer."""
        version, names = self._catalog.feeds.version(), self._names()
        record = self._catalog.feeds.named(feed)  # refuses, with the names that are near
        plan: Node = Source(feed) if record.kind == "source" else Feed(feed)
        found = self.item(item)

        def joined_as(node: Node) -> StoredElement | None:
            plan = expand(node, names.plan_of)
            return again_if_gone(lambda: element_at(plan, self._store, found.seq))

        def told_before(node: Node) -> Item | None:
            plan = expand(node, names.plan_of)
            first = again_if_gone(lambda: first_teller(plan, self._store, found.seq))
            return None if first is None else self._where("seq", first)

        told = why(plan, found, names.plan_of, joined_as, told_before)
        in_force = self.matching.in_force(version)
        matched = candidacy(record.id, expand(plan, names.plan_of), found, in_force)
        return replace(told, parts=(*told.parts, *matched))

    def _names(self) -> DefinedNames:
        return CatalogNames(self._catalog.feeds)

    def _plan(self, text: str) -> Node:
        names = self._names()
        statement = self._query_in(text, names)
        feed = statement.name if isinstance(statement, CreateFeed) else ""
        return expand(build(statement.query, names, feed=feed), names.plan_of)

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
                "one query is wanted here", text=text, hint="from News where title contains 'x'"
            )
        check(statement, names)
        return statement

    def item(self, wanted: int | str) -> Item:
        """By number, or the newest revision of a guid; a guid may look like a number."""
        found = self._where("seq", wanted) if isinstance(wanted, int) else None
        found = found or self._where("identity", str(wanted))
        if found is None:
            hint = "`feedweir items FEED --json` tells the numbers of items"
            raise CatalogError(f"there is no item {wanted!r}", hint=hint)
        return found

    def _where(self, column: str, value: int | str) -> Item | None:
        return again_if_gone(lambda: self._newest_where(column, value))

    def _newest_where(self, column: str, value: int | str) -> Item | None:
        for path in self._store.item_paths():
            rows = pq.read_table(path, filters=pc.field(column) == pa.scalar(value)).sort_by("seq")
            if rows.num_rows:
                return list(items_of(rows))[-1]
        return None


def row_of(item: Item) -> dict[str, object]:
    """An item as one line of a list."""
    return {
        "seq": item.seq,
        "time": item.time.isoformat(timespec="seconds"),
        "source": item.source,
        "title": item.title,
        "link": item.link,
        "guid": item.identity,
        "revision": item.revision,
    }
