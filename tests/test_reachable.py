"""Nothing is kept in the package for tests alone."""

from __future__ import annotations

import ast
from pathlib import Path

import feedweir
import feedweir.spark
from feedweir.channel_kinds import SENT_CHANNELS
from tests.reachable import Definition, Module, modules_below, reached

SOURCE = Path(feedweir.__file__).parent
MODULES = modules_below(SOURCE)
PROGRAMS = {name for name in MODULES if "__main__" in MODULES[name].texts}
STARTS: set[Definition] = {
    ("feedweir.cli", "main"),
    *((program, "") for program in PROGRAMS),
    # `python -c`: programs that other processes of ours are.
    ("feedweir.compile.statement_shares", "read_shares"),
    ("feedweir.kernels.compilation", "serve"),
    # Channels are found by their names.
    *((f"feedweir.deliver.channels.{name}", "CHANNEL") for name in SENT_CHANNELS),
    # What a program of somebody else's may import.
    *(("feedweir", name) for name in feedweir.__all__),
    ("feedweir", "__getattr__"),
    *((home, name) for name, home in feedweir._HOMES.items()),
    *(("feedweir.spark", name) for name in feedweir.spark.__all__),
    # Spark finds it by the name of the format, in `pyspark_feedweir`.
    ("feedweir.spark.table_source", "TableSource"),
}
REACHED = reached(MODULES, STARTS)


def is_public(name: str) -> bool:
    return bool(name) and not name.startswith("_")


def test_every_definition_is_of_use_to_a_program() -> None:
    needless = [
        f"{module}.{name}"
        for module, here in MODULES.items()
        for name in here.mentions
        if is_public(name) and (module, name) not in REACHED and not module.startswith("feedweir.published")
    ]
    assert not needless, "only tests or benchmarks use these: delete them, or move them there"


def test_every_module_is_of_use_to_a_program() -> None:
    of_use = {module for module, _ in REACHED}
    needless = [
        module
        for module, here in MODULES.items()
        if here.mentions.keys() > {""}
        and module not in of_use
        and not module.startswith("feedweir.published")
    ]
    assert not needless


def test_what_only_an_unused_definition_mentions_is_of_no_use() -> None:
    modules = {
        "p": Module(),
        "p.a": Module({"b": ("p", "b"), "g": ("p.c", "g")}, {"": set(), "main": {"b.f", "x"}, "x": set()}),
        "p.b": Module({}, {"": {"effect"}, "f": set(), "unused": {"deep"}, "deep": set(), "effect": set()}),
        "p.c": Module({}, {"": set(), "g": set()}),
    }
    found = reached(modules, [("p.a", "main")])
    assert {f"{module}.{name}" for module, name in found if name} == {
        "p.a.main",
        "p.a.x",
        "p.b.f",
        "p.b.effect",
    }


FOR_TESTS = {
    # One step of what otherwise runs in a thread of its own.
    "FetchLoop.fetch_once",
    # What benchmarks compare with: one template alone, an index without its window, texts analysed before.
    "Evaluator.run_one",
    "SimilarityIndex.expire",
    "IndexedSet.match_texts",
    # A whole log at once, for tests to look through.
    "Store.element_table",
}
"""Methods for tests and benchmarks, each with its reason."""


def test_every_method_is_called_by_somebody() -> None:
    trees = {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for path in SOURCE.rglob("*.py")
        if not (name := path.relative_to(SOURCE.parent).with_suffix("").as_posix()).startswith(
            "feedweir/published/"
        )
    }
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    ours = {"ABC", "Protocol", "NamedTuple", "Enum"}
    for _ in range(3):  # classes whose bases are all ours, three levels deep
        ours |= {one.name for one in classes if all(getattr(base, "id", "") in ours for base in one.bases)}
    mentioned = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    mentioned |= {
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    uncalled = {
        f"{one.name}.{method.name}"
        for one in classes
        # Others' classes call the methods that ours override.
        if one.name in ours
        for method in one.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and is_public(method.name)
        if method.name not in mentioned
    }
    assert uncalled == FOR_TESTS, "only tests or benchmarks call these: delete them, or say why not"
