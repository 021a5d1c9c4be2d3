"""Write down what Feedweir gives: `python -m tests.golden.record WHAT …`, where WHAT is

    run           feeds, deliveries and explanations of the golden run
    surface       the HTTP schema and the help of every command
    installation  a data directory of this version, for later ones to take over: `installation NAME`
    listings      nothing in the tree: all lines of the golden run below a directory: `listings DIRECTORY`

To see what a change made of the golden run, write the listings before and after it, and compare them with `diff -r`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden import house, installations, listing
from tests.golden.surface import help_texts, http_schema
from tests.golden.worlds import World, worlds

RECORDED = Path(__file__).parent / "recorded"
SCHEMA = RECORDED / "openapi.json"
HELP = RECORDED / "help.txt"


def recorded_feeds(world: World) -> Path:
    return RECORDED / f"{world.name}.json"


def recorded_answers(world: World) -> Path:
    return RECORDED / f"{world.name}.txt"


def answers_text(answers: dict[str, str]) -> str:
    return "\n".join(f"== {heading}\n{text}\n" for heading, text in answers.items())


def run_here(world: World) -> house.Result:
    with TemporaryDirectory() as directory:
        return house.lived_through(world, house.in_process, Path(directory))


def record_run() -> None:
    for world in worlds():
        result = run_here(world)
        kept = json.dumps(listing.kept_of(result.listing), indent=0, ensure_ascii=False)
        recorded_feeds(world).write_text(kept + "\n", "utf-8")
        recorded_answers(world).write_text(answers_text(result.answers), "utf-8")


def record_surface() -> None:
    with TemporaryDirectory() as directory:
        SCHEMA.write_text(http_schema(Path(directory)), "utf-8")
    HELP.write_text(help_texts(), "utf-8")


def write_listings(directory: Path) -> None:
    for world in worlds():
        result = run_here(world)
        found = {**result.listing, "answers": answers_text(result.answers).splitlines()}
        for heading, lines in found.items():
            path = directory / world.name / heading.replace("/", "_")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def main(what: str, *rest: str) -> None:
    match what:
        case "run":
            record_run()
        case "surface":
            record_surface()
        case "installation":
            installations.pack(rest[0])
        case "listings":
            write_listings(Path(rest[0]))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ("",))
