"""The command `feedweir`: its common options and exit codes. Each subcommand has a file of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from feedweir import __version__
from feedweir.cli import (
    delivery,
    doctor,
    execute,
    list_commands,
    network_commands,
    plan_command,
    quarantine_commands,
    question_commands,
    run,
    settings,
    transfer_commands,
    warm_up_command,
)
from feedweir.cli.context import Context
from feedweir.errors import FeedweirError, SettingsError, StorageError
from feedweir.logs.disk_errors import is_storage_error, storage_error
from feedweir.text.redact import without_secrets

EXIT_CODES = {
    0: "done",
    1: "something failed; the message says what",
    2: "the command or a setting is not valid",
    3: "a statement or a name was refused, and nothing was changed",
    4: "`doctor` or `status` found a problem",
}

app = typer.Typer(
    name="feedweir",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()),
)
for module in (
    run,
    execute,
    question_commands,
    plan_command,
    network_commands,
    list_commands,
    settings,
    delivery,
    quarantine_commands,
    doctor,
    transfer_commands,
    warm_up_command,
):
    module.add_to(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"feedweir {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    data: Annotated[
        str | None, typer.Option(metavar="PATH", help="The data directory. [default: data]")
    ] = None,
    catalog: Annotated[
        str | None, typer.Option(help="The catalog's database URL. [default: SQLite in the data directory]")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with settings. [default: feedweir.toml]")
    ] = None,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Standing queries over feeds.

    Register feeds, define virtual feeds as queries over them, and read the results as feeds:

        feedweir exec "register feed https://example.org/rss as News"

        feedweir exec "create feed Floods from News where title contains 'flood'"

        feedweir run

    Settings come from feedweir.toml, from FEEDWEIR_* environment variables and from options; the later one wins.
    """
    context.obj = Context(config, {"data": data, "catalog": catalog})


def main() -> None:
    """Run the command. Every error that Feedweir raises on purpose becomes one message and an exit code."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except FeedweirError as error:
        _report(error)
    except OSError as error:
        if not is_storage_error(error):
            raise
        _report(storage_error(error))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        _fail_as_click_does(error)


def _report(error: FeedweirError) -> NoReturn:
    from rich.console import Console

    message = f"feedweir: {without_secrets(str(error))}"
    Console(stderr=True, highlight=False).print(message, markup=False, soft_wrap=True)
    sys.exit(_exit_code(error))


def _fail_as_click_does(error: Any) -> None:
    if not hasattr(error, "exit_code"):
        raise error
    error.show()
    sys.exit(error.exit_code)


def _exit_code(error: FeedweirError) -> int:
    if isinstance(error, StorageError):
        return 1
    return 2 if isinstance(error, SettingsError) else 3
