"""Reports about mail that could not be delivered after all, written down against their subscriptions."""

from __future__ import annotations

import logging
import mailbox
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from feedweir.catalog import Catalog, Delivery, Failure
from feedweir.deliver.bounces import bounce_of
from feedweir.deliver.parcel import parcel_key
from feedweir.errors import CatalogError, FeedweirError, SettingsError
from feedweir.keeper.looping import Loop

_log = logging.getLogger(__name__)

_LOOK_S = 60.0
_RECENT = 2_000
"""How many lines of a log are searched for a message that came back."""


def record_bounce(catalog: Catalog, report: bytes, now: datetime) -> int | None:
    """Record a report as a failure, and in the delivery log where it names a message of ours; returns the subscription,
    None when it is no report or about none of ours.

    A report is only mail, and anyone can write mail: it informs the subscriber, and ends nothing.
    """
    bounce = bounce_of(report)
    if bounce is None or bounce.subscription is None:
        return None
    try:
        record = catalog.subscriptions.with_id(bounce.subscription)
    except CatalogError:
        return None
    if record.channel != "mail":
        return None
    reason = f"returned by the mail server: {bounce.reason}"
    catalog.failures.record([Failure(kind="subscription", resource=str(record.id), at=now, reason=reason)])
    # Only who has seen the message knows its key: nobody else writes into the delivery log.
    if lines := _lines_of(catalog, record.id, bounce.key):
        catalog.deliveries.returned(lines, now, reason)
    return record.id


def _lines_of(catalog: Catalog, subscription: int, key: str) -> list[Delivery]:
    """The lines about the message of this key, which was sent of late; none when it is not to be found."""
    together: dict[datetime, list[Delivery]] = {}
    for line in catalog.deliveries.of(subscription, limit=_RECENT):
        if line.outcome == "sent":
            together.setdefault(line.at, []).append(line)
    found = (
        lines
        for lines in together.values()
        if parcel_key(subscription, [line.element_key for line in lines]) == key
    )
    return sorted(next(found, []), key=lambda line: line.id)


def read_mailbox(catalog: Catalog, path: Path, now: datetime) -> int:
    """Record the reports that are new in a Maildir, or all of an mbox file, which is emptied; how many were ours.

    What is read of a Maildir stays there, as seen. A message that dies with us is read again: a failure is told twice
    rather than not at all.
    """
    if not path.exists():
        raise SettingsError(f"there is no mailbox {path}")
    try:
        return _read_maildir(catalog, path, now) if path.is_dir() else _read_mbox(catalog, path, now)
    except (OSError, mailbox.Error) as error:
        raise SettingsError(f"the mailbox {path} cannot be read: {error}") from error


def _read_maildir(catalog: Catalog, path: Path, now: datetime) -> int:
    box, ours = mailbox.Maildir(path, create=False), 0
    for key in sorted(box.keys()):
        message = box[key]
        if message.get_subdir() == "new":
            ours += record_bounce(catalog, box.get_bytes(key), now) is not None
            message.set_subdir("cur")
            message.add_flag("S")
            box[key] = message
    return ours


def _read_mbox(catalog: Catalog, path: Path, now: datetime) -> int:
    box, ours = mailbox.mbox(path, create=False), 0
    box.lock()
    try:
        for key in sorted(box.keys()):
            ours += record_bounce(catalog, box.get_bytes(key), now) is not None
            box.remove(key)
        box.flush()
    finally:
        box.close()
    return ours


class BounceLoop(Loop):
    """Reads a mailbox now and then, in a thread."""

    def __init__(
        self, catalog: Catalog, path: Path, clock: Callable[[], datetime], *, look_s: float = _LOOK_S
    ) -> None:
        super().__init__("bounces", "reading returned mail fails")
        self._catalog = catalog
        self._path = path
        self._clock = clock
        self._look_s = look_s

    def _run(self) -> None:
        while True:
            try:
                read_mailbox(self._catalog, self._path, self._clock())
                self._standing.well()
            except (FeedweirError, OSError) as error:
                self._standing.failed(error)
                _log.exception("the next look will try again")
            if self._stopping.wait(self._look_s):
                return
