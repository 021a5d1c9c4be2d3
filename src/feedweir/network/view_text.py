"""Tree views as text: `path //news[company = 'ACME'][author->a]//headline->h return val a, cont h`."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from feedweir.errors import near
from feedweir.language.tokens import Cursor
from feedweir.language.tree_patterns import format_tree_pattern, tree_pattern, variables_of
from feedweir.network.views import Kind, Returned, TreeBranch, laid_out
from feedweir.plan.predicates import PatternNode, TreePattern

KINDS = ("val", "cont")


def tree_branch(text: str, source: str) -> TreeBranch:
    """Read a tree view; a variable at a step is the name by which `return` asks for it and readers see it."""
    c = Cursor(text)
    c.expect("path")
    start = c.at
    pattern = tree_pattern(c)
    names = variables_of(pattern.root)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated:
        raise c.error(
            f"`{repeated}` names two steps", at=start, hint="every returned step has a name of its own"
        )
    places = {laid.node.variable: place for place, laid in enumerate(laid_out(pattern.root))}
    returned = [_returned(c, places)] if c.accept("return") else []
    while returned and c.accept(","):
        returned.append(_returned(c, places))
    if c.words[c.at]:
        raise c.unexpected(expected=("`return val NAME, cont NAME`",))
    return TreeBranch(source, without_names(pattern.root), tuple(sorted(set(returned), key=_order)))


def format_tree_branch(branch: TreeBranch) -> str:
    """The text of a tree view."""
    names = {one.node: one.name for one in branch.returned}
    root = _named(branch.root, names, [0])
    wanted = ", ".join(f"{one.kind} {one.name}" for one in branch.returned)
    return format_tree_pattern(TreePattern(root)) + (f" return {wanted}" if wanted else "")


def without_names(node: PatternNode) -> PatternNode:
    return replace(node, variable="", children=tuple(map(without_names, node.children)))


def _returned(c: Cursor, places: dict[str, int]) -> Returned:
    kind = c.words[c.at]
    if kind not in KINDS:
        raise c.unexpected(expected=("`val`", "`cont`"))
    c.at += 1
    name = c.tokens[c.at]
    if name not in places or not name:
        hint = near(name, places) or f"name the step in the path, as in `//headline->{name or 'h'}`"
        raise c.error(f"no step is named `{name}`", hint=hint)
    c.at += 1
    return Returned(places[name], cast(Kind, kind), name)


def _order(one: Returned) -> tuple[int, str]:
    return one.node, one.kind


def _named(node: PatternNode, names: dict[int, str], counter: list[int]) -> PatternNode:
    variable = names.get(counter[0], "")
    counter[0] += 1
    children = tuple(_named(child, names, counter) for child in node.children)
    return replace(node, variable=variable, children=children)
