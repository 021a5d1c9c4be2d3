"""What every command starts from: its settings and the installation that they name."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from feedweir.config import Given, Settings, given_settings, load_settings
from feedweir.errors import SettingsError
from feedweir.items.owners import is_owner
from feedweir.kernels.kernel_files import SETTING

if TYPE_CHECKING:
    from rich.text import Text

    from feedweir.service.archive import Archive
    from feedweir.service.installation import Weir

Opened = TypeVar("Opened", bound="Archive")
NEEDS_ATTENTION = 4
"""The exit code of a command that found a problem."""
_PIPE_WIDTH = 200
_PATIENCE_S = 10.0
"""For a locked database: shorter than in background work, since a person is waiting."""


@dataclass(frozen=True, slots=True)
class Context:
    """The options before the name of the command."""

    file: Path | None
    flags: Mapping[str, Any]

    def settings(self, **flags: Any) -> Settings:
        settings = load_settings(file=self.file, flags={**self.flags, **flags})
        if settings.kernels:
            _keep_kernels_in(Path(settings.kernels))
        return settings

    def given(self) -> dict[str, Given]:
        """The settings that were set, and where."""
        return given_settings(file=self.file, flags=self.flags)

    def beginning(self) -> str:
        """How another command for the same installation begins, ready to be pasted into a shell."""
        given = {"config": self.file, **self.flags}
        # A catalog URL with a password is not printed: it has to come from the environment or be typed again.
        options = [
            (f"--{name}", str(value)) for name, value in given.items() if value and "@" not in str(value)
        ]
        return shlex.join([_program(), *chain.from_iterable(options)])

    def archive(self) -> Archive:
        """The stored data, for reading: opens in a fraction of the time that the whole installation takes."""
        from feedweir.service.archive import Archive

        return self._opened(Archive)

    def weir(self, **flags: Any) -> Weir:
        from feedweir.service.installation import Weir

        return self._opened(Weir, **flags)

    def _opened(self, kind: type[Opened], **flags: Any) -> Opened:
        return kind.configured(self.settings(**flags), patience_s=_PATIENCE_S)


def _keep_kernels_in(place: Path) -> None:
    """Kernels are declared by what the environment says; most commands never import them."""
    os.environ[SETTING] = str(place.absolute())
    if "feedweir.kernels.declare" in sys.modules:
        from feedweir.kernels.declare import keep_kernels_in

        keep_kernels_in(place)


def _program() -> str:
    """The program that was started, by its name if the shell would find it."""
    called = Path(sys.argv[0])
    found = shutil.which("feedweir")
    if found and Path(found).resolve() == called.resolve():
        return "feedweir"
    return str(called) if called.name == "feedweir" else "feedweir"


Owner = Annotated[
    str, typer.Option(help="Only what concerns this owner or group: their own, their groups' and everyone's.")
]


LogLevel = Annotated[
    str | None, typer.Option(help="Which lines to log: debug, info, warning or error. [default: info]")
]


def owner_in(given: str) -> str | None:
    """The owner that was given; None is everyone."""
    if given and not is_owner(given):
        raise SettingsError(f"{given!r} is not an owner", hint="a name, or groups and a name: acme/ann")
    return given or None


def wait_for(stop: threading.Event) -> None:
    """Wait until a signal has set an event. Python sees a signal that arrives just before a wait begins only when the
    wait ends, so no wait is long."""
    while not stop.wait(1.0):
        pass


def unusable(file: Path, error: OSError | UnicodeError) -> SettingsError:
    """The error for a file that was given by name and cannot be read or written."""
    reason = error.strerror if isinstance(error, OSError) else error
    return SettingsError(f"{file}: {reason}")


def context_of(context: typer.Context) -> Context:
    found: Context = context.find_root().obj
    return found


def show_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """A list for people, or one JSON array for programs."""
    if as_json:
        typer.echo(json.dumps(list(rows), default=str, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    # A pipe has no width, so lines are not wrapped for it.
    Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)


def _cell(value: object) -> Text:
    """The value as plain text: brackets in a definition are not markup."""
    from rich.text import Text

    return Text("" if value is None else str(value))
