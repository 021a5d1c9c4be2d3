"""`feedweir run`: the whole system in one process, until Ctrl-C."""

from __future__ import annotations

import logging
import math
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from feedweir import __version__
from feedweir.acquire.allowance import Allowance
from feedweir.acquire.crawl import CrawlOptions
from feedweir.acquire.exchange import Agent
from feedweir.acquire.hosts import HostLedger, HostRules
from feedweir.acquire.refresh.budget import Budget
from feedweir.cli.context import bounds_in, context_of
from feedweir.cli.door import LocalLibrary
from feedweir.cli.sending import bounce_loop, desk_of, send_loop
from feedweir.config import Settings
from feedweir.engine.batches import Manifest
from feedweir.engine.sole_runner import sole_runner
from feedweir.engine.storage import ensure_open_files
from feedweir.errors import SettingsError
from feedweir.items.redact import without_secrets
from feedweir.keeper.fetching import FetchLoop, Looker, Opening, rules_of
from feedweir.keeper.intake import Receiving
from feedweir.keeper.leases import Leases
from feedweir.keeper.service import RunningQuery, Service
from feedweir.keeper.source_states import SourceMemory
from feedweir.keeper.warm_up import warm_up
from feedweir.keeper.weir import Weir
from feedweir.sample.origin import Origin
from feedweir.sample.statements import sample_statements
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.serve import WebServer

SAMPLE_INTERVAL_S = 5
_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})
_SAMPLE_HOSTS = HostRules(max_concurrent=4, spacing_s=0.05, max_per_day=10_000_000)


def add_to(app: typer.Typer) -> None:
    app.command()(run)


def run(
    context: typer.Context,
    sample: Annotated[bool, typer.Option(help="Play the built-in sample feeds and read them.")] = False,
    host: Annotated[str | None, typer.Option(help="Where to serve. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="[default: 8080]")] = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs. [default: local[*]]")] = None,
    fetch: Annotated[bool | None, typer.Option(help="Whether this process fetches sources.")] = None,
) -> None:
    """Fetch sources, run the pipeline on Spark, serve the feeds. Ctrl-C stops; the next run continues."""
    _log_to_console()
    # What fails in a batch is the failure of the query, and told as such in one line.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    given = context_of(context)
    flags = {"host": host, "port": port, "master": master, "fetch": fetch}
    settings = given.settings(**flags, **(_sample_flags() if sample else {}))
    ensure_open_files()
    warm_up()
    stop = threading.Event()
    _stop_on_signals(stop)
    with ExitStack() as stack:
        weir = stack.enter_context(Weir.open(settings.data, catalog_url=settings.catalog_url))
        stack.enter_context(sole_runner(weir.directory.root))
        if sample:
            stack.callback(_start_sample(weir, settings.sample_port).stop)
        spark = stack.enter_context(ExitStack())
        memory = SourceMemory(weir.catalog)
        leases = _leases(weir, memory, settings)
        service = _service(weir, settings, is_sample=sample, spark=spark, memory=memory, leases=leases)
        desk = desk_of(weir, settings)
        stack.callback(desk.close)
        intake = Receiving(weir.catalog, weir.log, weir.clock, leases, weir.see_in_force)
        app = create_app(
            LocalLibrary(weir, service), options=_web_options(settings), desk=desk, intake=intake
        )
        server = WebServer(app, host=settings.host, port=settings.port)
        server.start()
        stack.callback(server.stop)
        _tell(server.url, weir, settings)
        if settings.send:
            for loop in (send_loop(weir, settings), bounce_loop(weir, settings)):
                if loop is not None:
                    stack.callback(loop.stop)
                    loop.start()
                    service.watch(loop)
        # Stopped first: a pipeline whose processes were asked to stop, too, is not started again.
        stack.callback(service.stop)
        service.start()
        # Spark has put its own handler in the place of ours.
        _stop_on_signals(stop)
        stop.wait()
        typer.echo("Stopping: finishing what is being written …")
    typer.echo("Stopped. `feedweir run` continues where this left off.")


class _LogLines(logging.Formatter):
    """Lines in which addresses hold no secrets, whoever wrote them."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def _log_to_console() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_LogLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _stop_on_signals(stop: threading.Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())


def _start_sample(weir: Weir, port: int) -> Origin:
    """The port is the same every time, so that what was registered the first time is found again."""
    origin = Origin(weir.clock, port=port)
    origin.start()
    if not weir.catalog.feeds.all(limit=1):
        weir.execute(sample_statements(origin.urls))
    return origin


def _web_options(settings: Settings) -> WebOptions:
    if not settings.token and settings.host not in _THIS_MACHINE:
        raise SettingsError(
            f"serving on {settings.host} lets others carry out statements",
            hint="set FEEDWEIR_TOKEN to a secret",
        )
    if settings.public_reads not in ("none", "feeds", "all"):
        raise SettingsError(f"setting public_reads: {settings.public_reads!r} is not none, feeds or all")
    return WebOptions(
        public_url=settings.public_url,
        token=settings.token,
        public_reads=settings.public_reads,  # type: ignore[arg-type]
        allowed_hosts=(settings.host, *settings.allowed_hosts),
    )


def _sample_flags() -> dict[str, object]:
    return {"allow_private": True, "floor_s": 1, "interval_s": SAMPLE_INTERVAL_S, "refresh": "fixed"}


def _leases(weir: Weir, memory: SourceMemory, settings: Settings) -> Leases:
    return Leases(
        weir.catalog,
        weir.log,
        memory,
        public_url=settings.public_url,
        allow_private=settings.allow_private,
        clock=weir.clock,
    )


def _service(
    weir: Weir,
    settings: Settings,
    *,
    is_sample: bool,
    spark: ExitStack,
    memory: SourceMemory,
    leases: Leases,
) -> Service:
    start_query = _spark_query(weir, settings, spark)
    if not settings.fetch:
        return Service(weir, start_query, None, keep_sent=_keep_sent(settings), bounds=bounds_in(settings))
    fetch_loop = FetchLoop(
        weir.catalog,
        weir.log,
        options=_crawl_options(settings),
        hosts=_SAMPLE_HOSTS if is_sample else _host_rules(settings),
        agent=Agent(version=__version__, contact=settings.contact),
        allow_private=settings.allow_private,
        clock=weir.clock,
        notes=weir.directory.root / "fetching.json",
        memory=memory,
        leases=leases,
        in_force=weir.version_in_force,
        opening=_fetching_executors(weir, settings) if _is_on_executors(settings) else None,
    )
    return Service(weir, start_query, fetch_loop, keep_sent=_keep_sent(settings), bounds=bounds_in(settings))


def _keep_sent(settings: Settings) -> timedelta | None:
    return timedelta(days=settings.keep_sent_days) if settings.keep_sent_days else None


def _crawl_options(settings: Settings) -> CrawlOptions:
    rules = rules_of(floor_s=settings.floor_s, interval_s=settings.interval_s, policy=settings.refresh)
    budget = Budget(per_second=settings.requests_per_second, per_day=settings.requests_per_day or math.inf)
    return CrawlOptions(rules=rules, budget=budget)


def _is_on_executors(settings: Settings) -> bool:
    if settings.fetch_on not in ("auto", "driver", "executors"):
        raise SettingsError(f"setting fetch_on: {settings.fetch_on!r} is not auto, driver or executors")
    is_wide = not settings.master.startswith("local")
    return settings.fetch_on == "executors" or (settings.fetch_on == "auto" and is_wide)


def _fetching_executors(weir: Weir, settings: Settings) -> Opening:
    """Looks that run in tasks of the session in which the pipeline runs."""

    def opening(ledger: HostLedger) -> AbstractAsyncContextManager[Looker]:
        from feedweir.spark.fetching import Manner, executor_looks
        from feedweir.spark.session import open_session

        session = open_session(settings.master, weir.directory.scratch, memory=settings.driver_memory)
        manner = Manner(
            landing=weir.directory.landing,
            hosts=ledger.rules,
            agent=Agent(version=__version__, contact=settings.contact),
            allow_private=settings.allow_private,
        )
        tasks = max(session.sparkContext.defaultParallelism // 2, 1)
        options = _crawl_options(settings)
        return executor_looks(session, manner, ledger, tasks=tasks, options=options, clock=weir.clock)

    return opening


def _host_rules(settings: Settings) -> HostRules:
    return HostRules(spacing_s=settings.host_spacing_s, max_per_day=settings.host_requests_per_day)


def _spark_query(
    weir: Weir, settings: Settings, spark: ExitStack
) -> Callable[[Callable[[Manifest], None]], RunningQuery]:
    def start(commit: Callable[[Manifest], None]) -> RunningQuery:
        # Importing Spark costs seconds: the door is open before.
        from feedweir.spark.pipeline import WatchedQuery, start_pipeline
        from feedweir.spark.session import close_session, open_session

        session = open_session(settings.master, weir.directory.scratch, memory=settings.driver_memory)
        spark.pop_all()  # the session of before is this one, or died with its JVM
        spark.callback(close_session, session)
        query = start_pipeline(
            session,
            weir.directory,
            commit,
            tasks=settings.tasks or session.sparkContext.defaultParallelism,
            max_batch_bytes=settings.batch_bytes,
            allowance=_allowance(settings),
        )
        return WatchedQuery(query)

    return start


def _allowance(settings: Settings) -> Allowance:
    return Allowance(seconds=settings.document_seconds, memory_bytes=settings.document_memory_mb << 20)


def _tell(url: str, weir: Weir, settings: Settings) -> None:
    feeds = weir.catalog.feeds.all(kind="virtual", limit=3)
    examples = "".join(f"\n    {url}/feeds/{feed.name}.atom" for feed in feeds)
    typer.echo(
        f"Feedweir {__version__} is starting; Spark needs some seconds.\n"
        f"  Look at     {url}/{examples}\n"
        f"  Data in     {_short(weir.directory.root)}\n"
        f'  Try         feedweir --data {_short(settings.data)} exec "show feeds"\n'
        f"  Stop with   Ctrl-C"
    )


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
