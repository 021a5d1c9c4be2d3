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
from contextlib import ExitStack
from pathlib import Path

from feedweir import Weir
from feedweir.config import Settings
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.deliver.send.sender import SenderOptions
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.composition import Commit, Engine, Installation, Variations, on_spark
from feedweir.service.daemon import RunningQuery

CHANNELS = ("mail", "webhook", "websub", "file")
QUICK = {name: RetryPolicy(first_s=0.2, factor=1.5, most_s=2, attempts=1_000) for name in CHANNELS}


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

    def kill(self) -> None:
        self.stop()

    def exception(self) -> Exception | None:
        return self._error

    def _run(self) -> None:
        try:
            runner = LocalRunner(self._weir.directory, self._commit)
            while not self._stopping.is_set():
                if not runner.run_batch():
                    self._stopping.wait(0.1)
        except Exception as error:
            logging.exception("the engine stopped")
            self._error = error


def in_process(weir: Weir, _settings: Settings, commit: Commit, _opened: ExitStack) -> RunningQuery:
    return EngineInProcess(weir, commit)


ENGINES: dict[str, Engine] = {"process": in_process, "spark": on_spark}


def live(data: Path, port: int, smtp_port: int, interval_s: int, engine: str) -> None:
    """As polite as ever: one request at a time to a host, and a second between two."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = Settings(
        data=data,
        master="local[2]",
        tasks=2,
        port=port,
        public_url=f"http://127.0.0.1:{port}",
        allow_private=True,
        floor_s=interval_s,
        interval_s=interval_s,
        requests_per_second=1_000,
        mail_from="weir@example.org",
        smtp_host="127.0.0.1",
        smtp_port=smtp_port,
        keep_sent_days=0,
    )
    quick = Variations(
        engine=ENGINES[engine],
        sender=SenderOptions(lease_s=4, timeout_s=2, poll_s=0.1),
        retries=QUICK,
        posts_per_host=32,
    )
    with Weir.configured(settings) as weir, Installation(weir, settings, quick) as installation:
        installation.serve()
        installation.start()
        stop.wait()


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
