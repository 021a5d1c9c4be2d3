"""`feedweir config`: the settings in force."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated

import typer

from feedweir.cli.context import Context, context_of, show_rows
from feedweir.config import SECRETS, Settings
from feedweir.kernels.kernel_files import chosen_place
from feedweir.text.redact import HIDDEN, without_secrets

_PASSWORD = re.compile(r"(://[^/@\s:]*):[^/\s]*@")


def add_to(app: typer.Typer) -> None:
    app.command("config")(config)


def config(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Show every setting, its value, and where it was set.

    docs/settings.md describes them. Secrets are not shown.
    """
    show_rows(_rows(context_of(context)), ("setting", "value", "origin"), as_json=as_json)


def _rows(context: Context) -> list[dict[str, object]]:
    given, settings = context.given(), context.settings()
    return [
        {
            "setting": field.name,
            "value": _shown(field.name, settings),
            "origin": given[field.name].origin if field.name in given else "default",
        }
        for field in fields(Settings)
    ]


def _shown(name: str, settings: Settings) -> object:
    """The value that is used, also where the setting is empty."""
    value = getattr(settings, name)
    if name in SECRETS:
        return HIDDEN if value else ""
    if name == "catalog":
        return _PASSWORD.sub(rf"\1:{HIDDEN}@", settings.catalog_url)
    if name == "kernels":
        return str(chosen_place())
    if isinstance(value, bool | int | float):
        return value
    return without_secrets(", ".join(value) if isinstance(value, tuple) else str(value))
