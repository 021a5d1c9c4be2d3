"""An installation that lives through a world, step by step, on one engine or another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from feedweir import Weir
from feedweir.acquire.push import pushed_document
from feedweir.config import Settings
from feedweir.deliver.send.open_channels import SendingOptions, opened_sender
from feedweir.logs.landing import Landed
from feedweir.pipeline.batch_run import Division
from feedweir.service.composition import sending_options
from tests.deliver.receivers import Mailbox, Receiver, http_receiver, mail_server
from tests.golden.invented import Told
from tests.golden.reading import Reading
from tests.golden.worlds import Step, World

RunAll: TypeAlias = Callable[[], None]
"""Runs everything that has landed."""
Engine: TypeAlias = Callable[[Weir, ExitStack], RunAll]
"""Opens an engine over an installation; what is to be closed afterwards goes on the stack."""


def in_process(weir: Weir, stack: ExitStack) -> RunAll:
    def run_all() -> None:
        weir.run()

    return run_all


def on_spark(session: SparkSession) -> Engine:
    def opened(weir: Weir, stack: ExitStack) -> RunAll:
        from feedweir.spark.pipeline import start_pipeline

        weir.refresh_set()
        query = start_pipeline(session, weir.directory, weir.commit, division=Division(2, least_bytes=1))
        stack.callback(query.stop)

        def run_all() -> None:
            query.processAllAvailable()
            weir.tidy()

        return run_all

    return opened


@dataclass
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Result:
    """Lines and texts under headings."""

    listing: dict[str, list[str]]
    answers: dict[str, str]


@dataclass
class House:
    weir: Weir
    clock: Clock
    outlets: SendingOptions
    receiver: Receiver
    mailbox: Mailbox
    engine: Engine
    stack: ExitStack
    told: dict[str, str] = field(default_factory=dict)
    """What statements were answered."""
    _run_all: RunAll | None = None

    def live(self, step: Step) -> None:
        self.land(step)
        self.go_on()

    def land(self, step: Step) -> None:
        """All documents in one segment, so that whatever runs batches cuts the log at the same places."""
        self.clock.now = step.now
        if step.statements:
            outcomes = self.weir.execute(step.statements.replace("HOOK", self.receiver.url))
            lines = [
                line for one in outcomes for line in (one.message, *(f"  {each}" for each in one.advice))
            ]
            self.told[f"statements at {step.now:%d %H:%M}"] = "\n".join(lines)
            self.weir.refresh_set()
        self.weir.log.append([_landed(told, step.now) for told in step.documents])

    def go_on(self) -> None:
        """Run what has landed and send what is due."""
        self._run_all = self._run_all or self.engine(self.weir, self.stack)
        self._run_all()
        asyncio.run(self._send())

    async def _send(self) -> None:
        async with opened_sender(
            self.weir.catalog, self.weir.feed_views, self.outlets, clock=self.clock
        ) as sender:
            await sender.step()

    def result(self, world: World) -> Result:
        reading = Reading(self.weir)
        deliveries = reading.deliveries(self.outlets.outputs, self.receiver, self.mailbox)
        return Result({**reading.feeds(), **deliveries}, {**self.told, **reading.answers(world)})


def lived_through(world: World, engine: Engine, directory: Path) -> Result:
    """What an installation gives that lives through a world from its beginning."""
    with open_house(directory, engine) as house:
        for step in world.steps:
            house.live(step)
        return house.result(world)


@contextmanager
def open_house(directory: Path, engine: Engine) -> Iterator[House]:
    clock = Clock(datetime.min)
    with ExitStack() as stack:
        weir = stack.enter_context(Weir.open(directory / "data", clock=clock))
        receiver = stack.enter_context(http_receiver())
        mailbox = stack.enter_context(mail_server())
        settings = Settings(
            smtp_host="127.0.0.1",
            smtp_port=mailbox.port,
            mail_from="weir@weir.example",
            link_secret="golden",
            public_url="http://weir.example",
            allow_private=True,
        )
        outlets = sending_options(weir, settings)
        yield House(weir, clock, outlets, receiver, mailbox, engine, stack)


def _landed(told: Told, now: datetime) -> Landed:
    if told.is_pushed:
        return pushed_document(told.source, told.body, told.media_type, now, told.id_path).document
    return Landed(source=told.source, media_type=told.media_type, arrived=now, body=told.body)
