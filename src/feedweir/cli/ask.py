"""`feedweir preview`, `backtest`, `search`, `match`, `explain` and `why`: ask without changing anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from feedweir.cli.context import Owner, context_of, owner_in, show_rows
from feedweir.engine.preview import Trial
from feedweir.errors import SettingsError
from feedweir.keeper.questions import row_of
from feedweir.plan import explain as plan_text

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
QueryText = Annotated[
    str, typer.Argument(help="`from …`, `create feed …` (which is not created), or the name of a feed.")
]


def add_to(app: typer.Typer) -> None:
    for command in (preview, backtest, search, match, explain, why):
        app.command()(command)


def preview(
    context: typer.Context,
    query: QueryText,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest items to look at.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Show what a query finds among the newest items, without activating it."""
    with context_of(context).weir() as weir:
        _show_trial(weir.preview(query, limit), as_json=as_json)


def backtest(context: typer.Context, query: QueryText, as_json: AsJson = False) -> None:
    """Show what a query would have brought, had it been there from the beginning."""
    with context_of(context).weir() as weir:
        _show_trial(weir.backtest(query), as_json=as_json)


def search(
    context: typer.Context,
    words: Annotated[str, typer.Argument(help="As in a search box: flood -market intitle:river")],
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    owner: Owner = "",
    as_json: AsJson = False,
) -> None:
    """Search the stored items; of an owner, those in their feeds."""
    with context_of(context).weir() as weir:
        found = weir.search(words, limit, owner=owner_in(owner))
    rows = [row_of(item) for item in found.items]
    if as_json:
        days = {day.isoformat(): count for day, count in found.per_day}
        _print_json({"searched": found.searched, "hits": found.found, "per_day": days, "items": rows})
        return
    typer.echo(f"{found.found} of {found.searched} items")
    show_rows(rows, ("seq", "time", "source", "title", "link"), as_json=False)


def match(
    context: typer.Context,
    item: Annotated[str, typer.Argument(help="The item's number, or its guid.")] = "",
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A document instead: RSS, Atom, …")
    ] = None,
    source: Annotated[str, typer.Option(help="The source that the document would come from.")] = "",
    owner: Owner = "",
    as_json: AsJson = False,
) -> None:
    """Tell which feeds want an item, or would want the items of a document.

    feedweir match --file news.rss --source News --owner acme/ann
    """
    if bool(item) == bool(file):
        raise SettingsError("give an item or --file, one of them", hint="feedweir match --help")
    with context_of(context).weir() as weir:
        found = (
            weir.wanting_document(_read(file), source=source, owner=owner_in(owner))
            if file
            else weir.wanting(_named(item), owner=owner_in(owner))
        )
    if as_json:
        rows = [
            {
                **row_of(one.item),
                "feeds": list(one.feeds),
                "joins": [part.to_json() for part in one.joins],
            }
            for one in found.items
        ]
        _print_json({"asked": found.asked, "candidates": found.candidates, "items": rows})
        return
    typer.echo(f"{found.asked} feeds asked, {found.candidates} looked at")
    told = [{"title": one.item.title, "feeds": ", ".join(one.feeds)} for one in found.items]
    show_rows(told, ("title", "feeds"), as_json=False)
    for one in found.items:
        for part in one.joins:
            typer.echo(f"{one.item.title}: is input of {part.text}")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: {error}") from error


def _named(item: str) -> int | str:
    return int(item) if item.isascii() and item.isdigit() else item


def explain(
    context: typer.Context,
    query: QueryText,
    dot: Annotated[bool, typer.Option("--dot", help="The last plan for Graphviz.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="The last plan as a picture.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the plan of a query as it was written and after every rule that changed it."""
    if dot + svg + as_json > 1:
        raise SettingsError("choose one of --dot, --svg and --json")
    with context_of(context).weir() as weir:
        explained = weir.explain(query)
    if as_json:
        steps = [{"rule": step.rule, "plan": plan_text(step.plan)} for step in explained.steps]
        _print_json({"steps": steps, "dot": explained.dot, "svg": explained.svg})
        return
    typer.echo(explained.dot if dot else explained.svg if svg else explained.text)


def why(
    context: typer.Context,
    item: Annotated[str, typer.Argument(help="The item's number, or its guid.")],
    feed: Annotated[str, typer.Argument(help="A source or virtual feed.")],
    as_json: AsJson = False,
) -> None:
    """Tell clause by clause why an item is or is not in a feed, and by which atom the matcher came upon it."""
    with context_of(context).weir() as weir:
        clause = weir.why(_named(item), feed)
    if as_json:
        _print_json(clause.to_json())
        return
    typer.echo("\n".join(clause.lines()))


def _show_trial(trial: Trial, *, as_json: bool) -> None:
    rows = [{**row_of(sample.item), "partners": dict(sample.annotation)} for sample in trial.samples]
    days = {day.isoformat(): count for day, count in trial.per_day}
    if as_json:
        counts: dict[str, Any] = {"searched": trial.searched, "hits": trial.hits}
        _print_json({**counts, "hits_per_day": trial.hits_per_day, "per_day": days, "samples": rows})
        return
    typer.echo(f"{trial.hits} of {trial.searched} items, {trial.hits_per_day:.1f} a day")
    for day, count in days.items():
        typer.echo(f"  {day}  {count}")
    show_rows(rows, ("seq", "time", "source", "title", "link"), as_json=False)


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, default=str, ensure_ascii=False))
