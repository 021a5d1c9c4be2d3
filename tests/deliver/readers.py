"""Readers of every kind: they fail at random, before or after they took a message, and remember what they took."""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as MAIL_POLICY
from typing import Any

from aiohttp import web

from tests.deliver.house import listening, next_event

_STORY = re.compile(r"story (\d+/\d+)\b")
_AGAIN_S = 0.2


@dataclass
class Readers:
    luck: random.Random
    failing: float = 0.15
    taken: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=lambda: defaultdict(dict))
    """By reader: what came under each key."""
    messages: int = 0
    repeats: int = 0
    """Messages that a reader recognised by their key."""
    contradictions: list[str] = field(default_factory=list)
    """Keys that came with other content."""

    def stories_of(self, reader: str) -> list[str]:
        """What a reader that remembers keys has, as often as it has it."""
        return sorted(story for stories in list(self.taken[reader].values()) for story in stories)

    def count_of(self, reader: str) -> int:
        return sum(map(len, list(self.taken[reader].values())))

    def take(self, reader: str, key: str, text: str) -> None:
        stories = tuple(sorted(set(_STORY.findall(text))))
        known = self.taken[reader].setdefault(key, stories)
        if known != stories:
            self.contradictions.append(f"{reader}: {key}")
        self.messages += 1
        self.repeats += known is not stories

    def _is_bad(self) -> bool:
        return self.luck.random() < self.failing

    async def hook(self, request: web.Request) -> web.Response:
        body = await request.text()
        if self._is_bad():
            return web.Response(status=503)
        self.take(request.path, request.headers["webhook-id"], json.dumps(json.loads(body)["data"]))
        return web.Response(status=500 if self._is_bad() else 204)

    async def pushed(self, request: web.Request) -> web.Response:
        if self._is_bad():
            return web.Response(status=503)
        self.take(request.path, request.headers["Idempotency-Key"], await request.text())
        return web.Response(status=500 if self._is_bad() else 204)

    async def verify(self, request: web.Request) -> web.Response:
        return web.Response(text=request.query["hub.challenge"])

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self._is_bad():
            return "451 later"
        message = message_from_bytes(envelope.content, policy=MAIL_POLICY)
        assert isinstance(message, EmailMessage)
        body = message.get_body(("plain",))
        assert body is not None
        self.take(envelope.rcpt_tos[0], message["Message-ID"], body.get_content())
        return "451 lost" if self._is_bad() else "250 OK"


class StreamReader:
    """A client of an event stream that comes back with the last id it saw whenever the line is cut."""

    def __init__(self, port: int, path: str) -> None:
        self._port = port
        self._path = path
        self._last = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.stories: list[str] = []

    def _run(self) -> None:
        while not self._stopping.is_set():
            with suppress(OSError, http.client.HTTPException, EOFError):
                self._listen()
            self._stopping.wait(_AGAIN_S)

    def _listen(self) -> None:
        headers = {"Last_Event_ID": self._last} if self._last else {}
        with listening(self._port, self._path, **headers) as stream:
            while stream.status == 200 and not self._stopping.is_set():
                event = next_event(stream)
                self._last = event["id"]
                self.stories += set(_STORY.findall(event["data"]))

    def __enter__(self) -> StreamReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
