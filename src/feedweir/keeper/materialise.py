"""Virtual feeds that become sources: what a batch put into them goes through a stylesheet and is landed.

A document may be landed twice when a crash comes between landing and committing; its items are known by then, so that
nothing comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime

from feedweir.acquire.generation import MAX_GENERATION, generation_of, with_generation
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
from feedweir.keeper.names import id_path_of_source, made_from

_AT_ONCE = 64
"""Sources whose documents are made at the same time; more would only wait in memory."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A source that is made from a feed, through a stylesheet or as it is."""

    source: str
    feed_id: int
    stylesheet: str
    id_path: str = ""


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
        begun = [
            (
                derived,
                1 + max(generation_of(entry.item) for entry in view.entries),
                self._begun(derived, view),
            )
            for derived, view in views
            if view is not None and view.entries
        ]
        for derived, generation, each in begun:
            if generation > MAX_GENERATION:
                self._record(derived.source, _reads_itself(derived.source))
                continue
            try:
                made = each.result()
            except DeliveryError as error:
                self._record(derived.source, error)
                continue
            yield Landed(
                source=derived.source,
                media_type=with_generation(made.media_type, generation),
                arrived=self._clock(),
                body=made.text.encode(),
                id_path=derived.id_path,
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


def _reads_itself(source: str) -> DeliveryError:
    return DeliveryError(
        f"{source} seems to read itself: its items went through {MAX_GENERATION} sources made from feeds",
        hint="look for a source that fetches what this installation serves",
    )


def derived_sources(definitions: Sequence[Definition]) -> Iterator[Derived]:
    """The sources among definitions that are made from other feeds."""
    ids = {definition.name: definition.id for definition in definitions}
    for definition in definitions:
        if definition.kind == "source":
            feed, stylesheet = made_from(definition.statement)
            if feed in ids:
                path = id_path_of_source(definition.statement)
                yield Derived(definition.name, ids[feed], stylesheet, path)
