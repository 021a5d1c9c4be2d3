"""A small HTTP origin that plays the sample: `python -m feedweir.sample.origin --port 8071`."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from feedweir.errors import SettingsError
from feedweir.sample.answers import SampleRequest, answer
from feedweir.sample.script import channels


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Origin:
    """Serves the sample's feeds. Port 0 lets the system choose; `port` then says what it chose."""

    def __init__(
        self, clock: Callable[[], datetime] = _utc_now, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.host = host
        self.port = port
        self._clock = clock
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def urls(self) -> dict[str, str]:
        """The address of each channel by its name."""
        return {channel.name: f"{self.url}/{channel.path}" for channel in channels()}

    def start(self) -> int:
        """Begin to serve, and return the port."""
        try:
            self._server = _Server((self.host, self.port), _handler(self))
        except OSError as error:
            reason = error.strerror or str(error)
            raise SettingsError(f"the sample cannot listen on {self.host}:{self.port}: {reason}") from error
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="feedweir-sample", daemon=True
        )
        self._thread.start()
        return self.port

    def stop(self) -> None:
        """Safe to call twice, and before `start`."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server = self._thread = None

    def now(self) -> datetime:
        return self._clock()

    def __enter__(self) -> Origin:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    """A client that keeps its connection open does not keep us."""


def _handler(origin: Origin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "FeedweirSample"

        def do_GET(self) -> None:
            asked = SampleRequest(
                self.path, self.headers.get("If-None-Match", ""), self.headers.get("If-Modified-Since", "")
            )
            given = answer(asked, origin.now(), origin.url)
            self.send_response(given.status)
            for name, value in given.headers:
                self.send_header(name, value)
            if given.status != 304:
                self.send_header("Content-Length", str(len(given.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(given.body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Silent: the origin is a stage set, not a service."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m feedweir.sample.origin", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8071, help="0 lets the system choose")
    options = parser.parse_args()
    with Origin(host=options.host, port=options.port) as origin:
        for name, url in origin.urls.items():
            print(f"{name:12} {url}")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
