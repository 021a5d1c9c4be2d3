"""The worlds of the golden run: the sample, three thousand invented items with a feed for every construct, and a small
one that an older installation lives on in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from feedweir.sample.invented_documents import MEDIA_TYPES, document
from feedweir.sample.sample_statements import sample_statements
from feedweir.sample.script import channels
from tests.golden import invented
from tests.golden.invented import Told

_HERE = Path(__file__).parent
_ORIGIN = "http://sample.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What happens at one moment: statements first, then documents that land together."""

    now: datetime
    statements: str = ""
    documents: Sequence[Told]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    name: str
    steps: Sequence[Step]
    asked: Sequence[tuple[str, str]]
    """(guid, feed): why the item is in the feed, or not."""
    explained: Sequence[str]
    """Feeds whose plan is asked for."""


def worlds() -> tuple[World, ...]:
    return (sample_world(), invented_world(), small_world())


def sample_world() -> World:
    """The sample's statements, and what its channels show every seven minutes of an hour."""
    beginning = datetime.fromisoformat("2026-05-01T09:30:00+00:00")
    statements = sample_statements({channel.name: f"{_ORIGIN}/{channel.path}" for channel in channels()})
    times = [beginning + number * timedelta(minutes=7) for number in range(8)]
    return World(
        name="sample",
        steps=[
            Step(now=now, statements=statements if now == beginning else "", documents=_sample_documents(now))
            for now in times
        ],
        asked=(
            ("river-post-260128", "RiverInContext"),
            ("valley-wire-260128", "OneOfEach"),
            ("town-crier-208100", "Water"),
        ),
        explained=("Music", "Water", "RiverInContext", "OneOfEach", "ToldTwice", "FieldNotes"),
    )


def _sample_documents(now: datetime) -> list[Told]:
    return [
        Told(
            source=channel.name,
            media_type=MEDIA_TYPES[channel.format],
            body=document(channel, now, _ORIGIN),
        )
        for channel in channels()
    ]


def invented_world() -> World:
    """What was invented, with edits of the statements half-way."""
    statements = {0: "invented.txt", invented.STEPS // 2: "edits.txt"}
    return World(
        name="invented",
        steps=[
            Step(
                now=invented.time_of(step),
                statements=(_HERE / statements[step]).read_text("utf-8") if step in statements else "",
                documents=invented.documents(step),
            )
            for step in range(invented.STEPS)
        ],
        asked=(
            ("photos-490", "SomeWords"),
            ("post-1", "Rivers"),
            ("crier-496", "Expression"),
            ("post-468", "Above"),
            ("wire-490", "Nested"),
            ("gazette-492", "SearchBox"),
            ("post-495", "OwnLink"),
            ("crier-503", "Attributes"),
            ("urn:notes:467", "Compared"),
            ("post-400", "OverFeeds"),
            ("post-2", "OneOfEach"),
            ("wire-40", "SurelyOnce"),
            ("post-472", "TwoJoins"),
            ("post-3", "SameAuthor"),
            ("post-430", "PairedRivers"),
            ("wire-80", "PairedRivers"),
            ("12", "BoughtAgain"),
        ),
        explained=(
            "SearchBox",
            "Nested",
            "Counted",
            "Parts",
            "OverOverFeeds",
            "Branches",
            "Aged",
            "InContext",
            "TwoJoins",
            "OverJoins",
            "SurelyOnce",
            "PairedRivers",
            "Chain",
            "Mixed",
            "IllustratedRivers",
        ),
    )


def small_world() -> World:
    """Little enough for its data directory to be kept: a few sources, and a feed of every kind that has a state."""
    statements = (_HERE / "small.txt").read_text("utf-8")
    return World(
        name="small",
        steps=[
            Step(
                now=invented.time_of(step),
                statements="" if step else statements,
                documents=[
                    told for told in invented.documents(step) if told.source in ("Post", "Wire", "Orders")
                ],
            )
            for step in range(4)
        ],
        asked=(("wire-40", "OneOfEach"), ("post-100", "InContext")),
        explained=(),
    )
