"""`feedweir plan`: how the filters of sources are evaluated together."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from feedweir.cli.context import context_of
from feedweir.errors import SettingsError


def add_to(app: typer.Typer) -> None:
    app.command("plan")(plan)


def plan(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="The name of a source; all sources if omitted.")] = "",
    dot: Annotated[bool, typer.Option("--dot", help="Print it for Graphviz.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Show the filter plan in force: what filters share, their rates, and predicted and measured costs."""
    from feedweir.optimize.filter_plans.plan_report import as_dot, as_text, as_value

    if dot and as_json:
        raise SettingsError("choose one of --dot and --json")
    with context_of(context).weir() as weir:
        plans = weir.ask.plans(source)
    if as_json:
        typer.echo(json.dumps([as_value(one) for one in plans], ensure_ascii=False))
        return
    typer.echo("\n\n".join(map(as_dot if dot else as_text, plans)))
