"""JSON-LD's contexts: those of ActivityStreams and schema.org are in the package, no other is loaded from anywhere."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from feedweir.errors import DocumentError

_HINT = "include the context in the document; known are those of ActivityStreams and schema.org"
_KNOWN = {
    "www.w3.org/ns/activitystreams": "activitystreams",
    "www.w3.org/ns/activitystreams.jsonld": "activitystreams",
    "schema.org": "schema",
    "www.schema.org": "schema",
    "schema.org/docs/jsonldcontext.jsonld": "schema",
    "schema.org/docs/jsonldcontext.json": "schema",
}
_MOST_CONTEXTS = 1000
"""Each is written into the document where it is named."""


def with_contexts(value: Any) -> tuple[Any, tuple[str, ...]]:
    """JSON with the contexts that it names in place of their addresses, and warnings about those that are left out."""
    unknown: dict[str, None] = {}
    budget = [_MOST_CONTEXTS]
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "@context" in node:
                node["@context"] = _included(node["@context"], unknown, budget)
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    if not unknown:
        return value, ()
    names = ", ".join(list(unknown)[:3])
    return value, (f"a JSON-LD context is not loaded, and what needs it is left out: {names}",)


def _included(context: Any, unknown: dict[str, None], budget: list[int]) -> Any:
    """A context without addresses; what is unknown is left out beside others, and refused alone."""
    listed = context if isinstance(context, list) else [context]
    kept = []
    for one in listed:
        if not isinstance(one, str):
            kept.append(one)
            continue
        found = _KNOWN.get(one.partition("://")[2].partition("#")[0].rstrip("/").lower())
        if found is None:
            unknown[one[:200]] = None
            continue
        budget[0] -= 1
        if budget[0] < 0:
            raise DocumentError(f"the document names more than {_MOST_CONTEXTS} JSON-LD contexts")
        kept.append(context_named(found))
    if listed and not kept:
        raise DocumentError(f"JSON-LD contexts are not loaded, such as {str(listed[0])[:200]}", hint=_HINT)
    return kept if isinstance(context, list) else kept[0]


@lru_cache(maxsize=8)
def context_named(name: str) -> dict[str, Any]:
    """A context of the package, from its compact form: a kind and terms on each line."""
    text = (files("feedweir.items") / "contexts" / f"{name}.txt").read_text("utf-8")
    found: dict[str, Any] = {}
    namespace = ""
    for kind, *words in (line.split() for line in text.splitlines() if line and line[0] != "#"):
        match kind:
            case "vocab":
                found["@vocab"] = words[0]
            case "prefix":
                found[words[0]] = words[1]
                namespace = namespace or f"{words[0]}:"
            case "keyword":
                found |= {word: f"@{word}" for word in words}
            case "plain":
                found |= {word: namespace + word for word in words}
            case "iri":
                found |= {word: {"@id": namespace + word, "@type": "@id"} for word in words}
            case "typed":
                found |= {word: {"@id": namespace + word, "@type": words[0]} for word in words[1:]}
            case "language":
                found[words[0]] = {"@id": namespace + words[1], "@container": "@language"}
            case "list":
                found[words[0]] = {"@id": namespace + words[1], "@type": "@id", "@container": "@list"}
            case "other":
                found[words[0]] = {"@id": words[1], "@type": "@id"}
    return found


def json_ld_of(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A JSON-LD document that names no context by address, with warnings."""
    try:
        value, warnings = with_contexts(json.loads(body))
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), warnings
    except UnicodeDecodeError:
        raise DocumentError("the JSON is not UTF-8 text") from None
    except RecursionError:
        raise DocumentError("the JSON is nested too deep") from None
    except ValueError as error:
        raise DocumentError(f"this is not JSON: {error}") from None
