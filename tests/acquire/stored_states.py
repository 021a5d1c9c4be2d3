"""States of sources as the catalog gives them back."""

from __future__ import annotations

from dataclasses import replace

from feedweir.acquire.refresh.source_state import SourceState, saved, state_of
from feedweir.catalog import FetchState, SourceRecord


def read_back(state: SourceState) -> SourceState:
    new = FetchState(feed_id=1, url=state.url, next_check_at=state.next_at)
    record = SourceRecord(name=state.source, owner="", state=new)
    return state_of(replace(record, state=saved(record, state)))
