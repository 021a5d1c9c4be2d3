"""`feedweir network`: who feeds whom among sites, planned from a description before anything is deployed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedweir.errors import NetworkError, SettingsError, near

if TYPE_CHECKING:
    from feedweir.network.description import Description
    from feedweir.network.network_plan import Plan

Described = Annotated[Path, typer.Argument(help="A TOML file with sources, sites and views.")]
BestEffort = Annotated[bool, typer.Option("--best-effort", help="Exceed bounds as little as possible.")]
MoreWork = Annotated[
    float,
    typer.Option("--more-work", min=0.0, help="How much more work lower latencies are worth, in percent."),
]
Seconds = Annotated[float, typer.Option("--seconds", help="How long one program may be solved.")]


def add_to(app: typer.Typer) -> None:
    network = typer.Typer(no_args_is_help=True, help="Plan which views are filled from which others.")
    network.command("plan")(plan)
    network.command("explain")(explain)
    app.add_typer(network, name="network")


def plan(
    description: Described,
    dot: Annotated[bool, typer.Option("--dot", help="Print it for Graphviz.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    best_effort: BestEffort = False,
    more_work: MoreWork = 2.0,
    seconds: Seconds = 120.0,
) -> None:
    """Plan who feeds whom: what it costs, and how far that can be from the best of all plans."""
    from feedweir.network import picture

    if dot and as_json:
        raise SettingsError("choose one of --dot and --json")
    told, planned = _planned(description, best_effort, more_work, seconds)
    if as_json:
        typer.echo(json.dumps(picture.as_value(planned, told.sites), ensure_ascii=False))
    else:
        typer.echo(picture.as_dot(planned) if dot else picture.as_text(planned, told.sites))


def explain(
    description: Described,
    view: Annotated[str, typer.Argument(help="The name of a view.")],
    best_effort: BestEffort = False,
    more_work: MoreWork = 2.0,
    seconds: Seconds = 120.0,
) -> None:
    """Show why a view is filled as it is, and what else could fill it."""
    from feedweir.network.picture import explained

    told, planned = _planned(description, best_effort, more_work, seconds)
    names = [one.name for one in told.views]
    if view not in names:
        raise NetworkError(f"no view is called `{view}`", hint=near(view, names))
    typer.echo(explained(planned, view, told.sites))


def _planned(path: Path, best_effort: bool, more_work: float, seconds: float) -> tuple[Description, Plan]:
    from lxml import etree

    from feedweir.network.description import read_description
    from feedweir.network.latency_search import quickened
    from feedweir.network.network_plan import Options, plan_of
    from feedweir.network.path_counts import count_paths
    from feedweir.network.problem import problem_of

    try:
        told = read_description(path.read_text(encoding="utf-8"))
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
        roots = [etree.parse(path.parent / name, parser).getroot() for name in told.documents]
    except OSError as error:
        raise NetworkError(f"{error.filename or path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise NetworkError(f"{path} is not UTF-8") from error
    except etree.XMLSyntaxError as error:
        raise NetworkError(f"a document of {path} is not XML: {error}") from error
    counted = count_paths(roots)
    problem = problem_of(told.views, told.sources, counted, told.weights)
    cheapest = plan_of(problem, Options(seconds=seconds, is_best_effort=best_effort))
    return told, quickened(cheapest, told.sites, more_work / 100)
