"""The README's examples are run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def blocks(kind: str) -> list[str]:
    return [text for language, text in BLOCKS if language == kind]


def test_the_session_prints_what_the_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (program,), (answer,) = blocks("python"), blocks("")
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue() == answer
    assert len(program.strip().splitlines()) <= 15


def test_the_shell_commands_work(tmp_path: Path) -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("feedweir ")]
    assert len(commands) >= 4
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_the_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = {
        line.split()[1] for block in blocks("sh") for line in block.splitlines() if line.startswith("make ")
    }
    assert commands == {"run", "test"}
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")),
    ],
)
def test_links_between_documents_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert ((ROOT / name).parent / target).exists(), f"{name} links to {target}"
