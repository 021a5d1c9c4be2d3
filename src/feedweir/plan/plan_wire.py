"""Plans as JSON and back: nodes in a list, each after what it reads, so that depth costs nothing and sharing stays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, get_args

from feedweir.errors import CompiledSetError
from feedweir.plan import inputs_of, nodes, postorder
from feedweir.plan.nodes import Node
from feedweir.plan.predicate_wire import packed, unpacked
from feedweir.plan.walk import with_inputs

_OPERATORS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Node)}
_INPUTS = frozenset({"input", "inputs", "primary", "window", "left", "right"})
_NOWHERE = nodes.Source("")
_BLANK = {
    "input": _NOWHERE,
    "inputs": (),
    "primary": _NOWHERE,
    "window": nodes.Window(_NOWHERE, nodes.LastItems(1)),
    "left": _NOWHERE,
    "right": _NOWHERE,
}


def plan_to_json(root: Node) -> list[Any]:
    """The nodes of a plan, each as [name, fields, places of its inputs]; the root is last."""
    order = postorder(root)
    place = {id(node): number for number, node in enumerate(order)}
    return [[*_operator(node), [place[id(input)] for input in inputs_of(node)]] for node in order]


def plan_from_json(rows: list[Any]) -> Node:
    """What `plan_to_json` was given."""
    built: list[Node] = []
    try:
        for name, parameters, inputs in rows:
            built.append(_node(name, parameters, tuple(built[place] for place in inputs)))
        return built[-1]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CompiledSetError(f"a stored plan cannot be read: {error}") from error


def stream_keys(root: Node) -> dict[int, int]:
    """By `id` of a node the key of its stream: a negative number that follows from what the node says.

    The same stream in another feed, or in a later definition of this one, has the same key, so that it is matched and
    stored once, and a window keeps what it has when the query around it is edited.
    """
    return _streams(root)[0]


def chains_of(root: Node) -> dict[int, Chain]:
    """By `id` of every annotation join of a plan the chain that ends with it."""
    return _streams(root)[1]


def _streams(root: Node) -> tuple[dict[int, int], dict[int, Chain]]:
    keys: dict[int, int] = {}
    chains: dict[int, Chain] = {}
    for node in postorder(root):
        keys[id(node)] = operator_key(node, tuple(keys[id(input)] for input in inputs_of(node)))
        if isinstance(node, nodes.AnnotationJoin):
            chain = chains[id(node)] = _chain(node, keys, chains)
            if len(chain.joins) > 1:
                keys[id(node)] = _key(("AnnotationJoins", chain.base, sorted(chain.joins)))
    return keys, chains


@dataclass(frozen=True, slots=True)
class Chain:
    """Annotation joins one above the other: in whichever order, they keep the same elements with the same partners."""

    base: int
    """The key of the stream whose items come out."""
    joins: tuple[str, ...]
    """What each says, and the key of what is under its window; the topmost last."""

    @property
    def name(self) -> str:
        """What the topmost join is known by among all joins of that stream, wherever in the chain it stands."""
        return f"{-1 - _key((self.base, self.joins[-1])):016x}"


def _chain(join: nodes.AnnotationJoin, keys: dict[int, int], chains: dict[int, Chain]) -> Chain:
    said = repr((join.identifier, join.predicate, join.window.spec, keys[id(join.window.input)]))
    below = chains.get(id(join.primary)) or Chain(keys[id(join.primary)], ())
    return Chain(below.base, (*below.joins, said))


def operator_key(node: Node, inputs: tuple[int, ...]) -> int:
    """The key of what an operator makes of streams with these keys."""
    return _key((type(node).__name__, [getattr(node, name) for name in _parameters(node)], inputs))


def _key(said: object) -> int:
    digest = blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -1 - (int.from_bytes(digest, "big") >> 1)


def _operator(node: Node) -> tuple[str, list[Any]]:
    """A node without its inputs. A window of a join is an input; that of a pattern join is an argument."""
    return type(node).__name__, [packed(getattr(node, name)) for name in _parameters(node)]


def _parameters(node: Node) -> list[str]:
    return [field.name for field in fields(node) if not _is_input(node, field.name)]


def _is_input(node: Any, name: str) -> bool:
    return name in _INPUTS and not (isinstance(node, nodes.PatternJoin) and name == "window")


def _node(name: str, parameters: list[Any], inputs: tuple[Node, ...]) -> Node:
    kind = _OPERATORS[name]
    blank = {} if name in ("Source", "Feed") else _blank(kind)
    names = [field.name for field in fields(kind) if field.name not in blank]
    values = dict(zip(names, map(unpacked, parameters), strict=True))
    return with_inputs(kind(**blank, **values), inputs)


def _blank(kind: Any) -> dict[str, Any]:
    """Inputs to stand in until the real ones are put in their place."""
    names = [field.name for field in fields(kind) if field.name in _INPUTS]
    return {name: _BLANK[name] for name in names if not (kind is nodes.PatternJoin and name == "window")}
