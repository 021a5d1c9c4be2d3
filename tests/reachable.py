"""What of the package our programs can come to, by the names that their source mentions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Definition = tuple[str, str]
"""(module, name); the name is empty for what a module does when it is imported."""

QUIET = frozenset(("dataclass", "cache", "lru_cache", "contextmanager", "asynccontextmanager", "overload"))
"""Decorators that register nothing; whoever is decorated by another one is found by it (a command, a route)."""


@dataclass(slots=True)
class Module:
    """The top level of a module."""

    imports: dict[str, Definition] = field(default_factory=dict)
    """By local name, what it stands for: a definition of a module, or (module, "") for a module itself."""
    mentions: dict[str, set[str]] = field(default_factory=dict)
    """By definition, the names in it, dotted as they are written; by "", those of everything else."""
    texts: set[str] = field(default_factory=set)
    """Those in conditions at the top level, as in `if __name__ == "__main__"`."""


def modules_below(source: Path) -> dict[str, Module]:
    """By dotted name; a package is called as its directory."""
    paths = {_dotted(path, source): path for path in source.rglob("*.py")}
    return {name: _module(path) for name, path in paths.items()}


def _dotted(path: Path, source: Path) -> str:
    parts = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module(path: Path) -> Module:
    module, tree = Module(), ast.parse(path.read_text(encoding="utf-8"))
    # An import within a function is one for the whole module: names are used in one sense.
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                module.imports[alias.asname or alias.name.partition(".")[0]] = (
                    (alias.name if alias.asname else alias.name.partition(".")[0]),
                    "",
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module.imports[alias.asname or alias.name] = (node.module, alias.name)
    module.mentions[""] = set()
    for statement in tree.body:
        for name in _defined(statement) or ("",):
            module.mentions.setdefault(name, set()).update(_names(statement))
        if isinstance(statement, ast.If):
            constants = (node.value for node in ast.walk(statement.test) if isinstance(node, ast.Constant))
            module.texts.update(filter(lambda value: isinstance(value, str), constants))
    return module


def _defined(statement: ast.stmt) -> tuple[str, ...]:
    """The names that nothing comes of unless somebody mentions them."""
    match statement:
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
            return () if any(map(_registers, statement.decorator_list)) else (statement.name,)
        case ast.Assign():
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            return tuple(names) if len(names) == len(statement.targets) else ()
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


def _registers(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr not in QUIET


def _names(tree: ast.AST) -> Iterator[str]:
    """Every name and dotted name that is mentioned, annotations in quotation marks left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            dotted = _dots(node)
            if dotted:
                yield dotted


def _dots(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        left = _dots(node.value)
        return f"{left}.{node.attr}" if left else ""
    return ""


def reached(modules: Mapping[str, Module], starts: Iterable[Definition]) -> set[Definition]:
    """All definitions that are mentioned, by whatever is mentioned from the starts on."""
    found: set[Definition] = set()
    waiting = list(starts)
    while waiting:
        module, name = waiting.pop()
        if (module, name) in found or module not in modules:
            continue
        found |= {(module, name)}
        here = modules[module]
        if name in here.imports:
            waiting.append(_home(modules, *here.imports[name]))
        else:
            waiting.append((module, ""))
            for mentioned in here.mentions.get(name, ()):
                waiting.extend(_meant(modules, module, name, mentioned))
    return found


def _home(modules: Mapping[str, Module], module: str, name: str) -> Definition:
    """What `from module import name` gives: what the module calls so, or else the module below it."""
    here = modules.get(module)
    is_module = f"{module}.{name}" in modules
    is_called_so = here and (
        name in here.mentions or here.imports.get(name, (module, name)) != (module, name)
    )
    return (f"{module}.{name}", "") if is_module and not is_called_so else (module, name)


def _meant(
    modules: Mapping[str, Module], module: str, definition: str, mentioned: str
) -> Iterator[Definition]:
    here = modules[module]
    first, *rest = mentioned.split(".")
    if first in here.mentions:
        yield module, first
    if first not in here.imports:
        return
    target, name = _home(modules, *here.imports[first])
    while not name and rest:
        target, name = _home(modules, target, rest.pop(0))
    yield target, name
    if not name and target in modules:
        # A module that is handed on as a value: whatever is asked of values here may be asked of it.
        asked = {other.rpartition(".")[2] for other in here.mentions[definition] if "." in other}
        yield from ((target, other) for other in asked & modules[target].mentions.keys())
