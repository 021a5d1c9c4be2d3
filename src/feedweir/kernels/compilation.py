"""Compile what is listed and not kept yet, in a few processes beside this one.

Each takes a line of the list and answers with a line; it ends with its input, so that none outlives whoever started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from feedweir.kernels.compile_notices import expect_compiling, tell_once
from feedweir.kernels.declare import IS_COMPILING, directory_in_use
from feedweir.kernels.signatures import Signature, entries_in, entry_of

MOST_PROCESSES = 4
"""Each needs some 300 MB."""
_PROGRAM = "from feedweir.kernels.compilation import serve; serve()"


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of an entry; an empty failure is none."""

    entry: Signature
    failure: str = ""


def missing() -> tuple[Signature, ...]:
    """What is listed and would be compiled when it is first called."""
    return tuple(entry for entry in entries_in() if not entry.is_kept()) if IS_COMPILING else ()


def tell_where_cold() -> None:
    """Say so where a module's kernels were never compiled: known at once, and before other processes compile them."""
    modules = {entry.module for entry in entries_in()}
    if IS_COMPILING and not all((directory_in_use() / module).is_dir() for module in modules):
        tell_once(directory_in_use())


def process_count() -> int:
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


def compile_entries(entries: Sequence[Signature], processes: int) -> Iterator[Done]:
    """Each as it is done."""
    compilers = [_Compiler() for _ in range(min(processes, len(entries)))]
    idle: SimpleQueue[_Compiler] = SimpleQueue()
    for compiler in compilers:
        idle.put(compiler)

    def compiled(entry: Signature) -> Done:
        compiler = idle.get()
        try:
            return compiler.compile(entry)
        finally:
            idle.put(compiler)

    with ThreadPoolExecutor(max(len(compilers), 1)) as threads:
        try:
            for future in as_completed([threads.submit(compiled, entry) for entry in entries]):
                yield future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for compiler in compilers:
                compiler.end()


class _Compiler:
    """A process that compiles; started when it is asked, and again when it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._has_ended = False

    def compile(self, entry: Signature) -> Done:
        if self._has_ended:
            return Done(entry, "it was not waited for")
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{entry}\n")
            self._process.stdin.flush()
        except OSError:
            return Done(entry, "the process that compiles did not start")
        answer = self._process.stdout.readline()
        if not answer:
            return Done(entry, f"the process that compiled it ended with {self._process.wait()}")
        return Done(entry, json.loads(answer))

    def end(self) -> None:
        self._has_ended = True
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def _started() -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
        start_new_session=True,
    )


def serve() -> None:
    """Compile line by line; the answer is what failed, or nothing."""
    expect_compiling()
    for line in sys.stdin:
        print(json.dumps(_failure_of(entry_of(line))), flush=True)


def _failure_of(entry: Signature) -> str:
    try:
        kernel, types = entry.found()
        kernel.compile(types)
    except Exception as error:  # whatever Numba makes of a kernel that no longer takes these
        return f"{type(error).__name__}: {error}"
    return ""
