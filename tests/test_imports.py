"""The rooms and who may import whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import feedweir

SOURCE = Path(feedweir.__file__).parent

BELOW: dict[str, set[str]] = {
    "errors": set(),
    "seals": {"errors"},
    "items": {"errors"},
    "acquire": {"errors", "seals", "items"},
    "language": {"errors", "items"},
    "plan": {"errors", "items", "language"},
    "optimize": {"errors", "items", "plan"},
    "match": {"errors", "items", "plan"},
    "join": {"errors", "seals", "items", "plan"},
    "network": {"errors", "items", "plan"},
    "deliver": {"errors", "items"},
    "sample": {"errors"},
    "catalog": {"errors", "items"},
    "kernels": {"errors"},
}
ENGINE = set(BELOW) - {"catalog", "sample", "kernels"}
ALLOWED = {
    **BELOW,
    "engine": ENGINE,
    "spark": {*BELOW, "engine"},
    "keeper": {*BELOW, "engine", "spark"},
    "web": {*BELOW, "engine"},
    "config": {"errors"},
    "cli": {*BELOW, "engine", "spark", "keeper", "web", "config"},
}
FOREIGN = {
    "pyspark": {"spark"},
    "fastapi": {"web"},
    "uvicorn": {"web"},
    "sqlalchemy": {"catalog"},
    "alembic": {"catalog"},
    "typer": {"cli"},
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
        if top == "feedweir" and rest and rest[0] != "__version__":
            is_declaring = is_kernels(path) and rest[0] == "kernels"
            assert is_declaring or rest[0] in {room, *ALLOWED[room]}, f"{room} imports {name}"
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
