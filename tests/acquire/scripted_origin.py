"""An HTTP origin in threads of its own: each path behaves as a test scripts it, and every request is remembered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(frozen=True)
class Asked:
    path: str
    host: str
    at: float
    """By the monotonic clock."""
    headers: dict[str, str]


class _Server(ThreadingHTTPServer):
    """On every address of this machine's own: 127.x.y.z are as many hosts as a test wants."""

    request_queue_size = 256

    def handle_error(self, *_: object) -> None:
        """Readers that hang up are what these tests are about."""


Behaviour = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class ScriptedOrigin:
    """Use as a context manager; `behave` and `shows` script it."""

    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                origin.asked.append(Asked(self.path, headers.get("host", ""), time.monotonic(), headers))
                try:
                    origin.behaviours.get(self.path, missing)(self)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("0.0.0.0", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def behave(self, path: str, behaviour: Behaviour) -> str:
        self.behaviours[path] = behaviour
        return self.url(path)

    def shows(self, path: str, *documents: bytes, **headers: str) -> str:
        """The documents in turn, the last one again and again."""
        left = list(documents)

        def show(handler: BaseHTTPRequestHandler) -> None:
            send(handler, 200, left.pop(0) if len(left) > 1 else left[0], **headers)

        return self.behave(path, show)

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def __enter__(self) -> ScriptedOrigin:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    """A whole answer; header names are written with underscores."""
    handler.send_response(status)
    for name, value in {"Content_Type": "application/rss+xml", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def missing(handler: BaseHTTPRequestHandler) -> None:
    send(handler, 404)


def rss(*items: str, title: str = "A feed", extra: str = "") -> bytes:
    """A document with these items, each `guid` or `guid@RFC 822 date`."""
    return (
        f"<rss version='2.0'><channel><title>{title}</title>{extra}"
        + "".join(_item(*item.partition("@")[::2]) for item in items)
        + "</channel></rss>"
    ).encode()


def _item(guid: str, date: str) -> str:
    dated = f"<pubDate>{date}</pubDate>" if date else ""
    return f"<item><guid>{guid}</guid><title>Title of {guid}</title>{dated}</item>"
