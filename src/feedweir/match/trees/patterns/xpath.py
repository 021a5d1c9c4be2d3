"""A tree pattern as XPath 1.0 text: for explanations, and to compare with lxml."""

from __future__ import annotations

import numpy as np

from feedweir.plan.predicates import PatternNode, TreePattern


def xpath_of(pattern: TreePattern) -> str:
    """An expression that selects the nodes the pattern's first step can be; empty when the pattern is not there.

    Names are tested by `name()`, that is as the document writes them, so no namespace declarations are needed.
    """
    return _step(pattern.root, "")


def _step(node: PatternNode, context: str) -> str:
    conditions = "".join(f"[{_step(child, '.')}]" for child in node.children)
    return f"{context}{node.axis}{_test(node.name)}{_comparison(node)}{conditions}"


def _test(name: str) -> str:
    if name in ("*", "@*"):
        return name
    if name.startswith("@"):
        return f"@*[name()={quoted(name[1:])}]" if ":" in name else name
    return f"*[name()={quoted(name)}]"


def _comparison(node: PatternNode) -> str:
    if node.op is None or node.value is None:
        return ""
    value = quoted(node.value) if isinstance(node.value, str) else np.format_float_positional(node.value)
    return f"[. {node.op} {value}]"


def quoted(text: str) -> str:
    """An XPath string literal; XPath has no escapes, so text with both quotes is put together."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    parts = ', "\'", '.join(f"'{part}'" for part in text.split("'"))
    return f"concat({parts})"
