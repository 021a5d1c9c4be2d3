"""XSCL: joins between documents, read into value-join normal form.

`S//book->x1[.//author->x2] FOLLOWED BY{x2=x5, 30 days} S//blog->x4[.//author->x5]`. A path applied to a variable inside
the braces (`x1//author = x4//author`) becomes a branch of the block's pattern with a variable of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from xml.etree import ElementTree
from xml.parsers import expat

from feedweir.language.literals import name, window
from feedweir.language.queries import BlockJoin, Named, PathBlock, Xscl
from feedweir.language.tokens import Cursor
from feedweir.language.tree_patterns import binding, path, step_of, steps, variables_of, with_child
from feedweir.plan.construction import HOLE
from feedweir.plan.predicates import PatternNode

_ANY_DOCUMENT = PatternNode("/", "*")
_AXES = ("/", "//")
_JOINS = ("join", "followed")
_OTHER_COMPARISONS = ("!=", "<>", "<", "<=", ">", ">=")
_ONLY_EQUAL = (
    "a join finds documents by what is equal in them: x = y; what is compared with a constant goes into a block:"
    " //item[price < 10]"
)
_WINDOW_FOLLOWS = "the window comes next: {x2 = x5, 30 days}"


def braced(c: Cursor) -> Xscl:
    """`xscl { … }` as a member of a union."""
    c.at += 1
    c.expect("{")
    select = selection(c)
    body = expression(c)
    c.expect("}")
    return Xscl(body, _checked(c, select, body))


def from_clause(c: Cursor, select: Template) -> Xscl | Named:
    """What follows FROM in a query of its own; a feed alone is that feed."""
    body = expression(c)
    if isinstance(body, PathBlock) and body.pattern is _ANY_DOCUMENT and not select.text:
        return Named(body.feed)
    return Xscl(body, _checked(c, select, body))


@dataclass(frozen=True, slots=True)
class Template:
    """What a SELECT clause makes, and where the script says it."""

    text: str = ""
    """Empty when the clause is omitted or `*`."""
    token: int = 0
    start: int = 0
    """Characters of the token before the template."""
    is_list: bool = False
    """Whether the script names variables, one in every other token from here on."""


def selection(c: Cursor) -> Template:
    """The template of a SELECT clause, up to and with FROM."""
    word = c.words[c.at]
    if word.startswith("select") and "<" in word:
        token = c.tokens[c.at]
        template = Template(token[len("select") :].strip(), c.at, token.index("<"))
        c.at += 1
    elif c.accept("select"):
        template = _template(c)
    else:
        return Template()
    c.expect("from")
    return template


def _template(c: Cursor) -> Template:
    if c.accept("*"):
        return Template()
    start = c.at
    if c.is_string():
        return Template(c.string(), start, 1)
    names = [binding(c)]
    while c.accept(","):
        names.append(binding(c))
    holes = "".join(f"{{${label}}}" for label in names)
    return Template(f"<result>{holes}</result>", start, is_list=True)


def _checked(c: Cursor, select: Template, body: PathBlock | BlockJoin) -> str:
    """The template, if it is XML and names only variables that are bound."""
    if not select.text:
        return ""
    known = variables_in(body)
    for number, hole in enumerate(HOLE.finditer(select.text)):
        if hole[1] not in known:
            at = select.token + 2 * number if select.is_list else select.token
            within = 0 if select.is_list else select.start + hole.start(1)
            message = f"SELECT uses `{hole[1]}`, which is not bound"
            raise c.error(message, at=at, within=within, hint=_known(known))
    if problem := _xml_problem(select.text):
        message, place = problem
        hint = "one element, with {$variable} where values go"
        raise c.error(
            f"SELECT is not an XML template: {message}",
            at=select.token,
            within=select.start + place,
            hint=hint,
        )
    return select.text


def _xml_problem(template: str) -> tuple[str, int] | None:
    """What keeps a template from being XML, and where."""
    if "<!" in template:
        return "it contains a comment or a declaration", template.index("<!")
    try:
        ElementTree.fromstring(HOLE.sub("x", template))
    except ElementTree.ParseError as problem:
        return expat.ErrorString(problem.code) or "it cannot be read", _place_of_problem(template)
    return None


def _place_of_problem(template: str) -> int:
    """Where reading fails when what stands in for a value is as long as its name."""
    try:
        ElementTree.fromstring(HOLE.sub(lambda hole: "x" * len(hole[0]), template))
    except ElementTree.ParseError as problem:
        line, column = problem.position
        return sum(len(each) for each in template.splitlines(keepends=True)[: line - 1]) + column
    return 0


def expression(c: Cursor) -> PathBlock | BlockJoin:
    """Blocks with joins between them, from left to right."""
    body = _left(c)
    depth = c.depth
    while c.words[c.at] in _JOINS:
        c.enter()
        kind: Literal["join", "followed by"] = "join" if c.accept("join") else "followed by"
        if kind == "followed by":
            c.at += 1
            c.expect("by")
        body = _join(c, kind, body)
    c.depth = depth
    return body


def _left(c: Cursor) -> PathBlock | BlockJoin:
    if c.words[c.at] != "(":
        return _block(c)
    c.at += 1
    c.enter()
    inner = expression(c)
    c.leave()
    c.expect(")")
    return inner


def _block(c: Cursor) -> PathBlock:
    feed = name(c)
    if c.words[c.at] in _AXES:
        return PathBlock(feed, path(c))
    if c.words[c.at] in ("->", "as"):
        c.at += 1
        return PathBlock(feed, replace(_ANY_DOCUMENT, variable=binding(c)))
    return PathBlock(feed, _ANY_DOCUMENT)


def _join(c: Cursor, kind: Literal["join", "followed by"], left: PathBlock | BlockJoin) -> BlockJoin:
    """The braces are read twice: what they say of variables needs the block that follows them."""
    start = c.at
    _skip_braces(c)
    right = _block(c)
    end = c.at
    c.at = start
    _check_distinct(c, left, right, end)
    left, right, equalities = _conditions(c, left, right)
    spec = window(c)
    c.expect("}")
    c.at = end
    return BlockJoin(kind, left, right, equalities, spec)


def _skip_braces(c: Cursor) -> None:
    c.expect("{", hint="JOIN{x2 = x5, 30 days}")
    while c.words[c.at] not in ("}", "", ";"):
        c.at += 1
    c.expect("}")


def _check_distinct(c: Cursor, left: PathBlock | BlockJoin, right: PathBlock, end: int) -> None:
    names = variables_in(left) + variables_of(right.pattern)
    if len(set(names)) < len(names):
        label = next(label for label in names if names.count(label) > 1)
        at = max(place for place in range(1, end) if _binds(c, place, label))
        raise c.error(f"two steps have the variable `{label}`", at=at, hint="give each its own variable")


def _binds(c: Cursor, place: int, label: str) -> bool:
    return c.words[place - 1] in ("->", "as") and c.tokens[place].removeprefix("$") == label


def _conditions(
    c: Cursor, left: PathBlock | BlockJoin, right: PathBlock
) -> tuple[PathBlock | BlockJoin, PathBlock, tuple[tuple[str, str], ...]]:
    """`x2 = x5 AND x3 = x6,` in normal form; there may be no condition but the window."""
    c.expect("{")
    equalities: list[tuple[str, str]] = []
    lefts, rights = variables_in(left), variables_of(right.pattern)
    while _is_condition(c):
        start = c.at
        if c.words[c.at + 1] in _OTHER_COMPARISONS:
            raise c.error(
                f"documents cannot be joined by `{c.words[c.at + 1]}`", at=c.at + 1, hint=_ONLY_EQUAL
            )
        one, is_left, left, right = _side(c, left, right, lefts, rights)
        c.expect("=", hint="XSCL joins by equality")
        other, is_also_left, left, right = _side(c, left, right, lefts, rights)
        if is_left == is_also_left:
            hint = "one variable of each block: x2 = x5"
            raise c.error(f"`{one}` and `{other}` are on the same side of the join", at=start, hint=hint)
        equalities.append((one, other) if is_left else (other, one))
        if not c.accept("and"):
            is_or = c.words[c.at] == "or"
            hint = "either of two joins: from (xscl { … } | xscl { … })" if is_or else _WINDOW_FOLLOWS
            c.expect(",", hint=hint)
            break
    return left, right, tuple(equalities)


def _is_condition(c: Cursor) -> bool:
    return c.words[c.at + 1] in ("=", *_AXES, ".", "[", "==", *_OTHER_COMPARISONS)


def _side(
    c: Cursor, left: PathBlock | BlockJoin, right: PathBlock, lefts: list[str], rights: list[str]
) -> tuple[str, bool, PathBlock | BlockJoin, PathBlock]:
    """A variable and whether it is of the left side. A path from one is bound to a variable of its own."""
    start = c.at
    label = binding(c)
    is_left = label in lefts
    if not is_left and label not in rights:
        raise c.error(f"`{label}` is not bound", at=start, hint=_known(lefts + rights))
    if c.words[c.at] not in ("/", "//", ".", "["):
        return label, is_left, left, right
    c.accept(".")
    branch = _relative(c)
    if is_left:
        bound, left = _bind_left(left, label, branch, lefts + rights)
    else:
        bound, pattern = bind_branch(right.pattern, label, branch, lefts + rights)
        right = replace(right, pattern=pattern)
    side = lefts if is_left else rights
    if bound not in side:
        side.append(bound)
    return bound, is_left, left, right


def _relative(c: Cursor) -> PatternNode:
    """A path after a variable; brackets right after the variable are not a step."""
    if c.words[c.at] == "[":
        raise c.error("a condition needs a step before it", expected=("`/`", "`//`"), hint="x1/author[@id]")
    start = c.at
    branch = steps(c, "", _END)
    if variables_of(branch) != [_END]:
        raise c.error(
            "variables cannot be bound inside the braces",
            at=start,
            hint="bind them in the blocks, and leave out `->` here",
        )
    return branch


def _bind_left(
    left: PathBlock | BlockJoin, label: str, branch: PatternNode, known: list[str]
) -> tuple[str, PathBlock | BlockJoin]:
    if isinstance(left, PathBlock):
        bound, pattern = bind_branch(left.pattern, label, branch, known)
        return bound, replace(left, pattern=pattern)
    if label in variables_of(left.right.pattern):
        bound, pattern = bind_branch(left.right.pattern, label, branch, known)
        return bound, replace(left, right=replace(left.right, pattern=pattern))
    bound, below = _bind_left(left.left, label, branch, known)
    return bound, replace(left, left=below)


def bind_branch(
    pattern: PatternNode, label: str, branch: PatternNode, known: list[str]
) -> tuple[str, PatternNode]:
    """The variable at the end of a branch below `label`, and the pattern that has it.

    A branch that is already there in the same words is used again: equal definitions have one variable.
    """
    step = step_of(pattern, label)
    for child in step.children if step is not None else ():
        bound = _bound_alike(branch, child)
        if bound:
            return bound, pattern
    number = 1
    while f"{label}_{number}" in known:
        number += 1
    return f"{label}_{number}", with_child(pattern, label, _renamed(branch, f"{label}_{number}"))


_END = "?"
"""The variable of a path's last step until it gets its own: nobody can write it."""


def _bound_alike(branch: PatternNode, child: PatternNode) -> str:
    """The variable of an equal branch at the place where this one ends; empty when there is none."""
    if _unbound(branch) != _unbound(child):
        return ""
    if branch.variable == _END:
        return child.variable
    pairs = zip(branch.children, child.children, strict=True)
    return next((found for one, other in pairs if (found := _bound_alike(one, other))), "")


def _renamed(branch: PatternNode, variable: str) -> PatternNode:
    """The branch with its end called by its own variable."""
    children = tuple(_renamed(child, variable) for child in branch.children)
    return replace(
        branch, variable=variable if branch.variable == _END else branch.variable, children=children
    )


def _unbound(branch: PatternNode) -> PatternNode:
    return replace(branch, variable="", children=tuple(map(_unbound, branch.children)))


def variables_in(body: PathBlock | BlockJoin) -> list[str]:
    """Every variable of an expression, from left to right."""
    if isinstance(body, PathBlock):
        return variables_of(body.pattern)
    return variables_in(body.left) + variables_of(body.right.pattern)


def _known(names: list[str]) -> str:
    return f"bound here: {', '.join(names)}" if names else "bind a step with `->x1`"
