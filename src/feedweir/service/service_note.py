"""`service.json`: the state of the running process, for commands in other processes."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from typing import Any

from feedweir.config import Settings
from feedweir.health.standstill import Bounds, Signs, Trouble
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.pipeline.charge import is_running
from feedweir.storage import Place, own_place, replacing

FILE_NAME = "service.json"


def bounds_in(settings: Settings) -> Bounds:
    """After how long work counts as stalled."""
    return Bounds(late=timedelta(seconds=settings.stalled_after_s))


def write_note(root: Place, signs: Signs) -> None:
    note = {
        "pid": os.getpid(),
        "started": _text(signs.started),
        "published": _text(signs.published),
        "is_running": signs.is_running,
        "restarts": signs.restarts,
        "failed": _trouble_text(signs.failed) if signs.failed else None,
        "troubles": [_trouble_text(one) for one in signs.troubles],
    }
    with replacing(own_place(root) / FILE_NAME, is_synced=False) as file:
        file.write(json.dumps(note, ensure_ascii=False, indent=1).encode())


def signs_from_outside(root: Place, log: LandingLog, store: Store) -> Signs:
    """The state as seen from another process: by the logs, and by the note while its writer is running."""
    waiting = waiting_since(log, store)
    if not is_running(root):
        return Signs(started=None, is_running=False, waiting_since=waiting)
    try:
        note: dict[str, Any] = json.loads((own_place(root) / FILE_NAME).read_text(encoding="utf-8"))
        return Signs(
            started=_time(note["started"]),
            published=_time(note["published"]),
            is_running=bool(note["is_running"]),
            restarts=int(note["restarts"]),
            failed=_trouble(note["failed"]) if note["failed"] else None,
            troubles=tuple(map(_trouble, note["troubles"])),
            waiting_since=waiting,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Signs(started=None, waiting_since=waiting)


def waiting_since(log: LandingLog, store: Store) -> datetime | None:
    """When the oldest unpublished segment landed."""
    published = store.latest()
    if log.latest() <= published:
        return None
    try:
        landed = log.path(published + 1).stat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(landed).astimezone()


def _trouble_text(trouble: Trouble) -> dict[str, str]:
    return {"what": trouble.what, "since": trouble.since.isoformat(), "error": trouble.error}


def _trouble(value: dict[str, str]) -> Trouble:
    return Trouble(
        what=value["what"], since=datetime.fromisoformat(value["since"]), error=str(value["error"])
    )


def _text(time: datetime | None) -> str | None:
    return time.isoformat() if time else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
