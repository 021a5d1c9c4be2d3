"""Predicates with their boolean structure, and the `where` clause made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from feedweir.errors import LanguageError
from feedweir.language.atoms import atom, condition_on
from feedweir.language.graphs import braced_graph
from feedweir.language.paths import tree_pattern
from feedweir.language.predicates import FALSE, TRUE, And, AtLeast, FromFeeds, Not, Or, Predicate
from feedweir.language.search import parse_search
from feedweir.language.statements import Condition
from feedweir.language.subjects import WHOLE
from feedweir.language.tokens import Cursor
from feedweir.language.values import name, variable
from feedweir.language.word_atoms import each_once, quantity


def predicate(c: Cursor) -> Predicate:
    """Anything that holds or does not hold of one item: `or` binds weakest, then `and`, then `not`."""
    first = _conjunction(c)
    if c.words[c.at] not in _OR:
        return first
    parts = [first]
    while c.words[c.at] in _OR:
        c.at += 1
        parts.append(_conjunction(c))
    return Or(tuple(parts))


_OR = frozenset(("or", "||"))
_AND = frozenset(("and", "&&"))


def _conjunction(c: Cursor) -> Predicate:
    first = _factor(c)
    if c.words[c.at] not in _AND:
        return first
    parts = [first]
    while c.words[c.at] in _AND:
        c.at += 1
        parts.append(_factor(c))
    return And(tuple(parts))


def _factor(c: Cursor) -> Predicate:
    read = _OPENERS.get(c.words[c.at])
    if read is not None:
        return read(c)
    return _on(c) if c.tokens[c.at][:1] == "$" else atom(c)


def _not(c: Cursor) -> Predicate:
    c.at += 1
    c.enter()
    part = _factor(c)
    c.leave()
    return Not(part)


def _parenthesis(c: Cursor) -> Predicate:
    c.at += 1
    c.enter()
    inner = predicate(c)
    c.leave()
    c.expect(")")
    return inner


def _on_whole_item(c: Cursor) -> Predicate:
    return condition_on(c, WHOLE)


def _some_of(c: Cursor) -> Predicate:
    """`all of (…)`, `any of (…)`, `at least 2 of (…)`."""
    is_any = c.words[c.at] == "any"
    wanted = quantity(c)
    c.expect("(")
    c.enter()
    parts = [predicate(c)]
    while c.accept(","):
        parts.append(predicate(c))
    c.leave()
    c.expect(")")
    if is_any:
        return Or(tuple(parts))
    return And(tuple(parts)) if wanted is None else AtLeast(wanted, each_once(parts))


def _from_feeds(c: Cursor) -> FromFeeds:
    """`from (A | B)`: the item came from one of these sources."""
    c.at += 1
    if not c.accept("("):
        return FromFeeds((name(c),))
    names = [name(c)]
    while c.accept("|") or c.accept(","):
        names.append(name(c))
    c.expect(")")
    return FromFeeds(tuple(names))


def _search(c: Cursor) -> Predicate:
    """`search 'what people type'`."""
    c.at += 1
    start = c.at
    text = c.string("what to search for")
    try:
        return parse_search(text)
    except LanguageError as problem:
        message = f"in this search: {problem.message}"
        # Behind the quote; one that is written twice inside counts once in what was read.
        raise c.error(message, at=start, within=1 + problem.offset, hint=problem.hint) from problem


def _path(c: Cursor) -> Predicate:
    c.at += 1
    return tree_pattern(c)


def _true(c: Cursor) -> Predicate:
    c.at += 1
    return TRUE


def _false(c: Cursor) -> Predicate:
    c.at += 1
    return FALSE


_OPENERS: dict[str, Callable[[Cursor], Predicate]] = {
    "not": _not,
    "!": _not,
    "(": _parenthesis,
    "contains": _on_whole_item,
    "similar": _on_whole_item,
    "references": _on_whole_item,
    "extends": _on_whole_item,
    "shares-link": _on_whole_item,
    "all": _some_of,
    "any": _some_of,
    "at": _some_of,
    "from": _from_feeds,
    "search": _search,
    "path": _path,
    "graph": braced_graph,
    "true": _true,
    "false": _false,
}


# The where clause


def where(c: Cursor) -> tuple[Condition, ...]:
    """`$a[…] and $b[…] and …`; what has no variable is about the whole `from`, and comes last."""
    start = c.at
    found: list[Condition] = []
    while c.tokens[c.at][:1] == "$":
        found.append(_bracketed(c))
        if c.words[c.at] not in _AND:
            break
        c.at += 1
    else:
        found = []
    if not found or c.words[c.at] in _OR:
        c.at = start
        c.speaks_of_variables = False
        whole = predicate(c)
        return _sorted_out(c, whole, start) if c.speaks_of_variables else (Condition("", whole),)
    return tuple(found)


def _bracketed(c: Cursor) -> Condition:
    if c.is_inside:
        raise c.error("a variable's condition cannot stand in another's brackets", hint="close the `[` first")
    about = variable(c)
    c.expect("[", hint="a condition on a variable stands in brackets: `$r[title contains 'x']`")
    c.is_inside = True
    inner = predicate(c)
    c.is_inside = False
    c.expect("]")
    return Condition(about, inner)


@dataclass(frozen=True, slots=True)
class _On:
    """`$variable[predicate]` inside a larger expression, until `_sorted_out` has dealt with it."""

    variable: str
    predicate: Predicate


def _on(c: Cursor) -> Predicate:
    found = _bracketed(c)
    c.speaks_of_variables = True
    return _On(found.variable, found.predicate)  # type: ignore[return-value]


def _sorted_out(c: Cursor, whole: Predicate, start: int) -> tuple[Condition, ...]:
    """Any boolean expression, as long as each conjunct speaks of one variable."""
    conditions: list[Condition] = []
    bare: list[Predicate] = []
    for conjunct in _conjuncts(whole):
        variables = sorted(_variables_in(conjunct))
        if len(variables) > 1:
            shown = " and ".join(f"`${name}`" if name else "the whole feed" for name in variables)
            hint = "conditions on different variables are combined by `and`"
            raise c.error(f"one condition speaks of {shown}", at=start, hint=hint)
        if variables in ([], [""]):
            bare.append(conjunct)
        else:
            conditions.append(Condition(variables[0], _without_variables(conjunct)))
    if bare:
        merged = And(tuple(bare)) if len(bare) > 1 else bare[0]
        conditions.append(Condition("", whole if not conditions else merged))
    return tuple(conditions)


def _conjuncts(whole: Predicate) -> list[Predicate]:
    """The parts of a conjunction; a part that speaks of several variables is taken apart in turn."""
    if not isinstance(whole, And) or not whole.parts:
        return [whole]
    found: list[Predicate] = []
    for part in whole.parts:
        found += _conjuncts(part) if len(_variables_in(part)) > 1 else [part]
    return found


def _variables_in(part: Predicate) -> set[str]:
    """The variables a predicate speaks of; empty stands for the whole feed."""
    if isinstance(part, _On):
        return {part.variable}
    if isinstance(part, (And, Or, AtLeast)):
        return set().union(*map(_variables_in, part.parts)) if part.parts else set()
    return _variables_in(part.part) if isinstance(part, Not) else {""}


def _without_variables(part: Predicate) -> Predicate:
    if isinstance(part, _On):
        return part.predicate
    if isinstance(part, Not):
        return Not(_without_variables(part.part))
    if isinstance(part, AtLeast):
        return AtLeast(part.count, tuple(map(_without_variables, part.parts)))
    if isinstance(part, (And, Or)):
        return type(part)(tuple(map(_without_variables, part.parts)))
    return part
