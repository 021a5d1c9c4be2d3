"""A whole installation in one process that may be killed at any moment: fetching, the pipeline, the door, sending.

`python -m tests.deliver.living DATA PORT SMTP_PORT INTERVAL_S ENGINE` runs until it is told to stop or killed. It is
put together as `feedweir run` is, with shorter waits, so that what a killed one held comes free soon. ENGINE is
`process`, the pipeline in a thread of this process, or `spark`.
"""

from __future__ import annotations

import faulthandler
import logging
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from feedweir import Weir
from feedweir.acquire.crawl import CrawlOptions
from feedweir.acquire.exchange import Agent
from feedweir.acquire.hosts import HostRules
from feedweir.acquire.refresh.budget import Budget
from feedweir.cli.door import LocalLibrary
from feedweir.deliver.channels.mail import MailOptions
from feedweir.deliver.channels.smtp import SmtpServer
from feedweir.deliver.retry import RetryPolicy
from feedweir.engine.batches import Manifest
from feedweir.engine.runner import Runner
from feedweir.keeper.desk import Desk, link_secret
from feedweir.keeper.entry_views import StoredViews
from feedweir.keeper.fetching import FetchLoop, rules_of
from feedweir.keeper.intake import Receiving
from feedweir.keeper.leases import Leases
from feedweir.keeper.outlets import OutletOptions, opened_sender
from feedweir.keeper.sending import SenderOptions, SendLoop
from feedweir.keeper.service import RunningQuery, Service
from feedweir.keeper.source_states import SourceMemory
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.serve import WebServer

CHANNELS = ("mail", "webhook", "websub", "file")
QUICK = {name: RetryPolicy(first_s=0.2, factor=1.5, most_s=2, attempts=1_000) for name in CHANNELS}
Commit = Callable[[Manifest], None]


class EngineInProcess:
    """The pipeline in a thread; what Spark's streaming query is to the service."""

    def __init__(self, weir: Weir, commit: Commit) -> None:
        self._weir = weir
        self._commit = commit
        self._stopping = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def isActive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def exception(self) -> Exception | None:
        return self._error

    def _run(self) -> None:
        try:
            runner = Runner(self._weir.directory, self._commit)
            while not self._stopping.is_set():
                if not runner.run_batch():
                    self._stopping.wait(0.1)
        except Exception as error:
            logging.exception("the engine stopped")
            self._error = error


def on_spark(weir: Weir, commit: Commit) -> RunningQuery:
    from feedweir.spark.pipeline import start_pipeline
    from feedweir.spark.session import open_session

    session = open_session("local[2]", weir.directory.scratch)
    return start_pipeline(session, weir.directory, commit, tasks=2)


ENGINES: dict[str, Callable[[Weir, Commit], RunningQuery]] = {"process": EngineInProcess, "spark": on_spark}


def live(data: Path, port: int, smtp_port: int, interval_s: float, engine: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        weir = stack.enter_context(Weir.open(data))
        memory = SourceMemory(weir.catalog)
        leases = Leases(weir.catalog, weir.log, memory, public_url=url, allow_private=True, clock=weir.clock)
        fetching = fetch_loop(weir, interval_s, memory, leases)
        service = Service(weir, partial(ENGINES[engine], weir), fetching)
        desk = Desk(weir.catalog, weir.store, clock=weir.clock, bell=weir.bell, allow_private=True)
        app = create_app(
            LocalLibrary(weir, service),
            options=WebOptions(public_url=url),
            desk=desk,
            intake=Receiving(weir.catalog, weir.log, weir.clock, leases),
        )
        stack.enter_context(WebServer(app, port=port))
        sending = send_loop(weir, data, url, smtp_port)
        for each in (service, sending):
            stack.callback(each.stop)
            each.start()
        stop.wait()


def fetch_loop(weir: Weir, interval_s: float, memory: SourceMemory, leases: Leases) -> FetchLoop:
    """As polite as ever: one request at a time to a host, and a second between two."""
    return FetchLoop(
        weir.catalog,
        weir.log,
        options=CrawlOptions(
            rules=rules_of(floor_s=interval_s, interval_s=interval_s), budget=Budget(per_second=1_000)
        ),
        hosts=HostRules(),
        agent=Agent(),
        allow_private=True,
        clock=weir.clock,
        notes=weir.directory.root / "fetching.json",
        memory=memory,
        leases=leases,
    )


def send_loop(weir: Weir, data: Path, url: str, smtp_port: int) -> SendLoop:
    options = OutletOptions(
        outputs=data / "outputs",
        smtp=SmtpServer(host="127.0.0.1", port=smtp_port, timeout_s=5),
        mail=MailOptions(sender="weir@example.org", secret=link_secret(weir.catalog)),
        base_url=url,
        allow_private=True,
        retries=QUICK,
        posts_per_host=32,
        sender=SenderOptions(lease_s=4, timeout_s=2, look_s=0.1),
    )
    views = StoredViews(weir.catalog, weir.store)
    return SendLoop(partial(opened_sender, weir.catalog, views, options, clock=weir.clock))


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
