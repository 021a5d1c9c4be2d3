"""The one door to benchmarks: `python -m benchmarks NAME [--json] [--full] …`.

Each benchmark is a module here with `add_arguments(parser)` and `run(options) -> dict`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """Every benchmark there is."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in modules if not module.name.startswith("_"))


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print(*names())
        return 0
    if not arguments or arguments[0] not in names():
        print(f"usage: python -m benchmarks NAME [--json] [--full]\nbenchmarks: {', '.join(names())}")
        return 2
    benchmark = importlib.import_module(f"benchmarks.{arguments[0]}")
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {arguments[0]}", description=benchmark.__doc__
    )
    parser.add_argument("--json", action="store_true", help="print only one JSON object, as the last line")
    parser.add_argument(
        "--full", action="store_true", help="run the large sweep instead of the three-minute one"
    )
    benchmark.add_arguments(parser)
    options = parser.parse_args(arguments[1:])
    result = benchmark.run(options)
    if not options.json:
        for key, value in result.items():
            print(f"{key:>32}  {value}")
    print(json.dumps(result, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
