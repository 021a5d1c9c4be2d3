"""Data directories as older versions left them, packed: each had lived through half of the small world, with documents
landed that no batch had read and deliveries that nobody had sent.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden import house
from tests.golden.worlds import small_world

PLACE = Path(__file__).parent / "recorded" / "installations"
_SUFFIX = ".tar.xz"
_RUN = 2
"""Steps that the installations have run; of one more the documents have landed."""


def names() -> list[str]:
    return sorted(path.name.removesuffix(_SUFFIX) for path in PLACE.glob(f"*{_SUFFIX}"))


def pack(name: str) -> None:
    """As this version writes it, under a new name: what older versions wrote cannot be written again."""
    world = small_world()
    PLACE.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory:
        with house.open_house(Path(directory), house.in_process) as one:
            for step in world.steps[:_RUN]:
                one.live(step)
            one.land(world.steps[_RUN])
        with tarfile.open(PLACE / f"{name}{_SUFFIX}", "x:xz") as archive:
            archive.add(Path(directory) / "data", "data", filter=_without_owner)


def lived_on(name: str, directory: Path) -> house.Result:
    """What an installation gives that goes on where a packed one stopped, to the end of the small world."""
    world = small_world()
    with tarfile.open(PLACE / f"{name}{_SUFFIX}") as archive:
        archive.extractall(directory, filter="data")
    with house.open_house(directory, house.in_process) as one:
        one.clock.now = world.steps[_RUN].now
        one.go_on()
        for step in world.steps[_RUN + 1 :]:
            one.live(step)
        return one.result(world)


def _without_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info
