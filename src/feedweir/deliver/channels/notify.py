"""Notifications by Apprise, for the many services it speaks; installed with `feedweir[notify]`.

Guarantee: at least once. The services have no idempotency: a sender that dies between sending and settling repeats the
message. Apprise says only whether it succeeded, so every failure is tried again; why it failed is in its log alone.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from feedweir.deliver.digest import Foot, digest
from feedweir.deliver.parcel import Parcel
from feedweir.deliver.threads import Threads
from feedweir.errors import DeliveryError

_MAX_REASON = 300
_PATIENCE_S = 20.0
"""For an answer, whatever the address asks for (`rto=…`): others wait for the thread."""

Notify: TypeAlias = Callable[[str, str, str], bool]
"""(service URL, title, text) → whether the service took it."""


@dataclass(frozen=True, slots=True)
class NotifyChannel:
    """Sends the text of the digest to the service that the target's URL names."""

    notify: Notify
    newest: int = 0
    threads: Threads = field(default_factory=lambda: Threads(2, "notify"))

    async def send(self, parcel: Parcel) -> None:
        destination = parcel.destination
        foot = Foot(zone=destination.zone)
        made = digest(parcel.view, destination.address, foot=foot, transformed=parcel.transformed)
        taken = await self.threads.run(self.notify, parcel.destination.target, made.subject, made.text)
        if not taken:
            raise DeliveryError("the service did not take the notification")


def with_apprise() -> Notify | None:
    """Notifying by Apprise; None where it is not installed."""
    try:
        apprise: Any = importlib.import_module("apprise")
    except ImportError:
        return None

    def notify(url: str, title: str, text: str) -> bool:
        service = apprise.Apprise.instantiate(url)
        if service is None:
            raise DeliveryError("this is not an address that Apprise knows", is_final=True)
        service.socket_connect_timeout = min(service.socket_connect_timeout, _PATIENCE_S)
        service.socket_read_timeout = min(service.socket_read_timeout, _PATIENCE_S)
        with _warnings() as warnings:
            is_taken = bool(service.notify(title=title, body=text))
        if not is_taken and warnings:
            raise DeliveryError(f"the service did not take the notification: {warnings[0]}"[:_MAX_REASON])
        return is_taken

    return notify


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """What Apprise logs meanwhile in this thread: others may be notifying at the same time."""
    found: list[str] = []
    thread = threading.get_ident()

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread:
                found.append(record.getMessage())

    handler = Noting(logging.WARNING)
    logger = logging.getLogger("apprise")
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
