"""The algebra as frozen nodes: built from statements, walked, explained."""

from feedweir.plan.build import build
from feedweir.plan.expand import expand, feeds_in
from feedweir.plan.explain import explain
from feedweir.plan.flatten import Branch, branches, is_join_free
from feedweir.plan.picture import dot, svg
from feedweir.plan.walk import inputs_of, map_inputs, postorder, rebuilt

__all__ = [
    "Branch",
    "branches",
    "build",
    "dot",
    "expand",
    "explain",
    "feeds_in",
    "inputs_of",
    "is_join_free",
    "map_inputs",
    "postorder",
    "rebuilt",
    "svg",
]
