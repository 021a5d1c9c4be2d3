"""The HTTP door: routes, errors, headers and measures around a library."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from feedweir import __version__
from feedweir.errors import CatalogError, FeedweirError, LanguageError, StorageError
from feedweir.web.admission import gate
from feedweir.web.api import program_routes
from feedweir.web.arrivals import arrival_routes
from feedweir.web.delivery_desk import DeliveryDesk
from feedweir.web.door import Door, WebOptions, utc_now
from feedweir.web.feeds import reader_routes
from feedweir.web.host_check import allowed_names, is_allowed
from feedweir.web.intake import Intake
from feedweir.web.library import Library
from feedweir.web.measuring import Meter
from feedweir.web.outlines import outline_routes
from feedweir.web.respond import json_response, problem
from feedweir.web.returning import returning_routes
from feedweir.web.streams import stream_routes
from feedweir.web.subscriptions import subscription_routes

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
    library: Library,
    *,
    options: WebOptions | None = None,
    clock: Callable[[], datetime] = utc_now,
    desk: DeliveryDesk | None = None,
    intake: Intake | None = None,
) -> FastAPI:
    """The door to this library, to its deliveries with a `desk`, for documents with an `intake`.

    Apps share nothing: a process may have several.
    """
    door = Door(library=library, options=options or WebOptions(), clock=clock, has_hub=desk is not None)
    # The framework's own description of the routes would not pass the gate.
    app = FastAPI(title="Feedweir", version=__version__, openapi_url=None, dependencies=[Depends(gate(door))])
    meter = Meter(library)
    if desk is not None:
        app.include_router(subscription_routes(door, desk))
        app.include_router(returning_routes(door, desk))
        app.include_router(stream_routes(door, desk))
    if intake is not None:
        app.include_router(arrival_routes(door, intake))
    app.include_router(program_routes(door, meter))
    app.include_router(outline_routes(door))
    app.include_router(reader_routes(door))
    _describe(app)
    _answer_errors(app)
    names = allowed_names(door.options.public_url, door.options.allowed_hosts)
    app.add_middleware(OwnHostsOnly, names=names)
    _watch(app, meter)
    app.add_middleware(HeadAsGet)
    return app


def _describe(app: FastAPI) -> None:
    @app.get("/v1/openapi.json", include_in_schema=False)
    def description() -> Response:
        return json_response(app.openapi())


class HeadAsGet:
    """HEAD is GET whose body the server keeps to itself; so no route needs to know of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The server's own scope still says HEAD, by which it leaves the body out.
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)


class OwnHostsOnly:
    """Answers only requests that name one of our hosts; all others were led here by someone else's name."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._app
        if scope["type"] == "http" and not is_allowed(
            host := Request(scope).headers.get("host"), self._names
        ):
            hint = "the operator can allow it: FEEDWEIR_ALLOWED_HOSTS, or allowed_hosts in feedweir.toml"
            detail = f"This server does not answer to the name {host}."
            answer = problem(Request(scope), 421, detail, hint=hint)
        await answer(scope, receive, send)


def _watch(app: FastAPI, meter: Meter) -> None:
    @app.middleware("http")
    async def watch(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        started = time.perf_counter()
        try:
            response = await proceed(request)
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            response = problem(request, 500, "Something went wrong here; the log of the server says more.")
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
        # The route's pattern, not the path: strangers must not be able to make up label values.
        route = getattr(request.scope.get("route"), "path", "(none)").replace(":path}", "}")
        method = request.method if request.method in _METHODS else "other"
        meter.observe(route, method, response.status_code, time.perf_counter() - started)
        return response


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
        detail = "There is nothing here." if error.detail == "Not Found" else str(error.detail)
        return problem(request, error.status_code, detail, headers=dict(error.headers or {}))
