"""Graph patterns in SPARQL's form: `?p doap:category <…> ; doap:release ?r . FILTER(?d > "2024-01-01"^^xsd:date)`.

What is read is a group, which `graph_ways` turns into basic patterns. Texts are quoted as everywhere in the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_values import DELETED
from feedweir.language.graph_syntax.graph_groups import (
    Alternatives,
    Element,
    Expression,
    Group,
    Perhaps,
    Rows,
    Tested,
    Without,
)
from feedweir.language.graph_syntax.graph_terms import iri_named, literal_term, typed_or_plain
from feedweir.language.graph_syntax.sparql_filters import filter_expression
from feedweir.language.literals import COMPARISONS, is_number
from feedweir.language.tokens import Cursor
from feedweir.plan.predicates import Constraint, GraphTerm, Iri, RdfLiteral, Triple, Variable

_RDF = NAMESPACES["rdf"]
_NOT_TAKEN = {
    "bind": "use the value itself in FILTER",
    "graph": "each named graph of a document is an item of its own",
    "service": "only the item's own triples are asked",
    "select": "write its pattern here",
    "construct": "items are kept whole",
    "let": "use the value itself in FILTER",
    "group": "joins and windows of feeds compare items with others",
    "having": "joins and windows of feeds compare items with others",
    "order": "feeds are in the order of their items",
    "limit": "`window` limits how many items a feed shows",
    "offset": "`window` limits how many items a feed shows",
}
COMPARED = (*COMPARISONS, "in", "contains", "starts")
"""What follows a variable that opens a constraint, and not a triple."""
_CHANGES = ("added", "deleted")
_AFTER_OR_BESIDE = ("}", ".", "{", "filter", "optional", "minus", "values", *_CHANGES, "")


def begins_sparql(c: Cursor) -> bool:
    """Whether what follows is SPARQL's form, and not triples in brackets."""
    token, word = c.tokens[c.at], c.words[c.at]
    if token[:1] in ("?", "$") and len(token) > 1:
        is_relative_iri = c.tokens[c.at + 1] == "<" and c.tokens[c.at + 3 : c.at + 4] == [">"]
        return is_relative_iri or c.words[c.at + 1] not in COMPARED
    if word in ("filter", "optional", "minus", "values") or word in _NOT_TAKEN:
        return True
    if word in _CHANGES and c.words[c.at + 1] == "{":
        return True
    if token in ("+", "-"):
        return is_number(c.tokens[c.at + 1])
    is_short = token[:1].isalnum() and ":" in token and "#" not in token
    return is_short or token in ("{", "[") or token[:1] in ("<", "_") or c.is_string() or is_number(token)


def refuse_modifier(c: Cursor) -> None:
    """Refuse what SPARQL has after its pattern, such as ORDER BY."""
    word = c.words[c.at]
    if word in ("order", "limit", "offset", "group", "having"):
        raise c.error(f"`{c.tokens[c.at]}` is not supported", hint=_NOT_TAKEN[word])


@dataclass(slots=True)
class SparqlReader:
    """Reads one pattern; knows its prefixes and which names it has given to variables that have none."""

    c: Cursor
    prefixes: Mapping[str, str]
    fresh: Callable[[str], str]
    """The variable for a blank node of this label; a new one without a label."""

    def group(self, end: str = "}") -> Group:
        """What stands between braces, of which the first has been read."""
        c = self.c
        start = c.at
        c.enter()
        elements: list[Element] = []
        filters: list[tuple[Expression, int]] = []
        while c.words[c.at] not in (end, ""):
            word = c.words[c.at]
            if word == ".":
                c.at += 1
            elif word == "filter":
                c.at += 1
                at = c.at
                filters.append((filter_expression(c, self._inner, self._term), at))
            elif word == "optional":
                c.at += 1
                elements.append(Perhaps(self._inner()))
            elif word == "minus":
                c.at += 1
                elements.append(Without(self._inner()))
            elif word == "values":
                elements.append(self.values())
            elif word in _CHANGES and c.words[c.at + 1] == "{":
                c.at += 1
                elements.append(Alternatives((self._of_change(self._inner(), word == "deleted"),)))
            elif word == "{":
                elements.append(self._alternatives())
            elif word in _NOT_TAKEN and c.words[c.at + 1] != ":":
                raise c.error(f"`{c.tokens[c.at]}` is not supported", hint=_NOT_TAKEN[word])
            else:
                self._triples(elements)
        c.leave()
        return Group(tuple(elements), tuple(filters), start)

    def values(self) -> Rows:
        """`VALUES ?x { 1 2 }` or `VALUES (?x ?y) { (1 2) (UNDEF 3) }`."""
        c = self.c
        c.at += 1
        at = c.at
        is_single = not c.accept("(")
        names = [self._variable()]
        while not is_single and c.words[c.at] != ")":
            names.append(self._variable())
        if not is_single:
            c.expect(")")
        c.expect("{")
        rows: list[tuple[GraphTerm | None, ...]] = []
        while c.words[c.at] != "}":
            if is_single:
                rows.append((self._value(),))
                continue
            start = c.at
            c.expect("(")
            row = []
            while c.words[c.at] != ")":
                row.append(self._value())
            if len(row) != len(names):
                raise c.error(f"a row needs {len(names)} values, not {len(row)}", at=start)
            c.expect(")")
            rows.append(tuple(row))
        c.expect("}")
        return Rows(tuple(names), tuple(rows), at)

    def _variable(self) -> str:
        token = self.c.tokens[self.c.at]
        if token[:1] not in ("?", "$") or len(token) < 2:
            raise self.c.missing("a variable", expected=("a variable, as in `?x`",))
        self.c.at += 1
        return token[1:]

    def _value(self) -> GraphTerm | None:
        if self.c.accept("undef"):
            return None
        term = self._term()
        if isinstance(term, Variable):
            raise self.c.error("a value is needed here, not a variable", at=self.c.at - 1)
        return term

    def _inner(self) -> Group:
        self.c.expect("{")
        found = self.group()
        self.c.expect("}")
        return found

    def _alternatives(self) -> Alternatives:
        groups = [self._inner()]
        while self.c.accept("union"):
            groups.append(self._inner())
        return Alternatives(tuple(groups))

    def _of_change(self, group: Group, is_deleted: bool) -> Group:
        """What was deleted has properties of its own; what was added is said as it is."""
        elements: list[Element] = []
        filters = list(group.filters)
        for element in group.elements:
            match element:
                case Triple(subject, predicate, end):
                    step, asked = self._changed_property(predicate, is_deleted)
                    elements.append(Triple(subject, step, end))
                    filters += [(Tested(one), group.at) for one in asked]
                case Alternatives(groups):
                    inner = tuple(self._of_change(one, is_deleted) for one in groups)
                    elements.append(Alternatives(inner))
                case Perhaps(inner) | Without(inner):
                    elements.append(type(element)(self._of_change(inner, is_deleted)))
                case _:
                    elements.append(element)
        return Group(tuple(elements), tuple(filters), group.at)

    def _changed_property(self, predicate: GraphTerm, is_deleted: bool) -> tuple[GraphTerm, list[Constraint]]:
        if isinstance(predicate, Iri):
            return (Iri(DELETED + predicate.iri) if is_deleted else predicate), []
        asked = []
        if not isinstance(predicate, Variable):
            variable = Variable(self.fresh(""))
            asked.append(Constraint(variable.name, "is", predicate))
            predicate = variable
        asked.append(Constraint(predicate.name, "starts", DELETED, "text", is_negated=not is_deleted))
        return predicate, asked

    # Triples

    def _triples(self, elements: list[Element]) -> None:
        """A subject and what is said of it."""
        c = self.c
        if c.accept("["):
            subject: GraphTerm = Variable(self.fresh(""))
            has_said = c.words[c.at] != "]"
            if has_said:
                self._properties(subject, elements)
            c.expect("]")
            if has_said and c.words[c.at] in _AFTER_OR_BESIDE:
                return
        else:
            subject = self._term()
        self._properties(subject, elements)

    def _properties(self, subject: GraphTerm, elements: list[Element]) -> None:
        """`p o, o ; q o`."""
        c = self.c
        while True:
            path = self._path()
            while True:
                self._walk(subject, path, self._object(elements), elements)
                if not c.accept(","):
                    break
            if c.words[c.at] != ";":
                return
            while c.accept(";"):
                pass
            if c.words[c.at] in _AFTER_OR_BESIDE or c.words[c.at] == "]":
                return

    def _object(self, elements: list[Element]) -> GraphTerm:
        if not self.c.accept("["):
            return self._term()
        node = Variable(self.fresh(""))
        if self.c.words[self.c.at] != "]":
            self._properties(node, elements)
        self.c.expect("]")
        return node

    def _term(self) -> GraphTerm:
        c = self.c
        token, word = c.tokens[c.at], c.words[c.at]
        if token[:1] in ("?", "$") and len(token) > 1:
            c.at += 1
            return Variable(token[1:])
        if token[:2] == "_:" or (token == "_" and c.tokens[c.at + 1] == ":"):
            c.at += 1
            return Variable(self.fresh(token[2:] or "_"))
        if token == "(":
            raise c.error(
                "lists are not supported", hint="`?list rdf:rest/rdf:first ?member` names the members of one"
            )
        if token == "<" and c.tokens[c.at + 1] == "<":
            raise c.error("triples about triples are not supported", hint="ask for the triple itself")
        if word in ("true", "false"):
            c.at += 1
            return RdfLiteral(word, f"{NAMESPACES['xsd']}boolean")
        if c.is_string():
            return literal_term(c, self.prefixes)
        if token == "-" or is_number(token):
            return typed_or_plain(c)
        return iri_named(c, self.prefixes)

    # Paths

    def _path(self) -> _Path:
        """`a/b|^c`: alternatives of sequences."""
        c = self.c
        found: list[tuple[_Step, ...]] = [self._sequence()]
        while c.accept("|"):
            found.append(self._sequence())
        return tuple(found)

    def _sequence(self) -> tuple[_Step, ...]:
        found = [self._step()]
        while self.c.accept("/"):
            found.append(self._step())
        return tuple(found)

    def _step(self) -> _Step:
        c = self.c
        is_inverse = c.accept("^")
        token, word = c.tokens[c.at], c.words[c.at]
        part: GraphTerm | _Path
        if c.accept("("):
            c.enter()
            part = self._path()
            c.leave()
            c.expect(")")
        elif token == "!":
            raise c.error("`!` is not supported in paths", hint="`?s ?p ?o FILTER(?p != …)`")
        elif word == "a":
            c.at += 1
            part = Iri(f"{_RDF}type")
        else:
            part = self._term()
        if c.words[c.at] in ("*", "+") or (c.tokens[c.at] == "?"):
            raise c.error(
                f"`{c.tokens[c.at]}` is not supported in paths",
                hint="write the steps, as in `a/a`, with `|` between paths of several lengths",
            )
        return _Step(part, is_inverse)

    def _walk(self, subject: GraphTerm, path: _Path, end: GraphTerm, elements: list[Element]) -> None:
        """The triples of a path between two terms."""
        if len(path) == 1:
            self._walk_sequence(subject, path[0], end, elements)
            return
        only = [sequence[0] for sequence in path if len(sequence) == 1]
        if len(only) == len(path) and len({step.is_inverse for step in only}) == 1:
            terms = [step.part for step in only if isinstance(step.part, Iri)]
            if len(terms) == len(path):
                self._walk_any(subject, terms, end, is_inverse=only[0].is_inverse, elements=elements)
                return
        groups = []
        for sequence in path:
            inside: list[Element] = []
            self._walk_sequence(subject, sequence, end, inside)
            groups.append(Group(tuple(inside)))
        elements.append(Alternatives(tuple(groups)))

    def _walk_any(
        self,
        subject: GraphTerm,
        terms: list[Iri],
        end: GraphTerm,
        *,
        is_inverse: bool,
        elements: list[Element],
    ) -> None:
        """One step by any of several properties: a variable that is one of them."""
        step = Variable(self.fresh(""))
        elements.append(Triple(end, step, subject) if is_inverse else Triple(subject, step, end))
        rows = tuple((term,) for term in dict.fromkeys(terms))
        elements.append(Rows((step.name,), rows, self.c.at))

    def _walk_sequence(
        self, subject: GraphTerm, sequence: tuple[_Step, ...], end: GraphTerm, elements: list[Element]
    ) -> None:
        here = subject
        for number, step in enumerate(sequence, start=1):
            there = end if number == len(sequence) else Variable(self.fresh(""))
            source, target = (there, here) if step.is_inverse else (here, there)
            if isinstance(step.part, tuple):
                self._walk(source, step.part, target, elements)
            else:
                elements.append(Triple(source, step.part, target))
            here = there


@dataclass(frozen=True, slots=True)
class _Step:
    part: GraphTerm | _Path
    is_inverse: bool


_Path: TypeAlias = tuple[tuple[_Step, ...], ...]
