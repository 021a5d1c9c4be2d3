"""The HTTP server's application: routes, errors, headers and metrics."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedweir import __version__
from feedweir.acquire.intake import Intake
from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.errors import CatalogError, FeedweirError, LanguageError, StorageError
from feedweir.web.admission import allowed_names, gate, is_allowed
from feedweir.web.backend import Backend
from feedweir.web.door import Door, WebOptions, utc_now
from feedweir.web.metrics import Meter
from feedweir.web.responses import json_response, problem
from feedweir.web.routes.arrival_routes import arrival_routes
from feedweir.web.routes.feed_routes import reader_routes
from feedweir.web.routes.hub_routes import returning_routes
from feedweir.web.routes.outline_routes import outline_routes
from feedweir.web.routes.program_routes import program_routes
from feedweir.web.routes.stream_routes import stream_routes
from feedweir.web.routes.subscription_routes import subscription_routes

_METHODS = frozenset({"GET", "POST", "OPTIONS"})

_log = logging.getLogger(__name__)

# Pages show foreign HTML: no scripts, no frames, no forms; pictures and sound may come from anywhere.
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src * data:; media-src *; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def create_app(
    backend: Backend,
    *,
    options: WebOptions | None = None,
    clock: Callable[[], datetime] = utc_now,
    deliveries: DeliveryAdmin | None = None,
    intake: Intake | None = None,
) -> FastAPI:
    """An application for this installation, with routes for deliveries and incoming documents if these are given.

    Applications share nothing: a process may have several.
    """
    door = Door(backend=backend, options=options or WebOptions(), clock=clock, has_hub=deliveries is not None)
    # The framework's own description of the routes would bypass the gate.
    app = FastAPI(title="Feedweir", version=__version__, openapi_url=None, dependencies=[Depends(gate(door))])
    meter = Meter(backend)
    if deliveries is not None:
        app.include_router(subscription_routes(door, deliveries))
        app.include_router(returning_routes(door, deliveries))
        app.include_router(stream_routes(door, deliveries))
    if intake is not None:
        app.include_router(arrival_routes(door, intake))
    app.include_router(program_routes(door, meter))
    app.include_router(outline_routes(door))
    app.include_router(reader_routes(door))
    _describe(app)
    _answer_errors(app)
    names = allowed_names(door.options.public_url, door.options.allowed_hosts)
    app.add_middleware(OwnHostsOnly, names=names)
    app.add_middleware(Watched, meter=meter)
    app.add_middleware(HeadAsGet)
    return app


def _describe(app: FastAPI) -> None:
    @app.get("/v1/openapi.json", include_in_schema=False)
    def description() -> Response:
        return json_response(app.openapi())


class HeadAsGet:
    """Serves HEAD as GET without the body, so that no route has to handle it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The server's own scope still says HEAD, so it omits the body.
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)


class OwnHostsOnly:
    """Serves only requests for one of our host names; others may come from a page that points its name at us."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._app
        if scope["type"] == "http" and not is_allowed(
            host := Request(scope).headers.get("host"), self._names
        ):
            hint = "the operator can allow this name with FEEDWEIR_ALLOWED_HOSTS, or allowed_hosts in feedweir.toml"
            detail = f"This server does not answer to the name {host}."
            answer = problem(Request(scope), 421, detail, hint=hint)
        await answer(scope, receive, send)


class Watched:
    """Every answer is measured and has the headers; an unexpected failure is a response, too.

    The framework's own kind of middleware would cost each request two more tasks and a queue between them.
    """

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        is_answered = False

        async def measured(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                self._observe(scope, message["status"], time.perf_counter() - begun)
            await send(message)

        try:
            await self._app(scope, receive, measured)
        except Exception:
            if is_answered:
                raise
            _log.exception("%s %s failed", scope["method"], scope["path"])
            detail = "An internal error occurred; the server's log has the details."
            await problem(Request(scope), 500, detail)(scope, receive, measured)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, not the path: clients must not be able to invent label values.
        route = getattr(scope.get("route"), "path", "(none)").replace(":path}", "}")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._meter.observe(route, method, status, seconds)


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(LanguageError)
    def unreadable(request: Request, error: LanguageError) -> Response:
        return problem(
            request,
            400,
            error.message,
            line=error.line,
            column=error.column,
            expected=list(error.expected),
            hint=error.hint,
        )

    @app.exception_handler(CatalogError)
    def refused(request: Request, error: CatalogError) -> Response:
        return problem(request, 409, error.message, hint=error.hint)

    @app.exception_handler(StorageError)
    def unavailable(request: Request, error: StorageError) -> Response:
        return problem(request, 503, error.message, hint=error.hint)

    @app.exception_handler(FeedweirError)
    def impossible(request: Request, error: FeedweirError) -> Response:
        return problem(request, 422, error.message, hint=error.hint)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name = str(first["loc"][-1])
        return problem(request, 400, f"{name}: {first['msg']}", parameter=name)

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        detail = "There is nothing at this address." if error.detail == "Not Found" else str(error.detail)
        return problem(request, error.status_code, detail, headers=dict(error.headers or {}))
