"""What is remembered of a source between two looks. It survives restarts; nothing else has to."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field, is_dataclass
from datetime import datetime
from typing import Any

from feedweir.acquire.exchange import Validators
from feedweir.acquire.refresh.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the document itself asks of its readers."""

    ttl_s: int = 0
    skip_hours: tuple[int, ...] = ()
    """Hours of the day in UTC."""
    skip_days: tuple[int, ...] = ()
    """Monday is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """One source: where it is, what we know of it, when to look next."""

    source: str
    url: str
    next_at: datetime
    not_before: datetime | None = None
    """What the server and the document allow; learning may move `next_at`, but not before this."""
    validators: Validators = field(default_factory=Validators)
    looked_at: datetime | None = None
    """The last look that succeeded, changed or not."""
    failures: int = 0
    """In a row."""
    failure: str = ""
    """The last look's failure, empty when it went well."""
    is_unreadable: bool = False
    """The last document was no feed; as long as it does not change, looking again is failing again."""
    is_stopped: bool = False
    """The publisher said 410; a person may start it again."""
    page: str = ""
    """The page that was registered, when its feed was found on it."""
    moved_to: str = ""
    """Where a permanent redirect led once; a second sighting makes it the address."""
    hosts: tuple[str, ...] = ()
    """Every host the last look had to ask."""
    pushed_until: datetime | None = None
    """Until then a hub brings what is new (`websub.pushed_until`), and looks are only a precaution."""
    pushed_since: datetime | None = None
    """When the hub began to: what was published between the last look before and then only a look can find."""
    every_s: float = 0.0
    """How often its registration wants it looked at; 0 leaves that to the policy."""
    id_path: str = ""
    """Where its registration says that its items name their ids."""
    hints: Hints = Hints()
    history: History = field(default_factory=History)
    subscribers: int = 1


def to_json(state: SourceState) -> str:
    """A state as text, for whoever keeps it."""
    return json.dumps(state, default=_plain, sort_keys=True, separators=(",", ":"))


def from_json(text: str) -> SourceState:
    """The state that `to_json` wrote; fields that an older version did not know have their defaults."""
    fields: dict[str, Any] = _with_tuples(json.loads(text))
    for name in ("next_at", "not_before", "looked_at", "pushed_until", "pushed_since"):
        if fields.get(name):
            fields[name] = datetime.fromisoformat(fields[name])
    fields["validators"] = Validators(**fields.get("validators", {}))
    fields["hints"] = Hints(**_with_tuples(fields.get("hints", {})))
    history: dict[str, Any] = {name: _decoded(value) for name, value in fields.get("history", {}).items()}
    if len(history.get("factors", b"")) != len(History().factors):
        # Tables of another grain, from an older version: the next fit makes new ones.
        history.pop("factors", None)
    fields["history"] = History(**history)
    return SourceState(**fields)


def _with_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode("ascii")}
    if is_dataclass(value):
        # Not `asdict`: its deep copies cost more than all the rest of remembering a look.
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    raise TypeError(f"{type(value).__name__} has no place in a source's state")


def _decoded(value: Any) -> Any:
    return b64decode(value["base64"]) if isinstance(value, dict) else value
