"""A merge arranges queries by what was observed when it was made, not by what the merged segments were made with."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from feedweir.compile import merges as merging
from feedweir.compile.recent_frequencies import RecentFrequencies
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Frequencies, apply_changes, prepare_merge, write_version
from feedweir.pipeline.sets import change_set, install_set, open_installed, unplanned
from feedweir.plan.predicates import And, Compare, Contains, Predicate, Term
from feedweir.plan.query import Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ITEM = Item(source="a", identity="1", title="storm at the coast", arrived=NOW)
STORMS = Frequencies(100, {"storm": 90, "coast": 2})
COASTS = Frequencies(100, {"storm": 2, "coast": 90})


def both(key: int, *more: Predicate) -> Query:
    words = [Contains(None, (Term(text),), 1) for text in ("storm", "coast")]
    return Query(key, (), And((*words, *more)))


ASKED = [both(1), both(2, Compare("revision", "<", 5))]
"""By columns, and by a formula."""


def finders(compiled: Any) -> list[str]:
    return [compiled.explain(ITEM, query.key).candidate_by for query in ASKED]


@pytest.mark.parametrize(("seen", "rare"), [(STORMS, "coast"), (COASTS, "storm")])
def test_after_a_merge_queries_are_found_by_what_was_seen_least(
    tmp_path: Path, seen: Frequencies, rare: str
) -> None:
    other = COASTS if seen is STORMS else STORMS
    before = write_version(tmp_path / "set", 1, ASKED[:1], frequencies=other)
    changed = apply_changes(tmp_path / "set", ASKED[1:], frequencies=other)
    merged = apply_changes(tmp_path / "set", prepared=prepare_merge(tmp_path / "set", frequencies=seen))
    assert len(merged.segments) == 1
    assert all(rare not in name for name in finders(changed))
    assert all(rare in name for name in finders(merged))
    assert len(before.match(batch_of([ITEM]))) == 1
    assert len(merged.match(batch_of([ITEM]))) == len(changed.match(batch_of([ITEM]))) == 2


class Looking:
    """The newest items, as somebody saw them in another thread."""

    def __init__(self, seen: Frequencies) -> None:
        self.seen = seen
        self.looked_in: list[str] = []

    def observe(self) -> Frequencies:
        self.looked_in.append(threading.current_thread().name)
        return self.seen


def test_a_merge_beside_the_batches_looks_at_the_newest_items_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "is_worth_merging", lambda segments: True)
    install_set(tmp_path, 1, ASKED, frequencies=COASTS)
    change_set(tmp_path, 1, 2, [both(3)], [], frequencies=COASTS)
    merges, looking = merging.Merges(), Looking(STORMS)
    assert merges.begin(tmp_path, 2, unplanned, cast(RecentFrequencies, looking))
    merges.wait()
    change_set(tmp_path, 2, 3, [], [], prepared=merges.take())
    assert all("storm" in name for name in finders(open_installed(tmp_path, 2)))
    assert all("coast" in name for name in finders(open_installed(tmp_path, 3)))
    assert looking.looked_in == ["merge"]
