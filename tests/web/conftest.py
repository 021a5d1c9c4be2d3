"""A real server on a port of its own, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest

from feedweir.web.app import create_app
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import NOON, MemoryBackend, an_item
from tests.web.web_client import Client


@pytest.fixture
def backend() -> MemoryBackend:
    shelf = MemoryBackend()
    shelf.put("RiverPost", [an_item(seq) for seq in (3, 2, 1)], kind="source", title="The River Post")
    shelf.put("HighWater", [an_item(3)], definition="create feed HighWater from RiverPost;")
    return shelf


@pytest.fixture
def client(backend: MemoryBackend) -> Iterator[Client]:
    app = create_app(backend, clock=lambda: NOON + timedelta(minutes=1))
    with WebServer(app) as server:
        yield Client(server.port)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Debian's browser, installed when it is absent and we may."""
    found = shutil.which("chromium")
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        install = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium"
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["sh", "-c", install], env=environment, capture_output=True, timeout=500, check=False)
        found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed, and only root with apt-get can install it here")
    return found
