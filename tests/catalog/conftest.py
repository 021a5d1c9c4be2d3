"""One set of test bodies, both databases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from feedweir.catalog import Catalog, open_catalog
from tests.postgres import PostgresServer, running_server

NewDatabase = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> NewDatabase:
    """Makes the URL of an empty database, another one each time."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.new_database
    numbers = itertools.count(1)
    return lambda: f"sqlite:///{tmp_path}/catalog_{next(numbers)}.db"


@pytest.fixture
def url(new_database: NewDatabase) -> str:
    return new_database()


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    with open_catalog(url) as opened:
        yield opened
