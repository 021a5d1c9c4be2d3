"""An HTTP client that hides nothing: no redirects, no unzipping."""

from __future__ import annotations

import http.client
from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes


@dataclass(frozen=True)
class Client:
    port: int

    def get(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def post(self, path: str, text: str | bytes, **headers: str) -> Reply:
        body = text.encode() if isinstance(text, str) else text
        return self.get(path, "POST", body, **{"Content_Type": "text/plain", **headers})
