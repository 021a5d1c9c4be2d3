"""`feedweir preview`, `backtest`, `search`, `match`, `explain`, `why` and `trace`: questions that change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedweir.cli.context import Owner, context_of, owner_in, show_rows, unusable
from feedweir.errors import SettingsError

if TYPE_CHECKING:
    from feedweir.ask.preview import Trial

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ItemName = Annotated[str, typer.Argument(help="The item's number, guid or link.")]
QueryText = Annotated[
    str, typer.Argument(help="`from …`, `create feed …` (the feed is not created), or the name of a feed.")
]


def add_to(app: typer.Typer) -> None:
    for command in (preview, backtest, search, match, explain, why, trace):
        app.command()(command)


def preview(
    context: typer.Context,
    query: QueryText,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest items to search.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Show what a query finds among the newest items, without creating a feed."""
    with context_of(context).weir() as weir:
        _show_trial(weir.ask.preview(query, limit), as_json=as_json)


def backtest(context: typer.Context, query: QueryText, as_json: AsJson = False) -> None:
    """Show what a query would have found since the first stored item."""
    with context_of(context).weir() as weir:
        _show_trial(weir.ask.backtest(query), as_json=as_json)


def search(
    context: typer.Context,
    words: Annotated[str, typer.Argument(help="A query as in a search box: flood -market intitle:river")],
    limit: Annotated[int, typer.Option(min=1, help="How many items to show, newest first.")] = 20,
    owner: Owner = "",
    as_json: AsJson = False,
) -> None:
    """Search the stored items; with --owner, only those in the owner's feeds."""
    from feedweir.items.model import row_of

    with context_of(context).weir() as weir:
        found = weir.ask.search(words, limit, owner=owner_in(owner))
    rows = [row_of(item) for item in found.items]
    if as_json:
        days = {day.isoformat(): count for day, count in found.per_day}
        _print_json({"searched": found.searched, "hits": found.found, "per_day": days, "items": rows})
        return
    typer.echo(f"{found.found} of {found.searched} items")
    show_rows(rows, ("seq", "time", "source", "title", "link"), as_json=False)


def match(
    context: typer.Context,
    item: Annotated[str, typer.Argument(help="The item's number, guid or link.")] = "",
    file: Annotated[
        Path | None,
        typer.Option(
            "-f", "--file", help="Match the items of this document (RSS, Atom, …) instead; nothing is stored."
        ),
    ] = None,
    source: Annotated[str, typer.Option(help="The source that the document is assumed to come from.")] = "",
    owner: Owner = "",
    as_json: AsJson = False,
) -> None:
    """Show which feeds match an item, or would match the items of a document.

    feedweir match --file news.rss --source News --owner acme/ann
    """
    from feedweir.items.model import row_of

    if bool(item) == bool(file):
        raise SettingsError("give either an item or --file", hint="feedweir match --help")
    with context_of(context).weir() as weir:
        found = (
            weir.ask.matching_feeds_of_document(_read(file), source=source, owner=owner_in(owner))
            if file
            else weir.ask.matching_feeds(_named(item), owner=owner_in(owner))
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
    typer.echo(f"{found.asked} feeds, of which {found.candidates} were candidates")
    rows = [{"title": one.item.title, "feeds": ", ".join(one.feeds)} for one in found.items]
    show_rows(rows, ("title", "feeds"), as_json=False)
    for one in found.items:
        for part in one.joins:
            typer.echo(f"{one.item.title}: is an input of {part.text}")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise unusable(file, error) from error


def _named(item: str) -> int | str:
    return int(item) if item.isascii() and item.isdigit() else item


def explain(
    context: typer.Context,
    query: QueryText,
    dot: Annotated[bool, typer.Option("--dot", help="Print the final plan for Graphviz.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the plan of a query as written and after each optimizer rule that changed it, with costs."""
    from feedweir.language.plan_text import explain as plan_text

    if dot and as_json:
        raise SettingsError("choose one of --dot and --json")
    with context_of(context).weir() as weir:
        explained = weir.ask.explain(query)
    if as_json:
        steps = [{"rule": step.rule, "plan": plan_text(step.plan)} for step in explained.steps]
        costs = explained.costs_value()
        _print_json({"steps": steps, "costs": costs, "dot": explained.dot})
        return
    typer.echo(explained.dot if dot else explained.text)


def why(
    context: typer.Context,
    item: ItemName,
    feed: Annotated[str, typer.Argument(help="A source or virtual feed.")],
    as_json: AsJson = False,
) -> None:
    """Explain clause by clause why an item is or is not in a feed, and how the matcher found it."""
    with context_of(context).weir() as weir:
        clause = weir.ask.why(_named(item), feed)
    if as_json:
        _print_json(clause.to_json())
        return
    typer.echo("\n".join(clause.lines()))


def trace(
    context: typer.Context,
    item: ItemName,
    limit: Annotated[int, typer.Option(min=1, help="How many deliveries to show of each revision.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show the way of an item with times: landing, batch, feeds, joins, and the outcome of each delivery."""
    with context_of(context).weir() as weir:
        found = weir.ask.trace(_named(item), limit=limit)
    if as_json:
        _print_json(found.to_json())
        return
    typer.echo("\n".join(found.lines()))


def _show_trial(trial: Trial, *, as_json: bool) -> None:
    from feedweir.items.model import row_of

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
