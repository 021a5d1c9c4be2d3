"""Predicates with their boolean structure, read and printed, and the `where` clause made of them."""

from __future__ import annotations

from collections.abc import Callable

from feedweir.errors import LanguageError
from feedweir.language.atom_syntax import ATOM_OPENERS, atom, format_atom
from feedweir.language.literals import variable
from feedweir.language.queries import Condition, OfPart
from feedweir.language.search import parse_search
from feedweir.language.tokens import Cursor
from feedweir.language.word_conditions import each_once, quantity
from feedweir.plan.predicates import FALSE, TRUE, And, AtLeast, Not, Or, Predicate


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
    first = factor(c)
    if c.words[c.at] not in _AND:
        return first
    parts = [first]
    while c.words[c.at] in _AND:
        c.at += 1
        parts.append(factor(c))
    return And(tuple(parts))


def factor(c: Cursor) -> Predicate:
    """A part of a conjunction."""
    read = _OPENERS.get(c.words[c.at])
    if read is not None:
        return read(c)
    return _on(c) if c.tokens[c.at][:1] == "$" else atom(c)


def _not(c: Cursor) -> Predicate:
    c.at += 1
    c.enter()
    part = factor(c)
    c.leave()
    return Not(part)


def _parenthesis(c: Cursor) -> Predicate:
    c.at += 1
    c.enter()
    inner = predicate(c)
    c.leave()
    c.expect(")")
    return inner


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


def _true(c: Cursor) -> Predicate:
    c.at += 1
    return TRUE


def _false(c: Cursor) -> Predicate:
    c.at += 1
    return FALSE


_OPENERS: dict[str, Callable[[Cursor], Predicate]] = {
    **ATOM_OPENERS,
    "not": _not,
    "!": _not,
    "(": _parenthesis,
    "all": _some_of,
    "any": _some_of,
    "at": _some_of,
    "search": _search,
    "true": _true,
    "false": _false,
}


def format_predicate(predicate: Predicate) -> str:
    """A predicate as it would stand in `$r[…]`."""
    match predicate:
        case And(parts) if len(parts) > 1:
            return " and ".join(map(format_factor, parts))
        case Or(parts) if len(parts) > 1:
            return " or ".join(
                format_factor(part) if not _is_and(part) else format_predicate(part) for part in parts
            )
        case And(parts):
            return f"all of ({format_predicate(parts[0])})" if parts else "true"
        case Or(parts):
            return f"any of ({format_predicate(parts[0])})" if parts else "false"
        case Not(part):
            return f"not {format_factor(part)}"
        case OfPart(about, inner):
            return f"${about}[{format_predicate(inner)}]"
        case AtLeast(count, parts):
            return f"at least {count} of ({', '.join(map(format_predicate, parts))})"
        case OfPart(variable, inner):
            return f"${variable}[{format_predicate(inner)}]"
        case OfPart(variable, inner):
            return f"${variable}[{format_predicate(inner)}]"
        case _:
            return format_atom(predicate)


def _is_and(part: Predicate) -> bool:
    return isinstance(part, And) and len(part.parts) > 1


def format_factor(part: Predicate) -> str:
    """A part of a conjunction, in brackets where it needs them."""
    text = format_predicate(part)
    return f"({text})" if isinstance(part, (And, Or)) and len(part.parts) > 1 else text


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
        c.names_parts = False
        whole = predicate(c)
        return _conditions_by_part(c, whole, start) if c.names_parts else (Condition("", whole),)
    return tuple(found)


def _bracketed(c: Cursor) -> Condition:
    if c.is_inside:
        raise c.error("conditions on variables cannot be nested", hint="close the `[` first")
    about = variable(c)
    c.expect("[", hint="put the condition on a variable in brackets: `$r[title contains 'x']`")
    c.is_inside = True
    inner = predicate(c)
    c.is_inside = False
    c.expect("]")
    return Condition(about, inner)


def _on(c: Cursor) -> Predicate:
    found = _bracketed(c)
    c.names_parts = True
    return OfPart(found.variable, found.predicate)  # type: ignore[return-value]


def _conditions_by_part(c: Cursor, whole: Predicate, start: int) -> tuple[Condition, ...]:
    """Any boolean expression: what holds of one part stands for itself, what speaks of several names each."""
    conditions: list[Condition] = []
    bare: list[Predicate] = []
    for conjunct in _conjuncts(whole):
        variables = sorted(_variables_in(conjunct))
        if len(variables) > 1:
            if _counts_parts(conjunct):
                hint = "combine conditions on different variables with `and`, `or` and `not`"
                raise c.error("`at least` counts conditions on one variable", at=start, hint=hint)
            conditions.append(Condition("", conjunct, tuple(filter(None, variables))))
        elif variables in ([], [""]):
            bare.append(conjunct)
        else:
            conditions.append(Condition(variables[0], _without_variables(conjunct)))
    if bare:
        merged = And(tuple(bare)) if len(bare) > 1 else bare[0]
        conditions.append(Condition("", whole if not conditions else merged))
    return tuple(conditions)


def _counts_parts(part: Predicate) -> bool:
    """Whether `at least` counts conditions of which some may be on another part than an item's."""
    if isinstance(part, AtLeast):
        return _variables_in(part) != {""}
    if isinstance(part, (And, Or)):
        return any(map(_counts_parts, part.parts))
    return isinstance(part, Not) and _counts_parts(part.part)


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
    if isinstance(part, OfPart):
        return {part.variable}
    if isinstance(part, (And, Or, AtLeast)):
        return set().union(*map(_variables_in, part.parts)) if part.parts else set()
    return _variables_in(part.part) if isinstance(part, Not) else {""}


def _without_variables(part: Predicate) -> Predicate:
    if isinstance(part, OfPart):
        return part.predicate
    if isinstance(part, Not):
        return Not(_without_variables(part.part))
    if isinstance(part, AtLeast):
        return AtLeast(part.count, tuple(map(_without_variables, part.parts)))
    if isinstance(part, (And, Or)):
        return type(part)(tuple(map(_without_variables, part.parts)))
    return part
