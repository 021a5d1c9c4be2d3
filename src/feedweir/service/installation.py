"""An installation: statements and documents in, feeds out. `run` uses this process; `feedweir run` uses Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE, Allowance
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.ask.outcome import JoinQuestion, PlanQuestion
from feedweir.ask.questions import Questions
from feedweir.catalog import Catalog
from feedweir.compile.compiler import ensure_version, put_in_force, repair
from feedweir.compile.merges import Merges
from feedweir.compile.plans import Plans
from feedweir.compile.recent_frequencies import RecentFrequencies
from feedweir.deliver.publish_signal import PublishSignal
from feedweir.deliver.transforms.made_sources import Materialiser
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.errors import CatalogError, DisplacedError, DocumentError
from feedweir.kernels.compilation import tell_where_cold
from feedweir.language.defined_names import id_path_of_source, is_only_pushed
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory, current_version
from feedweir.logs.landing import Landed
from feedweir.match.index.query_formulas import Progress
from feedweir.optimize.filter_plans.plan_report import as_text
from feedweir.pipeline.audit import damages_in
from feedweir.pipeline.charge import Charge, in_charge
from feedweir.pipeline.commit import batch_name, commit_batch, count_hits
from feedweir.pipeline.compaction import LEFT_AFTER, tidy
from feedweir.pipeline.conversion import convert_older
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.quarantine import document_in
from feedweir.pipeline.repair import Repaired, repair_logs
from feedweir.pipeline.retention import KEEP_ALL, Retention
from feedweir.plan.nodes import Node
from feedweir.service.archive import Archive
from feedweir.service.execution import Outcome, execute
from feedweir.service.vocabulary_intake import take_vocabularies

if TYPE_CHECKING:
    from feedweir.tables.open_tables import OpenTables

_log = logging.getLogger(__name__)


class Weir(Archive):
    """An installation, open."""

    def __init__(
        self,
        directory: DataDirectory,
        catalog: Catalog,
        clock: Callable[[], datetime],
        retention: Retention = KEEP_ALL,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        tables: bool = True,
    ) -> None:
        super().__init__(directory, catalog, clock, retention, allowance, tables)
        self.publish_signal = PublishSignal()
        """Signalled whenever a batch was published."""
        self.ask = Questions(catalog, self.store, directory, clock, allowance)
        """Questions about what is stored; they change nothing."""
        self.plans = Plans(catalog, directory, clock)
        self.charge: Charge | None = None
        """While this process runs the batches."""
        self._set_turn = threading.Lock()
        self._merges = Merges()
        self._recent = RecentFrequencies(self.store)
        self._stylesheets = Stylesheets(directory.own / "stylesheets")
        self._materialiser = Materialiser(catalog, self.store, self.log, self._stylesheets, clock)

    def execute(self, text: str, *, owner: str = "") -> tuple[Outcome, ...]:
        """Execute statements, all or none, from the next batch on. What they create belongs to the owner."""
        return execute(
            self.catalog,
            text,
            self.clock(),
            owner=owner,
            answer=self._answer,
            stylesheets=self._stylesheets,
            known=self.ask.matching.sets,
        )

    def push(self, source: str, body: bytes, *, media_type: str = "") -> int:
        """Land a document as if it had been fetched from a source, or pushed to one that is only pushed to; returns its
        landing segment. What cannot be read is recorded when it is published."""
        record = self.catalog.feeds.named(source)
        if record.kind != "source":
            raise CatalogError(f"{source!r} is a virtual feed", hint="documents are pushed to sources")
        document = Landed(
            source=source,
            media_type=media_type,
            arrived=self.clock(),
            body=body,
            id_path=id_path_of_source(record.statement),
        )
        return self.log.append([self._as_pushed(document) if is_only_pushed(record.statement) else document])

    def _as_pushed(self, document: Landed) -> Landed:
        """As `POST /push` lands it: an item of JSON, or any XML, as the document that holds it."""
        reader = parse_process(self.allowance)
        with suppress(DocumentError):
            document = reader.pushed(
                document.source, document.body, document.media_type, document.arrived, document.id_path
            ).document
        return document

    def quarantined(self, number: int) -> Landed:
        """A quarantined document, as it was received."""
        self.quarantine.record(number)
        return document_in(self.log, number)

    def retry_quarantined(self, number: int) -> int:
        """Land a quarantined document again; returns its new landing segment."""
        segment = self.log.append([replace(self.quarantined(number), arrived=self.clock())])
        self.quarantine.settle(number, "retried")
        return segment

    def refresh_set(self, progress: Progress | None = None) -> int:
        """Compile the catalog's definitions and put them in force; returns their version."""
        with self._set_turn:
            return put_in_force(
                self.catalog,
                self.directory.sets,
                self.clock(),
                self.plans.plan,
                follow=self.plans.follow,
                pinned=self._pinned(),
                merges=self._merges,
                recent=self._recent,
                progress=progress,
            )

    def version_in_force(self) -> int:
        """The version of the definitions that the next batch is matched against; 0 if there is none yet."""
        return current_version(self.directory.sets) or 0

    def ensure_in_force(self, version: int) -> None:
        """Return once this version, or a later one, is in force. Thread-safe."""
        if self.version_in_force() < version:
            self.refresh_set()

    def repair_set(self, progress: Progress | None = None) -> bool:
        """Compile the set in force again if it is damaged; returns whether it was."""
        with self._set_turn:
            return repair(
                self.catalog,
                self.directory.sets,
                self.clock(),
                self.plans.plan,
                self._recent,
                progress,
                pinned=self._pinned(),
            )

    def repair_logs(self) -> Repaired:
        """Rebuild damaged files of the logs from the landing log; refused while another process runs batches."""
        with self.in_charge():
            return repair_logs(self.directory, self.catalog, self.store, self.log, self._ensure_version)

    def _ensure_version(self, version: int) -> None:
        with self._set_turn:
            ensure_version(self.catalog, self.directory.sets, version, self.clock(), self.plans.plan)

    def damages(self) -> dict[str, str]:
        """The damaged and missing files of the logs, by name, with the reason. Reads all files."""
        return damages_in(self.directory, self.store, self.log)

    def _pinned(self) -> int | None:
        """The oldest version that a batch may still need; None before the first batch."""
        last = self.store.published(self.store.latest())
        return last.version if last else None

    @contextmanager
    def in_charge(self) -> Iterator[None]:
        """Be the process that runs batches in this data directory."""
        with in_charge(self.directory.root) as self.charge:
            try:
                yield
            finally:
                self.charge = None

    def run(self) -> int:
        """Run everything that has landed, in this process; returns the number of batches."""
        tell_where_cold()
        with self.in_charge():
            self.repair_set()
            self.refresh_set()
            batches = LocalRunner(
                self.directory,
                self.commit,
                parser=parse_process(self.allowance),
                charge=self.charge,
            ).run_available()
            self.tidy()
        return batches

    def tidy(self) -> None:
        """Update counters and statistics, replan filters where that pays, compact the logs, and delete the surplus."""
        count_hits(self.catalog, self.store, self.clock())
        self.plans.learn(self.store.latest())
        if self.plans.replan():
            self.refresh_set()
        convert_older(self.store, self.charge)
        self._follow_or_log()  # before files are merged that the tables do not have yet
        tidy(self.directory, self.store, self.retention, self.charge, now=self.clock())
        self.remove_surplus()
        if self.tables:
            self.tables.tidy(self.clock() - LEFT_AFTER)

    @cached_property
    def tables(self) -> OpenTables | None:
        """The logs as open tables, for the process that runs batches; None when the settings disable them."""
        if not self.keeps_tables:
            return None
        from feedweir.tables.open_tables import OpenTables  # readers of feeds need no Delta

        return OpenTables(self.directory.root, self.store, self.catalog)

    def follow_tables(self) -> None:
        """Have the open tables follow what was published."""
        if self.charge:
            self.charge.check()
        if self.tables:
            self.tables.follow()

    def _follow_or_log(self) -> None:
        try:
            self.follow_tables()
        except DisplacedError:
            raise
        except Exception:  # feeds do not wait for tables
            _log.exception("the open tables could not be updated")

    def commit(self, manifest: Manifest) -> None:
        """Commit a published batch to the catalog, and land the documents of sources that are made from its feeds;
        vocabularies say from now on what it brought of them."""
        if not self.catalog.batches.with_id(batch_name(manifest)):
            self._materialiser.land(manifest)
            take_vocabularies(self.catalog, self.store, manifest, self.clock())
            commit_batch(self.catalog, self.store, manifest, self.clock())
        self.publish_signal.send()

    def _answer(self, asked: Node | PlanQuestion | JoinQuestion) -> Outcome:
        if isinstance(asked, JoinQuestion):
            return Outcome(message="\n".join(self.ask.joins(asked.feed)), name=asked.feed)
        if not isinstance(asked, PlanQuestion):
            return self.ask.answer(asked)
        plans = self.ask.plans(asked.source)
        return Outcome(message="\n\n".join(map(as_text, plans)), name=asked.source)

    def close(self) -> None:
        self.plans.close()
        self._materialiser.close()
        super().close()
