"""Vocabularies that were registered: the patterns of a query as they are with those.

What the package knows is part of what a pattern means; what was registered is put into the patterns when a query is
compiled or tried out, so that whoever gets them need know nothing of it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from feedweir.errors import LanguageError
from feedweir.plan.predicates import AnyConstraint, GraphPattern
from feedweir.plan.taxonomies import Taxonomy, in_taxonomy, packaged_taxonomy, together

T = TypeVar("T")
VOCABULARY = "register vocabulary '"
"""How the statements of vocabularies begin, as they are kept."""
MOST_NARROWER = 2_000
"""How many terms one term of a pattern may stand for."""


def in_vocabularies(asked: T, registered: Taxonomy) -> T:
    """A predicate or a plan, each pattern of which asks for what registered vocabularies make narrower; itself if that
    changes nothing."""
    if not registered.classes and not registered.properties:
        return asked
    found: T = _changed(asked, registered)
    return found


def _changed(value: Any, registered: Taxonomy) -> Any:
    if isinstance(value, GraphPattern):
        return _in_all(value, registered)
    if isinstance(value, tuple):
        parts = [_changed(one, registered) for one in value]
        return value if all(one is other for one, other in zip(parts, value, strict=True)) else tuple(parts)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for one in fields(value):
        before = getattr(value, one.name)
        after = _changed(before, registered)
        if after is not before:
            changes[one.name] = after
    return replace(value, **changes) if changes else value


def _in_all(pattern: GraphPattern, registered: Taxonomy) -> GraphPattern:
    """The pattern with what is narrower written out, unless it is what the package knows anyway."""
    found = in_taxonomy(pattern, together((packaged_taxonomy(), registered)))
    if found is pattern or found == in_taxonomy(pattern):
        return pattern
    _refuse_many(found)
    return replace(found, is_exact=True)


def _refuse_many(pattern: GraphPattern) -> None:
    for one in pattern.constraints:
        if isinstance(one, AnyConstraint) and len(one.parts) > MOST_NARROWER:
            raise LanguageError(
                f"a class or property of a pattern has {len(one.parts) - 1:,} narrower ones, of which "
                f"{MOST_NARROWER:,} can be asked for",
                hint="name narrower ones, or say graph exactly { … }",
            )
    for absent in pattern.absent:
        _refuse_many(absent)
