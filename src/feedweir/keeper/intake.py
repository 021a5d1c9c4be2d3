"""What comes in without being fetched: documents and items pushed to sources, and content from hubs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from feedweir.acquire.http_rules import Headers
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.pushing import pushed_document
from feedweir.acquire.websub import Verdict
from feedweir.catalog import Catalog, Failure, FeedRecord
from feedweir.errors import CatalogError
from feedweir.keeper.leases import Leases
from feedweir.keeper.names import id_path_of_source


class Receiving:
    """Takes in what is brought; everything is on disk when it answers."""

    def __init__(
        self,
        catalog: Catalog,
        log: LandingLog,
        clock: Callable[[], datetime],
        leases: Leases | None = None,
        in_force: Callable[[int], object] = lambda version: None,
    ) -> None:
        """`in_force` sees to it that a version of the definitions is in force, and returns when it is."""
        self._catalog = catalog
        self._log = log
        self._clock = clock
        self._leases = leases
        self._in_force = in_force

    def check_source(self, name: str) -> FeedRecord:
        record = self._catalog.feeds.named(name)
        if record.kind != "source":
            raise CatalogError(f"{name!r} is a virtual feed", hint="documents are pushed to sources")
        return record

    def push(self, name: str, body: bytes, media_type: str) -> int:
        """Land a document, or items as JSON; its landing segment. Raises `DocumentError` and `CatalogError`."""
        record = self.check_source(name)
        id_path = id_path_of_source(record.statement)
        pushed = pushed_document(record.name, body, media_type, self._clock(), id_path)
        # What is landed before its source is known to the next batch would be in no feed.
        self._in_force(record.version)
        segment = self._log.append([pushed.document])
        self._tell(record.name, pushed.warnings)
        return segment

    def _tell(self, source: str, warnings: tuple[str, ...]) -> None:
        now = self._clock()
        failures = [Failure(kind="source", resource=source, at=now, reason=reason) for reason in warnings]
        if failures:
            self._catalog.failures.record(failures)

    def verify(self, source: str, token: str, query: Mapping[str, str]) -> Verdict | None:
        return self._leases.verify(source, token, query) if self._leases else None

    def receive(self, source: str, token: str, body: bytes, headers: Headers, media_type: str) -> bool:
        if self._leases is None:
            return False
        return self._leases.receive(source, token, body, headers, media_type)
