"""The rooms and who may import whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import feedweir

SOURCE = Path(feedweir.__file__).parent

LAYERS = (
    ("errors",),
    ("channel_kinds", "config", "kernels", "schedules"),
    ("storage", "text"),
    ("health", "items"),
    ("plan",),
    ("language",),
    ("match",),
    ("optimize",),
    ("logs", "catalog", "network"),
    ("acquire", "tables"),
    ("join",),
    ("pipeline",),
    ("compile",),
    ("deliver",),
    ("ask",),
    ("web", "spark"),
    ("sample",),
    ("service",),
    ("cli",),
)
"""A room imports from the rows above its own. Down to `optimize` all is plain code on values: no file, no database."""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
OUTSIDE = "published"
"""Oracles and rivals, for tests and benchmarks: imports what it likes, and no room may import it."""
FOREIGN = {
    "pyspark": {"spark"},
    "fastapi": {"web"},
    "uvicorn": {"web"},
    "sqlalchemy": {"catalog"},
    "alembic": {"catalog"},
    "typer": {"cli"},
    "deltalake": {"tables"},
}
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_kernels(path: Path) -> bool:
    return path.stem.endswith("_kernels")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_what_lies_below_it(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    for name in imports_of(path):
        top, *rest = name.split(".")
        if top == "feedweir" and rest and rest[0] not in {"__version__", room}:
            is_declaring = is_kernels(path) and rest[0] == "kernels"
            assert is_declaring or rest[0] != OUTSIDE, f"{room} imports {name}"
            assert is_declaring or room == OUTSIDE or LEVEL[rest[0]] < LEVEL[room], f"{room} imports {name}"
        if top in FOREIGN:
            assert room in FOREIGN[top], f"{room} imports {name}"
        if top == "numba":
            assert room == "kernels" or is_kernels(path), (
                f"{path.name} imports numba and is not a kernel module"
            )
            assert room == "kernels" or "jit" not in name, (
                f"{path.name}: kernels are declared by feedweir.kernels"
            )


def test_no_room_is_a_drawer() -> None:
    forbidden = {"utils", "helpers", "common", "core", "services", "managers"}
    assert not [path for path in MODULES if path.stem in forbidden or path.parent.name in forbidden]
