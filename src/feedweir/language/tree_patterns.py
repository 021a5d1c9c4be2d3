"""Tree patterns: `//item[.//category = 'rock']/title->x`, XPath with variables at its steps.

A step is reached by `/` (child) or `//` (descendant); it has a name, `*`, or `@name`; brackets hold relative paths,
which must all be there, and a comparison of what they end at. `->x`, or `as x`, binds a step to a variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, cast

from feedweir.language.literals import COMPARISONS, RESERVED, format_number, is_number, number
from feedweir.language.tokens import Cursor, quoted
from feedweir.plan.predicates import Comparison, PatternNode, TreePattern


@dataclass(slots=True)
class Step:
    """A step while it is being read."""

    axis: Literal["/", "//"]
    name: str
    children: list[PatternNode] = field(default_factory=list)
    variable: str = ""
    op: Comparison | None = None
    value: str | float | None = None

    def frozen(self) -> PatternNode:
        return PatternNode(self.axis, self.name, tuple(self.children), self.variable, self.op, self.value)


def tree_pattern(c: Cursor) -> TreePattern:
    """`//a[b]`, or the same between quotes."""
    if c.is_string():
        start = c.at
        inner = Cursor(c.string())
        found = path(inner)
        if inner.words[inner.at]:
            raise c.error(f"{inner.seen()} is not expected in this path", at=start)
        return TreePattern(found)
    return TreePattern(path(c))


def path_condition(c: Cursor) -> TreePattern:
    """`path //a[b]` as a condition."""
    c.at += 1
    return tree_pattern(c)


def path(c: Cursor) -> PatternNode:
    """A path that begins with `/` or `//`: the first step, with the others below it."""
    if c.words[c.at] not in _AXES:
        raise c.missing("a path", expected=("`/`", "`//`"))
    return steps(c, "")


_AXES = ("/", "//")
_ONE_COMPARISON = "a step takes one comparison; add a step for the second"


def steps(c: Cursor, axis: str, end: str = "") -> PatternNode:
    """The steps of a path; `axis` is how the first one is reached when no sign says it.

    `end` is the variable of the last step, if nothing else names it.
    """
    read: list[Step] = []
    depth = c.depth
    if axis and c.words[c.at] not in _AXES:
        read.append(_step(c, axis))
    while c.words[c.at] in _AXES:
        c.enter()
        c.at += 1
        if c.words[c.at] == "text" and c.words[c.at + 1] == "(" and read:
            c.at += 2
            c.expect(")")
            break
        read.append(_step(c, c.words[c.at - 1]))
    c.depth = depth
    if not read:
        raise c.missing("a path", expected=("`/`", "`//`"))
    last = read[-1]
    _end_condition(c, last)
    last.variable = last.variable or end
    node = last.frozen()
    for above in reversed(read[:-1]):
        above.children.append(node)
        node = above.frozen()
    return node


def _step(c: Cursor, axis: str) -> Step:
    step = Step(cast(Literal["/", "//"], axis), _step_name(c))
    while True:
        if c.words[c.at] == "[":
            _bracket(c, step)
        elif c.words[c.at] in ("->", "as"):
            c.at += 1
            _bind(c, step)
        else:
            return step


def _step_name(c: Cursor) -> str:
    if c.accept("*"):
        return "*"
    if c.accept("@"):
        return "@*" if c.accept("*") else f"@{_word(c)}"
    return _word(c)


def _word(c: Cursor) -> str:
    token = c.tokens[c.at]
    if not (token[:1].isalpha() or token[:1] == "_") or "://" in token or token.endswith("'"):
        raise c.missing("the name of an element", expected=("a name", "`*`", "`@name`"))
    c.at += 1
    return token


def _bind(c: Cursor, step: Step) -> None:
    if step.variable:
        raise c.error("this step already has a variable", hint=f"it is `{step.variable}`")
    step.variable = binding(c)


def binding(c: Cursor) -> str:
    """The name of an XSCL variable; it may end with primes."""
    token = c.tokens[c.at].removeprefix("$")
    is_word = (token[:1].isalpha() or token[:1] == "_") and "://" not in token
    if not is_word or token.lower() in RESERVED:
        raise c.missing("a variable", expected=("a variable, as in `->x1`",))
    c.at += 1
    return token


def _bracket(c: Cursor, step: Step) -> None:
    """`[.//author->x]`, `[@id = 'x']`, `[. = 'x']`, several joined by `and`."""
    c.at += 1
    c.enter()
    while True:
        start = c.at
        _relative(c, step)
        if c.words[c.at] in COMPARISONS:
            if c.at > start + 1 and _is_literal(c, c.at - 1) and c.words[c.at - 2] in COMPARISONS:
                raise c.error("this step already has a comparison", hint=_ONE_COMPARISON)
            c.at += 1
            raise c.missing("a value", expected=("a quoted text", "a number"))
        if not c.accept("and"):
            break
    if c.words[c.at] == "or":
        raise c.error(
            "`or` cannot be used inside a tree pattern", hint="write two patterns with `or` between them"
        )
    c.leave()
    c.expect("]")


def _relative(c: Cursor, step: Step) -> None:
    if c.words[c.at] == "." or (c.words[c.at] == "text" and c.words[c.at + 1] == "("):
        is_dot = c.words[c.at] == "."
        c.at += 1 if is_dot else 2
        if not is_dot:
            c.expect(")")
        elif c.words[c.at] in _AXES:
            step.children.append(steps(c, ""))
            return
        if c.words[c.at] not in COMPARISONS:
            raise c.unexpected(expected=("`/`", "`//`", "a comparison"))
        _end_condition(c, step)
        return
    step.children.append(steps(c, "/"))


def _end_condition(c: Cursor, step: Step) -> None:
    """A comparison after a path is about its last step."""
    op = COMPARISONS.get(c.words[c.at])
    if op is None or not _is_literal(c, c.at + 1):
        return
    if step.op is not None:
        raise c.error("this step already has a comparison", hint=_ONE_COMPARISON)
    c.at += 1
    step.op = op
    step.value = c.string() if c.is_string() else number(c)


def _is_literal(c: Cursor, at: int) -> bool:
    token = c.tokens[at]
    return is_number(token) or (token[:1] in "'\"“‘-" and token != "->" if token else False)


def variables_of(node: PatternNode) -> list[str]:
    """The variables of a pattern, in document order."""
    found = [node.variable] if node.variable else []
    return found + [name for child in node.children for name in variables_of(child)]


def with_child(node: PatternNode, variable: str, child: PatternNode) -> PatternNode:
    """The pattern with one more branch below the step that a variable is bound to."""
    children = tuple(with_child(inner, variable, child) for inner in node.children)
    return replace(node, children=(*children, child) if node.variable == variable else children)


def step_of(node: PatternNode, variable: str) -> PatternNode | None:
    """The step that a variable is bound to."""
    if node.variable == variable:
        return node
    return next((found for child in node.children if (found := step_of(child, variable))), None)


# Printing


def format_path(node: PatternNode) -> str:
    """A tree pattern: every branch in brackets, so that a step has nothing but brackets after it."""
    value = ""
    if node.op is not None and node.value is not None:
        literal = quoted(node.value) if isinstance(node.value, str) else format_number(node.value)
        value = f"[. {node.op} {literal}]"
    variable = f"->{node.variable}" if node.variable else ""
    branches = "".join(f"[.{format_path(child)}]" for child in node.children)
    return f"{node.axis}{node.name}{variable}{value}{branches}"


def format_tree_pattern(atom: TreePattern) -> str:
    """With a space where `/*` would begin a comment."""
    text = format_path(atom.root)
    return f"path {text.replace('/*', '/ *', 1) if atom.root.name == '*' else text}"
