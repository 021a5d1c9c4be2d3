"""What the whole suite shares: how long property tests search, one Spark session, started when a test asks for it, and
the look at what was compiled meanwhile.

`make test` draws the same examples every time, so that a change fails for what it changed; `make nightly` draws new
ones, and `DEPTH` times as many, but for tests that are only for the night and have all they need.

Every process writes down what it compiles because Python asked for it. Nothing may be compiled that is not listed; and
nothing at all, when all that is listed was compiled before (`make test` sees to that).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from feedweir.kernels.compilation import missing
from feedweir.kernels.compile_notices import compiled_in
from feedweir.kernels.declare import directory_in_use
from feedweir.kernels.kernel_files import SETTING, chosen_place
from feedweir.kernels.signatures import Signature, entry_of, not_listed

DEPTH = 10
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("deep", deadline=None)
settings.load_profile(PROFILE)

WARM_FROM = pytest.StashKey[int | None]()
"""How much had been compiled when the tests began with all that is listed; None when some of that was missing."""


def pytest_configure(config: pytest.Config) -> None:
    os.environ[SETTING] = str(chosen_place())  # whatever a test makes of HOME
    if not hasattr(config, "workerinput"):
        config.stash[WARM_FROM] = None if missing() else len(compiled_in(directory_in_use()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and _compiled_meanwhile(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if found := _compiled_meanwhile(config):
        terminalreporter.section("compiled while tests ran", red=True)
        terminalreporter.line("\n".join(map(str, found)))
        terminalreporter.line(
            "`python -m feedweir.kernels.signatures` lists them, so that they are compiled ahead"
        )


def _compiled_meanwhile(config: pytest.Config) -> list[Signature]:
    asked = compiled_in(directory_in_use())
    warm_from = config.stash[WARM_FROM]
    new = asked[warm_from:] if warm_from is not None else ()
    return sorted({*not_listed(asked), *map(entry_of, new)})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    deepened = set()  # a test with parameters is several items and one function
    for item in items if PROFILE == "deep" else ():
        test = getattr(item, "obj", None)
        function = getattr(test, "__func__", test)
        chosen = getattr(test, "_hypothesis_internal_use_settings", None)
        is_nightly = item.get_closest_marker("nightly") is not None
        if isinstance(chosen, settings) and not is_nightly and function not in deepened:
            deepened.add(function)
            deeper = settings(chosen, max_examples=DEPTH * chosen.max_examples)
            setattr(function, "_hypothesis_internal_use_settings", deeper)  # noqa: B010


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from feedweir.spark.session import open_session

    session = open_session("local[2]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
