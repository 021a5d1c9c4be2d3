"""An HTTP server in a thread: it serves when `start` returns, and has ended when `stop` returns."""

from __future__ import annotations

import logging
import socket
import threading
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp

from feedweir.errors import SettingsError

_STOP_WITHIN_S = 5

_log = logging.getLogger(__name__)


class WebServer:
    """Serves an application. With port 0 the system chooses; `port` is then the chosen one."""

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self._app = app
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self) -> int:
        """Start serving; returns the port. Raises `SettingsError` if the address cannot be used."""
        listener = _listen(self.host, self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=_STOP_WITHIN_S,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="feedweir-web", daemon=True
        )
        self._thread.start()
        self._server.ready.wait()
        if not self._server.started:
            raise SettingsError(f"the HTTP server could not start on {self.url}")
        return self.port

    def stop(self) -> None:
        """Finish current requests and close all other connections. Safe to call twice, and before `start`."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join()
        self._server = self._thread = None

    def __enter__(self) -> WebServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Server(uvicorn.Server):
    """Sets `ready` when it has started, or failed to."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        except Exception:
            _log.exception("the HTTP server stopped")
        finally:
            self.ready.set()
            for listener in sockets or ():
                listener.close()


def _listen(host: str, port: int) -> socket.socket:
    """Bound here and not in the thread, so that a port in use is an error for the caller."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it, each answer after the first
    # on a connection waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From now on connections are queued: none is refused before the first accept.
        listener.listen(256)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise SettingsError(
            f"cannot listen on {host}:{port}: {reason}", hint="choose another port"
        ) from error
    return listener
