"""A whole installation in one process that may be killed at any moment: fetching, the pipeline, the door, sending.

`python -m tests.deliver.living DATA PORT SMTP_PORT` runs until it is told to stop or killed. The pipeline is the
engine of this process; the waits are short, so that what a killed one held comes free soon.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import cast

from feedweir import Weir
from feedweir.acquire.crawl import CrawlOptions
from feedweir.acquire.exchange import Agent
from feedweir.acquire.hosts import HostRules
from feedweir.cli.door import LocalLibrary
from feedweir.deliver.channels.mail import MailOptions
from feedweir.deliver.channels.smtp import SmtpServer
from feedweir.deliver.retry import RetryPolicy
from feedweir.engine.batches import Manifest
from feedweir.engine.runner import Runner
from feedweir.keeper.desk import Desk, link_secret
from feedweir.keeper.entry_views import StoredViews
from feedweir.keeper.fetching import FetchLoop, rules_of
from feedweir.keeper.outlets import OutletOptions, opened_sender
from feedweir.keeper.sending import SenderOptions, SendLoop
from feedweir.keeper.service import Service
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.serve import WebServer

CHANNELS = ("mail", "webhook", "websub", "file")
QUICK = {name: RetryPolicy(first_s=0.2, factor=1.5, most_s=2, attempts=1_000) for name in CHANNELS}


def live(data: Path, port: int, smtp_port: int) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with ExitStack() as stack:
        weir = stack.enter_context(Weir.open(data))
        url = f"http://127.0.0.1:{port}"
        desk = Desk(weir.catalog, weir.store, clock=weir.clock, allow_private=True)
        app = create_app(
            LocalLibrary(weir, cast(Service, None)), options=WebOptions(public_url=url), desk=desk
        )
        stack.enter_context(WebServer(app, port=port))
        fetching = FetchLoop(
            weir.catalog,
            weir.log,
            options=CrawlOptions(rules=rules_of(floor_s=1, interval_s=1)),
            hosts=HostRules(max_concurrent=200, spacing_s=0, max_per_day=10**9),
            agent=Agent(),
            allow_private=True,
            clock=weir.clock,
        )
        sending = SendLoop(
            partial(
                opened_sender,
                weir.catalog,
                StoredViews(weir.catalog, weir.store),
                outlets(weir, data, url, smtp_port),
                clock=weir.clock,
            )
        )
        for loop in (fetching, sending):
            stack.callback(loop.stop)
            loop.start()
        run_pipeline(weir, fetching, stop)


def outlets(weir: Weir, data: Path, url: str, smtp_port: int) -> OutletOptions:
    return OutletOptions(
        outputs=data / "outputs",
        smtp=SmtpServer(host="127.0.0.1", port=smtp_port, timeout_s=5),
        mail=MailOptions(sender="weir@example.org", secret=link_secret(weir.catalog)),
        base_url=url,
        allow_private=True,
        retries=QUICK,
        posts_per_host=32,
        sender=SenderOptions(lease_s=4, timeout_s=2, look_s=0.1),
    )


def run_pipeline(weir: Weir, fetching: FetchLoop, stop: threading.Event) -> None:
    def commit(manifest: Manifest) -> None:
        weir.commit(manifest)
        fetching.learn(manifest)

    while not stop.is_set():
        weir.refresh_set()
        if not Runner(weir.directory, commit).run_available():
            stop.wait(0.1)


if __name__ == "__main__":
    live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
