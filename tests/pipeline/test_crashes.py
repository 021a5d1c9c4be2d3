"""A crash at any moment a file appears: nothing is lost, nothing is doubled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.pipeline.compaction import tidy
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import NOON, Feeds, land, naive, open_weir, published
from tests.join.stories import STATEMENTS, Shown, cut, histories


class Crash(BaseException):
    """The process is gone: nobody catches this but the test."""


class Countdown:
    """Lets some renames happen and crashes before or after the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.happens_first = False
        for owner, name in ((os, "rename"), (os, "replace"), (Path, "replace")):
            monkeypatch.setattr(owner, name, self._around(getattr(owner, name)))

    def _around(self, rename: Callable[..., Any]) -> Callable[..., Any]:
        def renaming(*arguments: Any) -> Any:
            if self.left is None:
                return rename(*arguments)
            self.left -= 1
            if self.left >= 0:
                return rename(*arguments)
            self.left = None
            if self.happens_first:
                rename(*arguments)
            raise Crash

        return renaming


def run_with_crashes(
    directory: Path, history: list[Shown], crashes: list[tuple[int, bool]], countdown: Countdown
) -> Feeds:
    """Land and run a history bit by bit; after each crash a new process would start from the files alone."""
    open_weir(directory, STATEMENTS).close()
    batches = cut(history, 3)
    landed = 0
    while True:
        countdown.left, countdown.happens_first = crashes.pop() if crashes else (None, False)
        try:
            with Weir.open(directory, clock=lambda: NOON) as weir:
                landed = weir.log.latest()
                weir.refresh_set()
                runner = LocalRunner(weir.directory, weir.commit, tasks=2)
                runner.run_available()
                for documents in batches[landed:]:
                    land(weir, documents)
                    runner.run_available()
                tidy(weir.directory, weir.store)
                countdown.left = None
                return published(weir)
        except Crash:
            continue


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories, st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=6))
def test_a_crash_at_any_rename_loses_nothing_and_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch, history: list[Shown], crashes: list[tuple[int, bool]]
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        expected = naive(Path(first), STATEMENTS, [history])
        with pytest.MonkeyPatch.context() as patch:
            found = run_with_crashes(Path(second), history, list(crashes), Countdown(patch))
        assert found == expected


def test_every_delivery_is_made_once_whatever_crashes(tmp_path: Path) -> None:
    history = [Shown("Post", ((number, "river"),)) for number in range(9)]
    for left in range(0, 40, 3):
        directory = tmp_path / str(left)
        with open_weir(directory, STATEMENTS) as weir:
            subscription = subscribe(weir)
        with pytest.MonkeyPatch.context() as patch:
            countdown = Countdown(patch)
            countdown.left = left
            resume_until_done(directory, history)
        with Weir.open(directory, clock=lambda: NOON) as weir:
            entries = weir.catalog.outbox.entries(subscription_id=subscription)
            assert sorted(entry.element_key for entry in entries) == sorted(f"Post\n{n}" for n in range(9))


def subscribe(weir: Weir) -> int:
    from feedweir.catalog import NewSubscription

    return weir.catalog.subscriptions.add(
        NewSubscription(
            feed="Water",
            statement="",
            channel="mail",
            target="ann@example.org",
            options={"backlog": True},
            created_at=NOON,
        )
    )


def resume_until_done(directory: Path, history: list[Shown]) -> None:
    while True:
        try:
            with Weir.open(directory, clock=lambda: NOON) as weir:
                for documents in cut(history, 3)[weir.log.latest() :]:
                    land(weir, documents)
                    weir.run()
                weir.run()
                return
        except Crash:
            continue
