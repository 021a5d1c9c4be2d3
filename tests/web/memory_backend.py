"""A backend in memory, with the behaviour that routes rely on."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from feedweir.acquire.opml import Imported
from feedweir.ask.matching_feeds import MatchedItem, MatchingFeeds
from feedweir.ask.outcome import Outcome
from feedweir.ask.why import Clause
from feedweir.deliver.render.view import EntryView, FeedKind, FeedSummary, FeedView
from feedweir.errors import CatalogError, DocumentError, LanguageError
from feedweir.items.model import Item
from feedweir.match.lookback import LookBack
from feedweir.optimize.filter_plans.plan_report import ExplainedPlan, PlanNodes, explain_nodes
from feedweir.web.backend import Health, Measure, Sample

NOON = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def an_item(seq: int, title: str = "", **changes: object) -> Item:
    item = Item(
        source="RiverPost",
        identity=f"tag:river.example,2026:{seq}",
        seq=seq,
        title=title or f"The river on day {seq}",
        summary=f"<p>Level {seq} cm, <em>falling</em>.</p>",
        link=f"http://river.example/{seq}",
        published=NOON,
        arrived=NOON,
    )
    return replace(item, **changes)  # type: ignore[arg-type]


@dataclass
class MemoryBackend:
    """Understands two statements: `create feed NAME;` and `drop feed NAME;`."""

    views: dict[str, FeedView] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    is_ready: bool = True
    is_healthy: bool = True
    threads: set[str] = field(default_factory=set)

    @property
    def ask(self) -> MemoryBackend:
        """It answers questions itself."""
        return self

    @property
    def feed_views(self) -> Any:
        """Itself: the shelf is also what views of feeds are asked for."""
        return self

    def put(
        self, name: str, items: Sequence[Item] = (), *, kind: FeedKind = "virtual", **changes: object
    ) -> None:
        entries = tuple(EntryView(item=item, source_title="The River Post") for item in items)
        view = FeedView(name=name, kind=kind, updated=NOON, entries=entries)
        self.views[name] = replace(view, **changes)  # type: ignore[arg-type]

    def feeds(
        self,
        *,
        kind: FeedKind | None = None,
        after: str = "",
        limit: int | None = None,
        owner: str | None = None,
    ) -> Sequence[FeedSummary]:
        names = sorted(
            name
            for name, view in self.views.items()
            if kind in (None, view.kind) and name > after and owner in (None, self.owners.get(name))
        )
        return [self._summary(name) for name in names[:limit]]

    def _summary(self, name: str) -> FeedSummary:
        view = self.views[name]
        failure = self.failures.get(name, "")
        return FeedSummary(
            name=name,
            kind=view.kind,
            title=view.title,
            description=view.description,
            url=f"http://origin.example/{name}" if view.kind == "source" else "",
            definition=view.definition,
            item_count=len(view.entries),
            last_item=max((entry.item.time for entry in view.entries), default=None),
            failure=failure,
            failure_count=3 if failure else 0,
        )

    def count(self, kind: FeedKind) -> int:
        return len(self.feeds(kind=kind))

    def feed(self, name: str, limit: int) -> FeedView | None:
        return self.page(name, limit)

    def page(self, name: str, limit: int = 0, *, before: int = 0) -> FeedView | None:
        self.threads.add(threading.current_thread().name)
        view = self.views.get(name)
        if view is None:
            return None
        entries = [entry for entry in view.entries if not before or entry.item.seq < before]
        shown = tuple(entries[: limit or 50])
        older = shown[-1].item.seq if len(shown) < len(entries) else 0
        return replace(view, entries=shown, before=before, limit=limit, older=older, archive=older)

    def item(self, seq: int) -> EntryView | None:
        entries = (entry for view in self.views.values() for entry in view.entries)
        return next((entry for entry in entries if entry.item.seq == seq), None)

    def near_names(self, name: str) -> Sequence[str]:
        return difflib.get_close_matches(name, sorted(self.views))

    def outline(self) -> bytes:
        names = [feed.name for feed in self.feeds(kind="source")]
        return f"<opml><body><!-- kept -->{' '.join(names)}</body></opml>".encode()

    def import_outline(self, body: bytes) -> Imported:
        if not body.startswith(b"<opml"):
            raise DocumentError("this is not OPML", hint="export it again")
        self.put("Imported", kind="source")
        return Imported(
            registered=("Imported",), known=("RiverPost",), folders=(), refused=(("Mail", "no address"),)
        )

    def search(self, words: str, limit: int, *, owner: str | None = None) -> LookBack:
        items = [entry.item for view in self.views.values() for entry in view.entries]
        found = [item for item in items if words in item.title]
        return LookBack(tuple(found[:limit]), len(found), len(items), ((NOON.date(), len(found)),))

    def why(self, item: int | str, feed: str) -> Clause:
        if feed not in self.views:
            raise CatalogError(f"there is no feed {feed}")
        return Clause(
            "matched", item == 3, "a candidate by level", parts=(Clause("contains 'level'", item == 3),)
        )

    def matching_feeds(self, item: int | str, *, owner: str | None = None) -> MatchingFeeds:
        entry = self.item(int(item))
        if entry is None:
            raise CatalogError(f"there is no item {item}")
        names = [feed.name for feed in self.feeds(owner=owner)]
        return MatchingFeeds((MatchedItem(entry.item, tuple(names)),), len(names), len(names))

    def matching_feeds_of_document(
        self, body: bytes, *, source: str = "", media_type: str = "", owner: str | None = None
    ) -> MatchingFeeds:
        if not body:
            raise DocumentError("there is nothing in it")
        return MatchingFeeds((MatchedItem(an_item(1, body.decode(), source=source), ("HighWater",)),), 1, 1)

    def execute(self, text: str, *, owner: str = "") -> Sequence[Outcome]:
        if text == "crash;":
            raise RuntimeError("a secret")
        if text == "show times;":
            return [Outcome(message="1 time", rows=({"at": NOON, "count": 1},))]
        verb, _, name = text.strip().rstrip(";").rpartition(" feed ")
        if verb == "drop":
            raise CatalogError(f"feed {name} is used by Other", hint="drop Other first")
        if verb != "create":
            offset = len(text) - len(text.lstrip())
            raise LanguageError(
                "not a statement", text=text, offset=offset, expected=("create", "drop"), hint="see"
            )
        self.put(name)
        self.owners[name] = owner
        return [Outcome(message=f"created {name}", name=name)]

    def plans(self, source: str) -> Sequence[ExplainedPlan]:
        if source not in ("", "Plain"):
            raise CatalogError(
                f"source {source!r} has no plan yet", hint="plans are made when the set is compiled"
            )
        nodes = PlanNodes((-1, 0), ("", "title contains 'a < b'"), ("", "x"), (1.0, 0.5), ((), ("Half",)))
        return [explain_nodes(nodes, source="Plain", rate=2.0)]

    def health(self) -> Health:
        return Health(is_healthy=self.is_healthy, is_ready=self.is_ready, facts=(("batches", 7),))

    def measures(self) -> Sequence[Measure]:
        samples = tuple(
            Sample(len(self.feeds(kind=kind)), (("kind", kind),)) for kind in ("source", "virtual")
        )
        return [
            Measure(name="feedweir_feeds", help="Feeds by kind.", kind="gauge", samples=samples),
            Measure(name="feedweir_items", help="Items.", kind="counter", samples=(Sample(41),)),
        ]
