"""Sources made from feeds: what a batch adds to such a feed is transformed and landed as a document.

If a crash happens between landing and committing, the document is landed twice; its items are then known already, so
that this has no effect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime

from feedweir.acquire.parse.generation import MAX_GENERATION, generation_of, with_generation
from feedweir.catalog import Catalog, Failure
from feedweir.deliver.address import Address
from feedweir.deliver.feed_views import FeedViews
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.view import FeedView
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.deliver.transforms.transformer import Transformed, Transformer
from feedweir.errors import DeliveryError
from feedweir.language.defined_names import FETCHED, id_path_of_source, made_from
from feedweir.logs.batches import Manifest
from feedweir.logs.landing import Landed, LandingLog
from feedweir.logs.store import Store

TOGETHER_S = 60.0
"""How long all stylesheets may take for one batch; the next batch is not committed before."""
_AT_ONCE = 64
"""How many documents are transformed at a time; more would only wait in memory."""


@dataclass(frozen=True, slots=True)
class DerivedSource:
    """A source that is made from a feed, with or without a stylesheet."""

    source: str
    feed_id: int
    stylesheet: str
    id_path: str = ""


class Materialiser:
    """Lands what batches add to the feeds that sources are made from."""

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
        self._feed_views = FeedViews(catalog, store)
        self._clock = clock
        self._derived: tuple[int, tuple[DerivedSource, ...]] = (-1, ())

    def land(self, manifest: Manifest) -> int:
        """Land the documents that result from a published batch; returns how many.

        Slow stylesheets come last, so that the others do not run out of time because of them.
        """
        documents: list[Landed] = []
        derived = sorted(self._derived_of(manifest.version), key=self._is_costly)
        until = time.monotonic() + TOGETHER_S
        for start in range(0, len(derived), _AT_ONCE):
            documents += self._documents(derived[start : start + _AT_ONCE], manifest, until)
        if documents:
            self._log.append(documents)
        return len(documents)

    def close(self) -> None:
        self._transformer.close()

    def _derived_of(self, version: int) -> tuple[DerivedSource, ...]:
        if self._derived[0] != version:
            self._derived = (version, tuple(derived_sources(self._catalog, version)))
        return self._derived[1]

    def _view(self, feed_id: int, manifest: Manifest) -> FeedView | None:
        """What the batch added to the feed; None if nothing."""
        mine = self._store.seqs_in(manifest, feed_id).tolist()
        if not mine:
            return None
        entries = self._feed_views.entries([(feed_id, seq) for seq in mine])
        newest_first = tuple(entry for key in sorted(entries, reverse=True) for entry in entries[key])
        return replace(self._feed_views.with_id(feed_id), entries=newest_first)

    def _is_costly(self, derived: DerivedSource) -> bool:
        if not derived.stylesheet:
            return False
        try:
            return self._transformer.is_costly(self._stylesheets.text(derived.stylesheet))
        except DeliveryError:
            return False

    def _documents(self, some: Sequence[DerivedSource], manifest: Manifest, until: float) -> Iterator[Landed]:
        """All are started before the first is awaited: a slow stylesheet does not delay the others."""
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
                made = each.result(timeout=max(0.0, until - time.monotonic()))
            except TimeoutError:
                each.cancel()
                self._record(derived.source, _out_of_time())
                continue
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

    def _begun(self, derived: DerivedSource, view: FeedView) -> Future[Transformed]:
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


def _out_of_time() -> DeliveryError:
    return DeliveryError(
        f"items of a batch were left out: the stylesheets of all sources together took more than "
        f"{TOGETHER_S:.0f} seconds",
        hint="make the slow stylesheets faster, or drop the sources that use them",
    )


def _reads_itself(source: str) -> DeliveryError:
    return DeliveryError(
        f"{source} seems to read itself: its items went through {MAX_GENERATION} sources made from feeds",
        hint="look for a source that fetches what this installation serves",
    )


def derived_sources(catalog: Catalog, version: int) -> Iterator[DerivedSource]:
    """The sources as of a version that are made from other feeds; of the definitions only theirs are read."""
    with catalog.snapshot():
        sources = catalog.feeds.sources_unlike(version, FETCHED)
        made = [(source, *made_from(source.statement)) for source in sources]
        ids = {
            one.name: one.id for one in catalog.feeds.several_as_of(version, (feed for _, feed, _ in made))
        }
    for source, feed, stylesheet in made:
        if feed in ids:
            yield DerivedSource(source.name, ids[feed], stylesheet, id_path_of_source(source.statement))
