"""From a compiled set back to the parts of patterns, and to what people read of them."""

from __future__ import annotations

import numpy as np

from feedweir.items.rdf_values import XSD
from feedweir.match.graphs.compared_values import EPOCH, MICROSECOND, OPS
from feedweir.match.graphs.graph_forms import about
from feedweir.match.graphs.graph_set import IRIS, LITERALS, NUMBERS, GraphSet
from feedweir.match.graphs.join_kernels import MOMENT, NUMBER, TIME
from feedweir.match.graphs.triple_kernels import constants_of_atoms
from feedweir.match.words.dictionary import string_at
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constant,
    Constraint,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Iri,
    RdfLiteral,
    Triple,
    Variable,
)

_OP_NAMES = {code: op for op, code in OPS.items()}


def pattern_at(graphs: GraphSet, number: int) -> GraphPattern | None:
    """The part that is reported under a number, as it was compiled."""
    places = np.flatnonzero(graphs.part_numbers == number)
    return pattern_of(graphs, int(places[0])) if len(places) else None


def text_at(graphs: GraphSet, number: int) -> str:
    """That part as people write it."""
    pattern = pattern_at(graphs, number)
    return "" if pattern is None else written_pattern(pattern)


def pattern_of(graphs: GraphSet, part: int) -> GraphPattern:
    """A part as it was compiled, by its place among the parts of all shapes."""
    shapes = graphs.shapes
    shape = int(np.searchsorted(shapes.parts, part, side="right")) - 1
    rank, count = part - int(shapes.parts[shape]), int(shapes.parts[shape + 1] - shapes.parts[shape])
    triples: dict[Triple, None] = {}
    held: list[GraphConstraint] = []
    for at in range(int(shapes.starts[shape]), int(shapes.starts[shape + 1])):
        atom, variables = int(shapes.atoms[at]), shapes.variables[at].tolist()
        if atom >= len(graphs.atoms.keys):
            atom, tests = graphs.conditions[atom - len(graphs.atoms.keys)]
            held += [about(graphs.tests[test], str(variables[place])) for place, test in tests]
        (constants,) = constants_of_atoms(graphs.atoms.keys[atom : atom + 1]).tolist()
        terms = (
            Variable(str(v)) if v >= 0 else _constant(graphs, c)
            for v, c in zip(variables, constants, strict=True)
        )
        triples[Triple(*terms)] = None
    for slot in range(int(shapes.slots[shape]), int(shapes.slots[shape + 1])):
        column = int(shapes.slot_columns[slot])
        kind = int(shapes.slot_kinds[slot])
        held.append(
            Constraint(
                str(shapes.slot_variables[slot]),
                _OP_NAMES[int(shapes.slot_ops[slot])],  # type: ignore[arg-type]
                _value(graphs, kind, int(shapes.places[column + (count if kind == TIME else 0) + rank]) // 2),
            )
        )
    return GraphPattern(tuple(triples), tuple(held))


def _constant(graphs: GraphSet, number: int) -> GraphTerm:
    kind, entry = int(graphs.constants.kinds[number]), int(graphs.constants.entries[number])
    if kind == NUMBERS:
        return Constant(float(graphs.number_names[entry]))
    text = string_at(graphs.dictionary, entry)
    if kind == LITERALS:
        number = int(graphs.constants.types[number])
        return RdfLiteral(text, *next(pair for pair, n in graphs.literal_types.items() if n == number))
    return Iri(text) if kind == IRIS else Constant(text)


def _value(graphs: GraphSet, kind: int, place: int) -> str | float | RdfLiteral:
    if kind == NUMBER:
        return float(graphs.axes.numbers[place])
    if kind == MOMENT:
        moment = EPOCH + int(graphs.axes.times[place]) * MICROSECOND
        return RdfLiteral(moment.isoformat(), f"{XSD}dateTime")
    start, stop = graphs.axes.text_starts[place : place + 2].tolist()
    return bytes(graphs.axes.text[start:stop]).decode("utf-8", "surrogatepass")


def written_pattern(pattern: GraphPattern) -> str:
    """A pattern in few words, for explanations."""
    triples = [
        f"({', '.join(map(_written, (one.subject, one.predicate, one.object)))})" for one in pattern.triples
    ]
    held = [_constraint(one) for one in pattern.constraints]
    return " ".join(triples) + (f" such that {' and '.join(held)}" if held else "")


def _constraint(one: GraphConstraint) -> str:
    match one:
        case AllConstraints(parts):
            return f"({' and '.join(map(_constraint, parts))})"
        case AnyConstraint(parts):
            return f"({' or '.join(map(_constraint, parts))})"
        case _:
            value = one.value if isinstance(one.value, str | float | int) else _written(one.value)
            asked = " ".join(filter(None, ("not" if one.is_negated else "", one.part, one.op)))
            return f"?{one.variable} {asked} {value!r}"


def _written(term: GraphTerm) -> str:
    match term:
        case Variable(name):
            return f"?{name}"
        case Iri(iri):
            return f"<{iri}>"
        case Constant(value):
            return repr(value)
        case _:
            return str(term)
