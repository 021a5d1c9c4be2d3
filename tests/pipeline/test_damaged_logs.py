"""What happens when files of the logs are missing or damaged: told, passed over, made again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from feedweir.acquire.parse.document_budget import NO_BOUND
from feedweir.acquire.parse.parse_process import ParseProcess
from feedweir.logs.landing import Landed
from feedweir.pipeline.audit import damages_in
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.acquire.test_parse_process import HOSTILE, rss
from tests.engines import NOON, land, open_weir, published
from tests.join.stories import Shown

STATEMENTS = """
register feed http://example.org/post as Post;
create feed Water from Post as $r where $r[title contains 'river'];
"""


def test_a_missing_and_a_damaged_landing_segment_are_passed_over_and_told(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        for guid in range(4):
            land(weir, [Shown("Post", ((guid, f"river {guid}"),))])
        weir.log.path(2).unlink()
        weir.log.path(3).write_bytes(weir.log.path(4).read_bytes())
        assert weir.run() == 1
        assert [title for *_, title in published(weir)["Water"]] == ["river 0", "river 3"]
        newest = weir.store.manifests()[0]
        assert newest.doubts == ("landing/000000000002.parquet", "landing/000000000003.parquet")


JOINED = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
create feed Water from Post as $r where $r[title contains 'river'];
create feed Once from distinct (Post | Crier);
create feed Echo from Post as $p join last 10 days on Crier as $c with $p[title similar window.title];
"""
DAMAGES: dict[str, Callable[[Path], object]] = {
    "delete": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "truncate": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flip": lambda path: path.write_bytes(_flipped(path.read_bytes())),
}
LOGS = ("items", "elements", "annotations", "seen", "batches", "landing")


def _flipped(data: bytes) -> bytes:
    place = len(data) // 3
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    with open_weir(directory, JOINED) as weir:
        for guid in range(3):
            shown = ((guid, f"river otter {guid}"),)
            land(weir, [Shown("Post", shown), Shown("Crier", shown)])
            weir.run()
    return directory


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("place", [0, -1])
def test_a_damaged_file_is_told_by_name_and_the_rest_is_read(
    installation: Path, tmp_path: Path, log: str, damage: str, place: int
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(installation, directory)
    path = sorted((directory / log).glob("[0-9]*"))[place]
    DAMAGES[damage](path)
    with Weir.open(directory, clock=lambda: NOON) as weir:
        found = damages_in(weir.directory, weir.store, weir.log)
        assert str(path.relative_to(directory)) in found
        published(weir)
        land(weir, [Shown("Post", ((8, "river eight"), (1, "river otter 1")))])
        weir.run()
        assert [title for *_, title in published(weir)["Water"]][-1] == "river eight"
        titles = [title for *_, title in published(weir)["Post"]]
        assert len(titles) == len(set(titles)), "nothing comes twice"


def files_of(log: Path) -> list[Path]:
    """The files of a log, without those of its Delta table, which follows it."""
    return [path for path in log.rglob("*") if path.is_file() and "_delta_log" not in path.parts]


def contents(directory: Path) -> dict[str, bytes]:
    """The bytes of all files, but for who published a batch, which is lost with its manifest."""
    logs = (*LOGS, "made", "joins")
    paths = (path for log in logs for path in files_of(directory / log))
    found = {str(path.relative_to(directory)): path.read_bytes() for path in paths}
    return {name: _by_nobody(data) if name.startswith("batches/0") else data for name, data in found.items()}


def _by_nobody(manifest: bytes) -> bytes:
    value = json.loads(manifest)
    return json.dumps({name: value[name] for name in value if name not in ("epoch", "seal")}).encode()


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("log", [*LOGS[:-1], "joins"])
@pytest.mark.parametrize("place", [0, -1])
def test_what_is_damaged_is_made_again_to_the_same_bytes(
    installation: Path, tmp_path: Path, log: str, damage: str, place: int
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(installation, directory)
    DAMAGES[damage](sorted(files_of(directory / log))[place])
    with Weir.open(directory, clock=lambda: NOON) as weir:
        weir.repair_logs()
        assert weir.damages() == {}
    assert contents(directory) == contents(installation)


PAIRS = f"""{JOINED}
SELECT <pair>{{$a}}</pair> FROM Post//item[title->a] JOIN{{a=b, 3 days}} Crier//item[title->b] PUBLISH Pairs;
"""


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every pair has its parts in two batches."""
    directory = tmp_path_factory.mktemp("paired")
    with open_weir(directory, PAIRS) as weir:
        for guid in range(3):
            for source in ("Post", "Crier"):
                land(weir, [Shown(source, ((guid, f"river otter {guid}"),))])
                weir.run()
        assert len(weir.items("Pairs")) == 3
    return directory


@pytest.mark.parametrize("log", ["items", "batches"])
def test_what_was_made_of_a_damaged_item_is_left_out_and_the_rest_is_read(
    paired: Path, tmp_path: Path, log: str
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(paired, directory)
    sorted((directory / log).glob("[0-9]*"))[0].unlink()
    with Weir.open(directory, clock=lambda: NOON) as weir:
        assert len(weir.items("Pairs")) == 2
        weir.repair_logs()
        assert len(weir.items("Pairs")) == 3


def test_a_missing_file_of_the_history_of_joins_is_told_and_made_again(paired: Path, tmp_path: Path) -> None:
    names = sorted(str(path.relative_to(paired)) for path in (paired / "joins").rglob("*.arrow"))
    for number, name in enumerate(names):
        directory = tmp_path / str(number)
        shutil.copytree(paired, directory)
        (directory / name).unlink()
        with Weir.open(directory, clock=lambda: NOON) as weir:
            assert weir.damages() == {name: "it is missing"}
            weir.repair_logs()
        assert contents(directory) == contents(paired)


@pytest.mark.parametrize("log", ["items", "elements", "seen", "batches", "landing", "joins"])
def test_damage_to_the_mark_of_a_checksum_is_damage(paired: Path, tmp_path: Path, log: str) -> None:
    directory = tmp_path / "data"
    shutil.copytree(paired, directory)
    paths = sorted(path for path in (directory / log).rglob("[0-9s]*") if path.is_file())
    path = paths[0]
    data, mark = path.read_bytes(), b', "seal": "' if path.suffix == ".json" else b"feedweir-seal:"
    first = data.rindex(mark)
    for place in range(first, first + len(mark)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with Weir.open(directory, clock=lambda: NOON) as weir:
            assert list(weir.damages()) == [str(path.relative_to(directory))], place


def test_a_document_that_takes_longer_than_the_usual_bound_is_read_again_and_not_quarantined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read under a larger one, which whoever repairs does not know."""
    patient = ParseProcess(NO_BOUND, HOSTILE)
    monkeypatch.setattr(
        "feedweir.pipeline.rebuild.parse_process", lambda allowance: ParseProcess(allowance, HOSTILE)
    )
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        weir.log.append([Landed(source="Post", arrived=NOON, body=rss("river spin:6"))])
        LocalRunner(weir.directory, weir.commit, parser=patient).run_available()
        patient.end()
        before = contents(tmp_path)
        next((tmp_path / "items").glob("*.parquet")).unlink()
        weir.repair_logs()
        assert contents(tmp_path) == before
        assert not weir.quarantine.waiting()
