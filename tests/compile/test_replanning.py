"""A plan is made anew while the pipeline runs: the next batch takes it up, and nothing is lost or repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from feedweir.compile.plan_store import plan_in_force
from feedweir.compile.plans import Plans
from feedweir.optimize.filter_plans.drift import ReplanPolicy
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

WORDS = ("sun", "rain", "wind", "hail", "fog", "snow")
FEEDS = {f"F{one}{other}": (one, other) for one in range(6) for other in range(one + 1, 6)}
EAGER = ReplanPolicy(threshold=0.05, horizon_s=1e18, min_interval_s=0.0)
Advance = Callable[[], object]
Engine = Callable[[Weir], "contextmanager[Advance]"]


@contextmanager
def in_process(weir: Weir) -> Iterator[Advance]:
    yield LocalRunner(weir.directory, weir.commit, tasks=2).run_available


def on_spark(session: SparkSession) -> Callable[[Weir], object]:
    @contextmanager
    def engine(weir: Weir) -> Iterator[Advance]:
        from feedweir.spark.pipeline import start_pipeline

        query = start_pipeline(session, weir.directory, weir.commit, tasks=2)
        try:
            yield query.processAllAvailable
        finally:
            query.stop()

    return engine


def document(number: int, titles: list[str]) -> bytes:
    entries = "".join(
        f"<item><guid>{number}-{place}</guid><title>{title}</title></item>"
        for place, title in enumerate(titles)
    )
    return f'<rss version="2.0"><channel><title>x</title>{entries}</channel></rss>'.encode()


def titles_of(number: int, frequent: int) -> list[str]:
    """Items that nearly all have one word, and one other each."""
    return [f"{WORDS[frequent]} {WORDS[(number + place) % 6]} {number}" for place in range(30)]


@pytest.mark.parametrize("kind", ["in process", "on spark"])
def test_a_plan_made_anew_is_taken_up_by_the_next_batch(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    engine = in_process if kind == "in process" else on_spark(request.getfixturevalue("spark"))
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    with Weir.open(tmp_path, clock=lambda: now[0]) as weir:
        weir.plans = Plans(weir.catalog, weir.directory, lambda: now[0], EAGER)
        weir.execute("register feed http://x.org/a as A")
        conditions = {name: [f"title contains '{WORDS[w]}'" for w in words] for name, words in FEEDS.items()}
        weir.execute(
            ";".join(f"create feed {name} from A where {' and '.join(c)}" for name, c in conditions.items())
        )
        weir.refresh_set()
        published: list[str] = []
        plans = {plan_in_force(weir.directory.plans)}
        with engine(weir) as advance:  # type: ignore[attr-defined]
            for number in range(3):
                titles = titles_of(number, frequent=0 if number < 1 else 5)
                weir.push("A", document(number, titles))
                now[0] += timedelta(hours=1)
                advance()
                weir.tidy()
                published += titles
                plans.add(plan_in_force(weir.directory.plans))
        assert len(plans) > 1, "a plan was made anew"
        assert len({manifest.version for manifest in weir.store.manifests()}) > 1
        for name, (one, other) in FEEDS.items():
            found = [item.title for item in weir.items(name, 1_000)]
            wanted = [t for t in published if WORDS[one] in t.split() and WORDS[other] in t.split()]
            assert sorted(found) == sorted(wanted)
