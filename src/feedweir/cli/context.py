"""What every action starts from: the settings, read once, and the installation they name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from feedweir.config import Settings, load_settings
from feedweir.errors import SettingsError
from feedweir.items.owners import is_owner
from feedweir.keeper.standstill import Bounds
from feedweir.keeper.weir import Weir
from feedweir.kernels.declare import keep_kernels_in

NEEDS_ATTENTION = 4
"""The exit code of a command that looks and finds something."""
_PIPE_WIDTH = 200
_PATIENCE_S = 10.0
"""A person waits; what runs by itself waits longer."""


@dataclass(frozen=True, slots=True)
class Context:
    """The options that stand before the command."""

    file: Path | None
    flags: Mapping[str, Any]

    def settings(self, **flags: Any) -> Settings:
        settings = load_settings(file=self.file, flags={**self.flags, **flags})
        if settings.kernels:
            keep_kernels_in(Path(settings.kernels))
        return settings

    def weir(self, **flags: Any) -> Weir:
        settings = self.settings(**flags)
        return Weir.open(settings.data, catalog_url=settings.catalog_url, patience_s=_PATIENCE_S)


def bounds_in(settings: Settings) -> Bounds:
    """From when on something counts as standing still."""
    return Bounds(late=timedelta(seconds=settings.stalled_after_s))


Owner = Annotated[
    str, typer.Option(help="Only what concerns this owner or group: theirs, their groups', everyone's.")
]


def owner_in(given: str) -> str | None:
    """The owner that was named; none is everyone."""
    if given and not is_owner(given):
        raise SettingsError(f"{given!r} is not an owner", hint="a name, or groups and a name: acme/ann")
    return given or None


def context_of(context: typer.Context) -> Context:
    found: Context = context.find_root().obj
    return found


def show_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """A list for people, or one JSON array for programs."""
    if as_json:
        typer.echo(json.dumps(list(rows), default=str, ensure_ascii=False))
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    # What reads a pipe has no width: lines are kept whole for it.
    Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)


def _cell(value: object) -> Text:
    """As it is: brackets in a definition are not markup."""
    return Text("" if value is None else str(value))
