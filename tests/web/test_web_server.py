"""The server starts when it says so, and is gone when it says so."""

from __future__ import annotations

import http.client
import socket
import threading

import pytest

from feedweir.errors import SettingsError
from feedweir.web.app import create_app
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client


def test_port_zero_is_replaced_by_the_port_that_was_bound(backend: MemoryBackend) -> None:
    server = WebServer(create_app(backend))
    port = server.start()
    try:
        assert port > 0
        assert server.url == f"http://127.0.0.1:{port}"
        assert Client(port).get("/healthz").status == 200
    finally:
        server.stop()


def test_stopping_closes_the_port_and_ends_the_thread(backend: MemoryBackend) -> None:
    server = WebServer(create_app(backend))
    port = server.start()
    server.stop()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=2)
    assert "feedweir-web" not in {thread.name for thread in threading.enumerate()}


def test_the_same_port_can_be_had_again_at_once(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend)) as first:
        Client(first.port).get("/healthz")
    with WebServer(create_app(backend), port=first.port) as second:
        assert Client(second.port).get("/healthz").status == 200


def test_a_taken_port_is_a_clear_error_for_the_caller(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend)) as server, pytest.raises(SettingsError, match=str(server.port)):
        WebServer(create_app(backend), port=server.port).start()


def test_an_idle_connection_does_not_hold_the_server_back(backend: MemoryBackend) -> None:
    server = WebServer(create_app(backend))
    with socket.create_connection(("127.0.0.1", server.start())) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        server.stop()


def test_an_answer_is_sent_at_once_and_waits_for_no_acknowledgement(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend)) as server:
        connection = http.client.HTTPConnection(server.host, server.port)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        assert server._server is not None
        (accepted,) = server._server.server_state.connections
        transport = accepted.transport  # type: ignore[union-attr]
        assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()
