"""Notifications through any service that Apprise supports; installed with `feedweir[notify]`.

Guarantee: at least once. The services have no idempotency: if the sender dies between sending and settling, the message
is repeated. Apprise reports only whether it succeeded, so every failure is tried again; the reason is only in its log.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from feedweir.deliver.channels.channel_types import ChannelContext, ChannelType
from feedweir.deliver.render.digest import Foot, digest
from feedweir.deliver.send.parcel import Parcel
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.deliver.send.threads import Threads
from feedweir.errors import DeliveryError

_AT_ONCE = 2
_MAX_REASON = 300
_PATIENCE_S = 20.0
"""The longest wait for a response, even if the address asks for more (`rto=…`): others need the thread."""

Notify: TypeAlias = Callable[[str, str, str], bool]
"""(service URL, title, text) → whether the service accepted it."""


@dataclass(frozen=True, slots=True)
class NotifyChannel:
    """Sends the text of the digest to the service that the target's URL names."""

    notify: Notify
    newest: int = 0
    threads: Threads = field(default_factory=lambda: Threads(_AT_ONCE, "notify"))

    async def send(self, parcel: Parcel) -> None:
        destination = parcel.destination
        foot = Foot(zone=destination.zone)
        made = digest(parcel.view, destination.address, foot=foot, transformed=parcel.transformed)
        taken = await self.threads.run(self.notify, parcel.destination.target, made.subject, made.text)
        if not taken:
            raise DeliveryError("the service did not accept the notification")


def with_apprise() -> Notify | None:
    """Notifications by Apprise; None if it is not installed."""
    try:
        apprise: Any = importlib.import_module("apprise")
    except ImportError:
        return None

    def notify(url: str, title: str, text: str) -> bool:
        service = apprise.Apprise.instantiate(url)
        if service is None:
            raise DeliveryError("Apprise does not know this kind of address", is_final=True)
        service.socket_connect_timeout = min(service.socket_connect_timeout, _PATIENCE_S)
        service.socket_read_timeout = min(service.socket_read_timeout, _PATIENCE_S)
        with _warnings() as warnings:
            is_taken = bool(service.notify(title=title, body=text))
        if not is_taken and warnings:
            raise DeliveryError(f"the service did not accept the notification: {warnings[0]}"[:_MAX_REASON])
        return is_taken

    return notify


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The warnings that Apprise logs in this thread during the block."""
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


def _open(context: ChannelContext, stack: ExitStack) -> NotifyChannel | None:
    """None unless the operator allows it and Apprise is installed."""
    notify = with_apprise() if context.settings.notify else None
    return None if notify is None else NotifyChannel(notify)


CHANNEL = ChannelType(open=_open, retry=RetryPolicy(first_s=30, attempts=6), at_once=_AT_ONCE)
