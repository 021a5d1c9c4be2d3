"""Virtual feeds that become sources: what a batch put into them goes through a stylesheet and is landed.

A document may be landed twice when a crash comes between landing and committing; its items are known by then, so that
nothing comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from feedweir.acquire.landing import Landed, LandingLog
from feedweir.catalog import Catalog, Definition, Failure
from feedweir.deliver.address import Address
from feedweir.deliver.render import Format, render
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.deliver.transform import Transformed, Transformer
from feedweir.deliver.view import FeedView
from feedweir.engine.batches import Manifest
from feedweir.engine.store import Store
from feedweir.errors import DeliveryError
from feedweir.keeper.entry_views import StoredViews
from feedweir.language import parse
from feedweir.language.statements import RegisterFeed

_AT_ONCE = 64
"""Sources whose documents are made at the same time; more would only wait in memory."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A source that is made from a feed, through a stylesheet or as it is."""

    source: str
    feed_id: int
    stylesheet: str


class Materialiser:
    """Lands what batches put into the feeds that sources are made from."""

    def __init__(
        self,
        catalog: Catalog,
        store: Store,
        log: LandingLog,
        stylesheets: Stylesheets,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._log = log
        self._stylesheets = stylesheets
        self._transformer = Transformer()
        self._views = StoredViews(catalog, store)
        self._clock = clock
        self._derived: tuple[int, tuple[Derived, ...]] = (-1, ())

    def land(self, manifest: Manifest) -> int:
        """Land the documents that a published batch gives rise to; how many there were."""
        documents: list[Landed] = []
        derived = self._derived_of(manifest.version)
        for start in range(0, len(derived), _AT_ONCE):
            documents += self._documents(derived[start : start + _AT_ONCE], manifest)
        if documents:
            self._log.append(documents)
        return len(documents)

    def close(self) -> None:
        self._transformer.close()

    def _derived_of(self, version: int) -> tuple[Derived, ...]:
        if self._derived[0] != version:
            _, definitions = self._catalog.feeds.definitions(version)
            self._derived = (version, tuple(derived_sources(definitions)))
        return self._derived[1]

    def _view(self, feed_id: int, manifest: Manifest) -> FeedView | None:
        """What the batch put into the feed; None when that is nothing."""
        mine = self._store.seqs_in(manifest, feed_id).tolist()
        if not mine:
            return None
        entries = self._views.entries([{"seq": seq, "feed": feed_id} for seq in mine])
        newest_first = tuple(entry for key in sorted(entries, reverse=True) for entry in entries[key])
        return replace(self._views.feed(feed_id), entries=newest_first)

    def _documents(self, some: Sequence[Derived], manifest: Manifest) -> Iterator[Landed]:
        """All are begun before the first is waited for: a slow stylesheet does not add to the time of the others."""
        views = [(derived, self._view(derived.feed_id, manifest)) for derived in some]
        begun = [(derived, self._begun(derived, view)) for derived, view in views if view is not None]
        for derived, each in begun:
            try:
                made = each.result()
            except DeliveryError as error:
                self._record(derived.source, error)
                continue
            yield Landed(
                source=derived.source,
                media_type=made.media_type,
                arrived=self._clock(),
                body=made.text.encode(),
            )

    def _begun(self, derived: Derived, view: FeedView) -> Future[Transformed]:
        begun: Future[Transformed] = Future()
        try:
            if derived.stylesheet:
                return self._transformer.begin(self._stylesheets.text(derived.stylesheet), view)
            atom = render(view, Format.ATOM, Address("")).decode()
            begun.set_result(Transformed(atom, Format.ATOM.media_type))
        except DeliveryError as error:
            begun.set_exception(error)
        return begun

    def _record(self, source: str, error: DeliveryError) -> None:
        self._catalog.failures.record(
            [Failure(kind="source", resource=source, at=self._clock(), reason=str(error))]
        )


def derived_sources(definitions: Sequence[Definition]) -> Iterator[Derived]:
    """The sources among definitions that are made from other feeds."""
    ids = {definition.name: definition.id for definition in definitions}
    for definition in definitions:
        if definition.kind == "source":
            feed, stylesheet = _made_from(definition.statement)
            if feed in ids:
                yield Derived(definition.name, ids[feed], stylesheet)


@lru_cache(maxsize=100_000)
def _made_from(text: str) -> tuple[str, str]:
    """The feed and the stylesheet that a registration names, if it names any."""
    (statement,) = parse(text)
    return (statement.feed, statement.apply) if isinstance(statement, RegisterFeed) else ("", "")
