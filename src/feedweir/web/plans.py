"""Routes that show plans: how the filters of sources are evaluated together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from feedweir.optimize.explain import ExplainedPlan, as_dot, as_text, as_value
from feedweir.optimize.picture import as_svg
from feedweir.web.door import Door
from feedweir.web.respond import body_response, json_response

_DRAWN: Mapping[str, tuple[Callable[[ExplainedPlan], str], str]] = MappingProxyType(
    {
        "text": (as_text, "text/plain"),
        "dot": (as_dot, "text/vnd.graphviz"),
        "svg": (as_svg, "image/svg+xml"),
    }
)


def plan_routes(door: Door) -> APIRouter:
    router = APIRouter()

    @router.get("/v1/plan")
    def plan(
        request: Request, source: str = "", format: Literal["json", "text", "dot", "svg"] = "json"
    ) -> Response:
        """The plan in force of a source, or of all; a picture is of one."""
        if format == "svg" and not source:
            raise HTTPException(400, "A picture is of one source: name it with `source`.")
        plans = door.library.plans(source)
        if format == "json":
            return json_response({"plans": [as_value(one) for one in plans]})
        draw, media_type = _DRAWN[format]
        body = "\n\n".join(map(draw, plans)).encode()
        return body_response(request, body, media_type, now=door.clock())

    return router
