"""What SQL alone cannot do in a migration: functions by the step after whose statements they run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from feedweir.catalog.columns import canonical_json, cleaned, microseconds

_MOMENTS = ("not_before", "pushed_until", "pushed_since")
_TEXTS = ("failure", "page")
_AT_ONCE = 1_000


def _source_columns(connection: Connection) -> None:
    """Until this step all that was known of a source was one JSON text inside another."""
    rows = connection.execute(text("SELECT feed_id, refresh FROM source ORDER BY feed_id")).all()
    names = tuple(_columns({}))
    changes = ", ".join(f"{name} = :{name}" for name in names)
    statement = text(f"UPDATE source SET {changes} WHERE feed_id = :feed_id")
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        connection.execute(
            statement, [{"feed_id": row.feed_id, **_columns(json.loads(row.refresh))} for row in some]
        )


def _columns(refresh: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a source, as both databases keep them, from its `refresh`."""
    state = json.loads(refresh.get("state") or "{}")
    validators, hints = state.get("validators", {}), state.get("hints", {})
    return {
        "validated_url": cleaned(validators.get("url", "")),
        "body_hash": validators.get("body_hash", ""),
        "is_unreadable": int(state.get("is_unreadable", False)),
        "hosts": canonical_json(state.get("hosts", [])),
        "every_s": float(refresh.get("every_s", 0.0)),
        "id_path": cleaned(str(refresh.get("id_path", ""))),
        "ttl_s": int(hints.get("ttl_s", 0)),
        "skip_hours": canonical_json(hints.get("skip_hours", [])),
        "skip_days": canonical_json(hints.get("skip_days", [])),
        "history": canonical_json(state.get("history", {})),
        "hub": cleaned(str(refresh.get("hub", ""))),
        "lease": canonical_json(refresh.get("lease") or {}),
        "imported_from": canonical_json(refresh.get("imported_from", [])),
        **{name: cleaned(state.get(name, "")) for name in _TEXTS},
        **{name: _moment(state.get(name)) for name in _MOMENTS},
    }


def _moment(value: str | None) -> int | None:
    return microseconds(datetime.fromisoformat(value)) if value else None


CONVERSIONS: dict[str, Callable[[Connection], None]] = {"0011_source_columns": _source_columns}
