"""What `feedweir run` does: everything that it takes is imported here, and by no other command."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Mapping
from pathlib import Path

import typer

from feedweir import __version__
from feedweir.acquire.fetch.hosts import HostRules
from feedweir.cli.context import wait_for
from feedweir.config import Settings
from feedweir.health.log_setup import log_to_stderr
from feedweir.health.memory import share_pools
from feedweir.kernels.warm_up import warm_up
from feedweir.logs.disk_errors import ensure_open_files
from feedweir.sample.origin import Origin
from feedweir.sample.sample_statements import sample_statements
from feedweir.service.composition import Installation, Variations
from feedweir.service.installation import Weir
from feedweir.storage import Place, below, is_store

SAMPLE_SETTINGS: Mapping[str, object] = {
    "allow_private": True,
    "floor_s": 1,
    "interval_s": 5,
    "refresh": "fixed",
}
"""The sample feeds are served on this machine and publish something every minute."""
_SAMPLE = Variations(hosts=HostRules(max_concurrent=4, spacing_s=0.05, max_per_day=10_000_000))


def serve(settings: Settings, *, is_sample: bool, command: str) -> None:
    """Run everything until SIGINT or SIGTERM. `command` is how other commands for this installation begin."""
    log_to_stderr(settings.log_level)
    # A batch that fails is reported by the daemon in one line; Py4J would add its traceback.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    ensure_open_files()
    share_pools()
    warm_up(spare=None if is_store(settings.data) else Path(settings.data) / "kernels")
    stop = threading.Event()
    _stop_on_signals(stop)
    with (
        Weir.configured(settings) as weir,
        Installation(weir, settings, _SAMPLE if is_sample else None) as running,
    ):
        if is_sample:
            running.at_end(_start_sample(weir, settings.sample_port).stop)
        running.service.when_displaced(stop.set)
        running.serve()
        _announce(running.server.url, weir, command)
        running.start()
        # Spark has replaced the signal handlers.
        _stop_on_signals(stop)
        wait_for(stop)
        typer.echo("Stopping: finishing work in progress …")
    if running.service.displaced:
        raise running.service.displaced
    typer.echo(f"Stopped. `{command} run{' --sample' if is_sample else ''}` continues where this left off.")


def _stop_on_signals(stop: threading.Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())


def _start_sample(weir: Weir, port: int) -> Origin:
    """The port is the same each time, so that the sources registered the first time keep working."""
    origin = Origin(weir.clock, port=port)
    origin.start()
    if not weir.catalog.feeds.all(limit=1):
        weir.execute(sample_statements(origin.urls))
    return origin


def _announce(url: str, weir: Weir, command: str) -> None:
    feeds = weir.catalog.feeds.all(kind="virtual", limit=3)
    examples = "".join(f"\n    {url}/feeds/{feed.name}.atom" for feed in feeds)
    typer.echo(
        f"Feedweir {__version__} is starting; Spark takes some seconds.\n"
        f"  Open        {url}/{examples}\n"
        f"  Data in     {_short(weir.directory.root)}\n"
        f'  Try         {command} exec "show feeds"\n'
        f"  Stop with   Ctrl-C"
    )


def _short(path: Place) -> str:
    return below(Path.cwd(), path) if str(path).startswith(f"{Path.cwd()}/") else str(path)
