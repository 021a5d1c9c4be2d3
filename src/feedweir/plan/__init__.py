"""The algebra as frozen nodes: predicates, operators, and ways to walk and rewrite them."""

from feedweir.plan.expansion import Branch, branches, expand, feeds_in
from feedweir.plan.walk import inputs_of, map_inputs, postorder, rebuilt

__all__ = [
    "Branch",
    "branches",
    "expand",
    "feeds_in",
    "inputs_of",
    "map_inputs",
    "postorder",
    "rebuilt",
]
