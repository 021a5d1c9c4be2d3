"""`feedweir plan`: how the filters of sources are evaluated together."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from feedweir.cli.context import context_of
from feedweir.errors import SettingsError
from feedweir.optimize.explain import as_dot, as_text, as_value
from feedweir.optimize.picture import as_svg


def add_to(app: typer.Typer) -> None:
    app.command("plan")(plan)


def plan(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="A source; without one, all of them.")] = "",
    dot: Annotated[bool, typer.Option("--dot", help="For Graphviz.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="As a picture; wants a source.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Show the shared plan in force: what filters share, their rates, predicted and measured costs."""
    if dot + svg + as_json > 1:
        raise SettingsError("choose one of --dot, --svg and --json")
    if svg and not source:
        raise SettingsError("a picture is of one source", hint="feedweir plan SOURCE --svg")
    with context_of(context).weir() as weir:
        plans = weir.explain_plan(source)
    if as_json:
        typer.echo(json.dumps([as_value(one) for one in plans], ensure_ascii=False))
        return
    shown = as_dot if dot else as_svg if svg else as_text
    typer.echo("\n\n".join(map(shown, plans)))
