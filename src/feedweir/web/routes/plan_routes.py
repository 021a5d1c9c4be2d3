"""Routes that show plans: how the filters of a source are evaluated together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from feedweir.optimize.plan_report import ExplainedPlan, as_dot, as_text, as_value
from feedweir.web.door import Door
from feedweir.web.responses import body_response, json_response

_DRAWN: Mapping[str, tuple[Callable[[ExplainedPlan], str], str]] = MappingProxyType(
    {
        "text": (as_text, "text/plain"),
        "dot": (as_dot, "text/vnd.graphviz"),
    }
)


def plan_routes(door: Door) -> APIRouter:
    router = APIRouter()

    @router.get("/v1/plan")
    def plan(request: Request, source: str = "", format: Literal["json", "text", "dot"] = "json") -> Response:
        """The current plan of a source, or of all sources."""
        plans = door.backend.ask.plans(source)
        if format == "json":
            return json_response({"plans": [as_value(one) for one in plans]})
        draw, media_type = _DRAWN[format]
        body = "\n\n".join(map(draw, plans)).encode()
        return body_response(request, body, media_type, now=door.clock())

    return router
