"""Documents that are not fetched: pushed to sources by programs, or by hubs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from feedweir.acquire.fetch.http_rules import Headers
from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE, Allowance
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.acquire.websub.leases import Leases
from feedweir.acquire.websub.subscriber import HubReply
from feedweir.catalog import Catalog, Failure, FeedRecord
from feedweir.errors import CatalogError
from feedweir.health.backpressure import NO_PRESSURE, Pressure
from feedweir.language.defined_names import id_path_of_source
from feedweir.logs.landing import LandingLog


class Intake:
    """Takes in pushed documents; they are on disk when it returns."""

    def __init__(
        self,
        catalog: Catalog,
        log: LandingLog,
        clock: Callable[[], datetime],
        leases: Leases | None = None,
        in_force: Callable[[int], object] = lambda version: None,
        *,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        pressure: Callable[[], Pressure] = lambda: NO_PRESSURE,
    ) -> None:
        """`in_force` puts a version of the definitions in force, and returns once it is."""
        self._allowance = allowance
        self._catalog = catalog
        self._log = log
        self._clock = clock
        self._leases = leases
        self._in_force = in_force
        self._pressure = pressure

    def wait_s(self) -> int:
        """How long a sender has to wait before more is taken in; 0 when it need not."""
        return self._pressure().wait_s

    def check_source(self, name: str) -> FeedRecord:
        record = self._catalog.feeds.named(name)
        if record.kind != "source":
            raise CatalogError(f"{name!r} is a virtual feed", hint="documents are pushed to sources")
        return record

    def push(self, name: str, body: bytes, media_type: str) -> int:
        """Land a document, or items as JSON; returns its landing segment. Raises `DocumentError` and `CatalogError`."""
        record = self.check_source(name)
        id_path = id_path_of_source(record.statement)
        reader = parse_process(self._allowance)
        pushed = reader.pushed(record.name, body, media_type, self._clock(), id_path)
        # A document that is landed before the next batch knows its source would be in no feed.
        self._in_force(record.version)
        segment = self._log.append([pushed.document])
        self._tell(record.name, pushed.warnings)
        return segment

    def _tell(self, source: str, warnings: tuple[str, ...]) -> None:
        now = self._clock()
        failures = [Failure(kind="source", resource=source, at=now, reason=reason) for reason in warnings]
        if failures:
            self._catalog.failures.record(failures)

    def verify(self, source: str, token: str, query: Mapping[str, str]) -> HubReply | None:
        return self._leases.verify(source, token, query) if self._leases else None

    def receive(self, source: str, token: str, body: bytes, headers: Headers, media_type: str) -> bool:
        if self._leases is None:
            return False
        return self._leases.receive(source, token, body, headers, media_type)
