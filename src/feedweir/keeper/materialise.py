"""Virtual feeds that become sources: what a batch put into them goes through a stylesheet and is landed.

A document may be landed twice when a crash comes between landing and committing; its items are known by then, so that
nothing comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from feedweir.acquire.landing import Landed, LandingLog
from feedweir.catalog import Catalog, Definition, Failure
from feedweir.deliver.address import Address
from feedweir.deliver.render import Format, render
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.deliver.transform import Transformer
from feedweir.deliver.view import FeedView
from feedweir.engine.batches import Manifest
from feedweir.engine.store import Store
from feedweir.errors import DeliveryError
from feedweir.keeper.entry_views import StoredViews
from feedweir.language import parse
from feedweir.language.statements import RegisterFeed


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
        documents = []
        for derived in self._derived_of(manifest.version):
            view = self._view(derived.feed_id, manifest)
            if view is not None:
                try:
                    documents.append(self._document(derived, view))
                except DeliveryError as error:
                    self._record(derived.source, error)
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

    def _document(self, derived: Derived, view: FeedView) -> Landed:
        if derived.stylesheet:
            made = self._transformer.apply(self._stylesheets.text(derived.stylesheet), view)
            body, media_type = made.text.encode(), made.media_type
        else:
            body, media_type = render(view, Format.ATOM, Address("")), Format.ATOM.media_type
        return Landed(source=derived.source, media_type=media_type, arrived=self._clock(), body=body)

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
