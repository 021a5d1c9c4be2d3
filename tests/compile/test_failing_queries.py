"""A query that cannot be judged is named to the operator, with the reason, and the others are answered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.match.sets import compiled_set as compiled
from feedweir.plan.predicates import Predicate
from feedweir.service.installation import Weir

RSS = b"""<rss version="2.0"><channel><title>A</title>
<item><guid>1</guid><title>a storm at the coast</title></item></channel></rss>"""


def test_a_feed_that_fails_on_an_item_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(predicate: Predicate, reading: Reading) -> bool:
        if "Similar" in repr(predicate):
            raise RuntimeError("the meaning of this was lost")
        return holds(predicate, reading)

    monkeypatch.setattr(compiled, "holds", failing)
    with Weir.open(tmp_path / "data", clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)) as weir:
        weir.execute(
            "register feed http://a.example/feed as A;"
            "create feed odd from A where title similar 'storm coast' at least 0.1;"
            "create feed plain from A where title contains 'storm';"
        )
        weir.push("A", RSS)
        weir.run()
        failures = weir.catalog.failures.latest()
        assert [(one.resource, one.reason) for one in failures if one.kind == "feed"] == [
            ("odd", "RuntimeError: the meaning of this was lost")
        ]
        assert len(weir.items("plain")) == 1
