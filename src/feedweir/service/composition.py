"""The composition root: an installation's parts, made from its settings and joined here and nowhere else.

`feedweir run` and `feedweir send` are made of them, and so are the installations that tests run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Self, TypeAlias

from feedweir import __version__
from feedweir.acquire.fetch.crawl import CrawlOptions
from feedweir.acquire.fetch.fetch_loop import FetchLoop, Opening, Poller, rules_of
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.transport import Agent
from feedweir.acquire.intake import Intake
from feedweir.acquire.refresh.request_budget import Budget
from feedweir.acquire.refresh.source_state import SourceMemory
from feedweir.acquire.websub.leases import Leases
from feedweir.config import Settings
from feedweir.deliver.delivery_admin import DeliveryAdmin, link_secret
from feedweir.deliver.send.bounces import BounceLoop
from feedweir.deliver.send.open_channels import SendingOptions, opened_sender
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.deliver.send.sender import SenderOptions, SendLoop
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.errors import SettingsError
from feedweir.health.loop import Loop
from feedweir.logs.backlog_meter import BacklogMeter
from feedweir.logs.batches import Manifest
from feedweir.service.daemon import Daemon, RunningQuery
from feedweir.service.installation import Weir
from feedweir.service.local_backend import LocalBackend
from feedweir.service.service_note import bounds_in
from feedweir.service.table_loop import TableLoop
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.web_server import WebServer

Commit: TypeAlias = Callable[[Manifest], None]
Engine: TypeAlias = Callable[[Weir, Settings, Commit, ExitStack], RunningQuery]
"""Starts what runs batches; what it opens goes on the stack, and is closed when it is started again or stopped."""

_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


def on_spark(weir: Weir, settings: Settings, commit: Commit, opened: ExitStack) -> RunningQuery:
    """The pipeline as a streaming query of Spark."""
    # Importing Spark takes seconds: the HTTP door is open before.
    from feedweir.spark.pipeline import WatchedQuery, start_pipeline
    from feedweir.spark.session import close_session, death_told, open_session, spark_settings
    from feedweir.spark.warmth import keep_workers

    with death_told():
        session = open_session(
            settings.master,
            weir.directory.scratch,
            memory=settings.driver_memory,
            settings=spark_settings(settings.spark),
        )
        opened.pop_all()  # the session of before is this one, or died with its JVM
        opened.callback(close_session, session)
        query = start_pipeline(
            session,
            weir.directory,
            commit,
            tasks=settings.tasks,
            max_batch_bytes=settings.batch_bytes,
            batch_seconds=settings.batch_seconds,
            allowance=weir.allowance,
            log_level=settings.log_level,
            charge=weir.charge,
        )
        keep_workers(session, query)
    return WatchedQuery(query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variations:
    """What is not a setting, and is chosen otherwise by the sample and by tests."""

    engine: Engine = on_spark
    hosts: HostRules | None = None
    """The limits for requests to a host; None for those in the settings."""
    sender: SenderOptions = field(default_factory=SenderOptions)
    retries: Mapping[str, RetryPolicy] | None = None
    """By channel; None for each channel's default."""
    posts_per_host: int = 8
    keep_alive_s: float = 15.0
    """How long a stream of events is silent before a keep-alive is sent."""


class Installation:
    """All parts of one process, joined. They are started by `serve` and `start`, and end with the context."""

    def __init__(self, weir: Weir, settings: Settings, variations: Variations | None = None) -> None:
        variations = variations or Variations()
        self.weir = weir
        memory = SourceMemory(weir.catalog)
        leases = leases_of(weir, memory, settings)
        meter = BacklogMeter(weir.log, weir.store, weir.clock, settings.backlog_bytes)
        self._engine_parts = ExitStack()
        self.service = Daemon(
            weir,
            lambda commit: variations.engine(weir, settings, commit, self._engine_parts),
            fetch_loop(weir, settings, variations, memory, leases, meter) if settings.fetch else None,
            keep_sent=timedelta(days=settings.keep_sent_days) if settings.keep_sent_days else None,
            bounds=bounds_in(settings),
        )
        self.backend = LocalBackend(weir, self.service, meter)
        self.deliveries = delivery_admin(weir, settings)
        intake = Intake(
            weir.catalog,
            weir.log,
            weir.clock,
            leases,
            weir.ensure_in_force,
            allowance=weir.allowance,
            pressure=meter.pressure,
        )
        self.app = create_app(
            self.backend, options=web_options(settings, variations), deliveries=self.deliveries, intake=intake
        )
        self.server = WebServer(self.app, host=settings.host, port=settings.port)
        self._senders = sending_loops(weir, settings, variations) if settings.send else []
        self._tables = TableLoop(weir) if settings.tables else None
        self._ends = ExitStack()

    def serve(self) -> None:
        """Open the HTTP door: nothing else need have been started."""
        self.server.start()
        self._ends.callback(self.server.stop)

    def start(self) -> None:
        """Send, fetch and run the pipeline."""
        for loop in self._senders:
            self._ends.callback(loop.stop)
            loop.start()
            self.service.watch(loop)
        if self._tables:
            self._ends.callback(self._tables.stop)
            self._tables.start()
            self.service.watch(self._tables)
            self.service.when_published(self._tables.wake)
        # Stopped first: a pipeline whose processes were asked to stop, too, is not started again.
        self._ends.callback(self.service.stop)
        self.service.start()

    def at_end(self, callback: Callable[[], object]) -> None:
        """Call this after all parts that are started from now on have ended."""
        self._ends.callback(callback)

    def __enter__(self) -> Self:
        """Keep others from running batches in the same data directory."""
        self._ends.enter_context(self.weir.in_charge())
        self._ends.enter_context(self._engine_parts)
        self._ends.callback(self.deliveries.close)
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()


def sending_loops(weir: Weir, settings: Settings, variations: Variations | None = None) -> list[Loop]:
    """A sender with every channel that the settings allow, and the reader of what mail servers return."""
    loops: list[Loop] = [send_loop(weir, settings, variations or Variations())]
    if settings.bounces_mailbox:
        loops.append(BounceLoop(weir.catalog, Path(settings.bounces_mailbox), weir.clock))
    return loops


def send_loop(weir: Weir, settings: Settings, variations: Variations) -> SendLoop:
    options = sending_options(weir, settings, variations)
    return SendLoop(partial(opened_sender, weir.catalog, weir.feed_views, options, clock=weir.clock))


def sending_options(weir: Weir, settings: Settings, variations: Variations | None = None) -> SendingOptions:
    """Where deliveries go, and how."""
    variations = variations or Variations()
    return SendingOptions(
        settings=settings,
        outputs=weir.directory.own / "outputs",
        stylesheets=weir.directory.own / "stylesheets",
        link_secret=link_secret(weir.catalog, settings.link_secret),
        posts_per_host=variations.posts_per_host,
        retries=variations.retries,
        sender=variations.sender,
    )


def delivery_admin(weir: Weir, settings: Settings) -> DeliveryAdmin:
    """Subscriptions and their deliveries, for the HTTP door and the command line."""
    return DeliveryAdmin(
        weir.catalog,
        weir.store,
        clock=weir.clock,
        publish_signal=weir.publish_signal,
        secret=settings.link_secret,
        allow_private=settings.allow_private,
        stylesheets=Stylesheets(weir.directory.own / "stylesheets"),
    )


def web_options(settings: Settings, variations: Variations) -> WebOptions:
    if not settings.token and settings.host not in _THIS_MACHINE:
        raise SettingsError(
            f"serving on {settings.host} would let others execute statements",
            hint="set FEEDWEIR_TOKEN to a secret",
        )
    return WebOptions(
        public_url=settings.public_url,
        token=settings.token,
        public_reads=settings.public_reads,  # type: ignore[arg-type]
        allowed_hosts=(settings.host, *settings.allowed_hosts),
        keep_alive_s=variations.keep_alive_s,
    )


def leases_of(weir: Weir, memory: SourceMemory, settings: Settings) -> Leases:
    return Leases(
        weir.catalog,
        weir.log,
        memory,
        public_url=settings.public_url,
        allow_private=settings.allow_private,
        clock=weir.clock,
    )


def fetch_loop(
    weir: Weir,
    settings: Settings,
    variations: Variations,
    memory: SourceMemory,
    leases: Leases,
    meter: BacklogMeter,
) -> FetchLoop:
    return FetchLoop(
        weir.catalog,
        weir.log,
        options=_crawl_options(settings),
        hosts=variations.hosts
        or HostRules(spacing_s=settings.host_spacing_s, max_per_day=settings.host_requests_per_day),
        agent=_agent(settings),
        allow_private=settings.allow_private,
        clock=weir.clock,
        notes=weir.directory.own / "fetching.json",
        memory=memory,
        leases=leases,
        in_force=weir.version_in_force,
        pressure=meter.pressure,
        opening=_fetching_executors(weir, settings) if _is_on_executors(settings) else None,
    )


def _agent(settings: Settings) -> Agent:
    return Agent(version=__version__, contact=settings.contact)


def _crawl_options(settings: Settings) -> CrawlOptions:
    rules = rules_of(floor_s=settings.floor_s, interval_s=settings.interval_s, policy=settings.refresh)
    budget = Budget(per_second=settings.requests_per_second, per_day=settings.requests_per_day or math.inf)
    return CrawlOptions(rules=rules, budget=budget)


def _is_on_executors(settings: Settings) -> bool:
    is_wide = not settings.master.startswith("local")
    return settings.fetch_on == "executors" or (settings.fetch_on == "auto" and is_wide)


def _fetching_executors(weir: Weir, settings: Settings) -> Opening:
    """Sources are fetched by tasks of the session in which the pipeline runs."""

    def opening(ledger: HostLedger) -> AbstractAsyncContextManager[Poller]:
        from feedweir.spark.fetching import FetchOptions, executor_poller
        from feedweir.spark.session import open_session, spark_settings

        session = open_session(
            settings.master,
            weir.directory.scratch,
            memory=settings.driver_memory,
            settings=spark_settings(settings.spark),
        )
        fetch_options = FetchOptions(
            landing=weir.directory.landing,
            hosts=ledger.rules,
            agent=_agent(settings),
            allow_private=settings.allow_private,
            log_level=settings.log_level,
        )
        tasks = max(session.sparkContext.defaultParallelism // 2, 1)
        return executor_poller(
            session, fetch_options, ledger, tasks=tasks, options=_crawl_options(settings), clock=weir.clock
        )

    return opening
