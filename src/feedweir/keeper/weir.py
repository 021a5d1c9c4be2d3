"""An installation: statements in, documents in, feeds out. `run` works in this process; `feedweir run` on Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from feedweir.acquire.landing import Landed, LandingLog
from feedweir.acquire.parse import parse
from feedweir.catalog import Catalog, open_catalog
from feedweir.catalog.database import PATIENCE_S
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.engine.audit import damages_in
from feedweir.engine.batches import Manifest
from feedweir.engine.compact import tidy
from feedweir.engine.directory import DataDirectory, current_version
from feedweir.engine.explaining import PlanExplanation
from feedweir.engine.preview import Trial
from feedweir.engine.quarantine import Quarantine, document_in
from feedweir.engine.runner import Runner
from feedweir.engine.sole_runner import sole_runner
from feedweir.engine.storage import storage_errors_told
from feedweir.engine.store import Store
from feedweir.engine.wanting import Wanting
from feedweir.engine.why import Clause
from feedweir.errors import CatalogError
from feedweir.items.model import Document, Item
from feedweir.keeper.bell import Bell
from feedweir.keeper.commit import batch_name, commit_batch
from feedweir.keeper.compile import put_in_force, repair, see_version
from feedweir.keeper.counting import count_hits
from feedweir.keeper.lately import Lately
from feedweir.keeper.library import Shelves
from feedweir.keeper.materialise import Materialiser
from feedweir.keeper.merging import Merges
from feedweir.keeper.names import id_path_of_source
from feedweir.keeper.plan_views import explained_plans
from feedweir.keeper.plans import Plans
from feedweir.keeper.questions import Questions
from feedweir.keeper.repair_logs import Repaired, repair_logs
from feedweir.keeper.statements import Outcome, execute
from feedweir.keeper.statements.outcome import PlanQuestion
from feedweir.kernels.compiling import tell_where_cold
from feedweir.match.formulas import Progress
from feedweir.match.history import LookBack
from feedweir.optimize.explain import ExplainedPlan, as_text
from feedweir.plan.nodes import Node


def now_utc() -> datetime:
    return datetime.now(UTC)


class Weir:
    """One data directory and its catalog, open."""

    def __init__(self, directory: DataDirectory, catalog: Catalog, clock: Callable[[], datetime]) -> None:
        self.directory = directory
        self.catalog = catalog
        self.clock = clock
        self.log = LandingLog(directory.landing)
        self.store = Store(directory.root)
        self.bell = Bell()
        """Rung whenever a batch was published."""
        self._set_turn = threading.Lock()
        self._merges = Merges()
        self._lately = Lately(self.store)
        self.quarantine = Quarantine(directory.quarantine)
        """The documents that were set aside."""
        self.shelves = Shelves(catalog, self.store)
        self.questions = Questions(catalog, self.store, directory)
        self.plans = Plans(catalog, directory, clock)
        self._stylesheets = Stylesheets(directory.root / "stylesheets")
        self._materialiser = Materialiser(catalog, self.store, self.log, self._stylesheets, clock)

    @classmethod
    def open(
        cls,
        data: Path | str,
        *,
        catalog_url: str = "",
        clock: Callable[[], datetime] = now_utc,
        patience_s: float = PATIENCE_S,
    ) -> Weir:
        """Open the installation in a directory, or begin one there; `patience_s` is for others that write to it."""
        root = Path(data).resolve()
        with storage_errors_told():
            root.mkdir(parents=True, exist_ok=True)
        url = catalog_url or f"sqlite:///{root}/catalog.sqlite"
        return cls(DataDirectory(root), open_catalog(url, patience_s=patience_s), clock)

    def execute(self, text: str, *, owner: str = "") -> tuple[Outcome, ...]:
        """Carry out statements, all or none; they hold from the next batch on. What they make is the owner's."""
        return execute(
            self.catalog,
            text,
            self.clock(),
            owner=owner,
            answer=self._answer,
            stylesheets=self._stylesheets,
        )

    def push(self, source: str, body: bytes, *, media_type: str = "") -> int:
        """Land a document as if it had been fetched from a source; returns its landing segment."""
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
        return self.log.append([document])

    def set_aside(self, number: int) -> Landed:
        """A document that was set aside, as it came."""
        self.quarantine.record(number)
        return document_in(self.log, number)

    def retry_set_aside(self, number: int) -> int:
        """Land a document that was set aside once more; returns its new landing segment."""
        segment = self.log.append([replace(self.set_aside(number), arrived=self.clock())])
        self.quarantine.settle(number, "retried")
        return segment

    def refresh_set(self, progress: Progress | None = None) -> int:
        """Put the catalog's definitions in force; returns their version. `progress` hears how far a large set is."""
        with self._set_turn:
            return put_in_force(
                self.catalog,
                self.directory.sets,
                self.clock(),
                self.plans.plan,
                pinned=self._pinned(),
                merges=self._merges,
                lately=self._lately,
                progress=progress,
            )

    def version_in_force(self) -> int:
        """The version of the definitions that the next batch is matched against; 0 before the first."""
        return current_version(self.directory.sets) or 0

    def see_in_force(self, version: int) -> None:
        """Return when this version, or a later one, is in force; any thread may ask."""
        if self.version_in_force() < version:
            self.refresh_set()

    def repair_set(self, progress: Progress | None = None) -> bool:
        """Compile the set in force again if it is damaged; whether it was."""
        with self._set_turn:
            return repair(
                self.catalog,
                self.directory.sets,
                self.clock(),
                self.plans.plan,
                self._lately,
                progress,
                pinned=self._pinned(),
            )

    def repair_logs(self) -> Repaired:
        """Make damaged files of the logs again from the landing log; refused while somebody runs batches."""
        with sole_runner(self.directory.root):
            return repair_logs(self.directory, self.catalog, self.store, self.log, self._see_version)

    def _see_version(self, version: int) -> None:
        with self._set_turn:
            see_version(self.catalog, self.directory.sets, version, self.clock(), self.plans.plan)

    def damages(self) -> dict[str, str]:
        """By name every file of the logs that is not as it was written: all of them are read."""
        return damages_in(self.directory, self.store, self.log)

    def _pinned(self) -> int | None:
        """The oldest version that a batch may still ask for; None before the first batch."""
        last = self.store.published(self.store.latest())
        return last.version if last else None

    def run(self) -> int:
        """Run everything that has landed through the engine in this process; how many batches that took."""
        tell_where_cold()
        with sole_runner(self.directory.root):
            self.repair_set()
            self.refresh_set()
            batches = Runner(self.directory, self.commit).run_available()
            self.tidy()
        return batches

    def tidy(self) -> None:
        """Bring counters and statistics up to the logs, plan anew where that pays, and put the logs into few files."""
        count_hits(self.catalog, self.store, self.clock())
        self.plans.learn(self.store.latest())
        if self.plans.replan():
            self.refresh_set()
        tidy(self.directory, self.store)

    def commit(self, manifest: Manifest) -> None:
        """Land what a published batch gives rise to, and tell the catalog of it."""
        if not self.catalog.batches.with_id(batch_name(manifest)):
            self._materialiser.land(manifest)
            commit_batch(self.catalog, self.store, manifest, self.clock())
        self.bell.ring()

    def items(self, feed: str, limit: int = 50) -> list[Item]:
        """The newest items of a source or virtual feed."""
        return self.shelves.newest(self.catalog.feeds.named(feed).id, limit)

    def preview(self, text: str, limit: int = 1_000) -> Trial:
        """What a query (`from …` or `create feed …`) finds among the newest `limit` items, without activating it."""
        return self.questions.preview(text, limit)

    def backtest(self, text: str) -> Trial:
        """What a query would have brought, had it been there from the beginning."""
        return self.questions.backtest(text)

    def explain(self, text: str) -> PlanExplanation:
        """How a query, or the feed of a name, is evaluated: its plan before and after every rule."""
        return self.questions.explain(text)

    def explain_plan(self, source: str = "") -> tuple[ExplainedPlan, ...]:
        """How the filters of a source, or of every source, are evaluated together, at which cost."""
        return explained_plans(self.catalog, self.directory.plans, self.clock(), source)

    def _answer(self, asked: Node | PlanQuestion) -> Outcome:
        if not isinstance(asked, PlanQuestion):
            return self.questions.answer(asked)
        plans = self.explain_plan(asked.source)
        return Outcome(message="\n\n".join(map(as_text, plans)), name=asked.source)

    def why(self, item: int | str, feed: str) -> Clause:
        """Clause by clause why an item (its number or guid) is or is not in a feed, and what the matcher did."""
        return self.questions.why(item, feed)

    def search(self, text: str, limit: int = 50, *, owner: str | None = None) -> LookBack:
        """The newest stored items that a search-box query wants; of an owner, among those in their feeds."""
        return self.questions.search(text, limit, owner)

    def wanting(self, item: int | str, *, owner: str | None = None) -> Wanting:
        """Which feeds want a stored item (its number or guid): of all feeds, or of those that concern an owner."""
        return self.questions.matching.stored([self.questions.item(item)], owner)

    def wanting_document(
        self, body: bytes, *, source: str = "", media_type: str = "", owner: str | None = None
    ) -> Wanting:
        """Which feeds would want the items of a document, had it come from a source; nothing of it is kept."""
        document = Document(number=0, source=source, media_type=media_type, arrived=self.clock(), body=body)
        return self.questions.matching.coming(parse(document).items, owner)

    def close(self) -> None:
        self.plans.close()
        self._materialiser.close()
        self.catalog.close()

    def __enter__(self) -> Weir:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
