"""The algebra as frozen nodes: built from statements, walked, explained."""

from feedweir.plan.build import build
from feedweir.plan.expand import expand, inputs_of, map_inputs
from feedweir.plan.flatten import Branch, branches, is_join_free

__all__ = ["Branch", "branches", "build", "expand", "inputs_of", "is_join_free", "map_inputs"]
