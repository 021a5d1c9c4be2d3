"""Installations that tests of the command line begin with, made once and copied."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedweir import Weir
from tests.cli.test_commands import Shell

NEWS = b"""<rss version='2.0'><channel><title>P</title>
<item><guid>g-3</guid><title>River falls again</title><link>http://example.org/3</link>
<pubDate>Wed, 08 Jul 2026 10:00:00 GMT</pubDate></item>
<item><guid>g-2</guid><title>Market day</title><link>http://example.org/2</link>
<pubDate>Tue, 07 Jul 2026 10:00:00 GMT</pubDate></item>
<item><guid>g-1</guid><title>River [rises]</title><link>http://example.org/1</link>
<pubDate>Mon, 06 Jul 2026 10:00:00 GMT</pubDate></item>
</channel></rss>"""
STATEMENTS = """
register feed http://example.org/p as Post;
create feed Water for 'acme/ann' from Post where title contains 'river';
create feed Trade for 'acme/bob' from Post where title contains 'market';
"""


@pytest.fixture(scope="session")
def _installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("installation") / "data"
    with Weir.open(data) as weir:
        weir.execute(STATEMENTS)
        weir.push("Post", NEWS)
        weir.run()
    return data


@pytest.fixture
def newsroom(
    _installation: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Shell:
    """Three items from one source, two feeds of two owners, in `data`, which is the default."""
    shutil.copytree(_installation, tmp_path / "data")
    return Shell(capsys, monkeypatch, tmp_path)


@pytest.fixture
def until_asked_to_stop() -> Iterator[None]:
    """Commands that run until Ctrl-C put handlers of their own in place."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)
