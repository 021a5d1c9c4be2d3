"""Install what a lock file names, and say how far that is in one line: `python .ci/install.py requirements.lock`."""

import re
import subprocess
import sys
from collections import deque
from pathlib import Path

WIDTH = 78
BUSY = {"Collecting": "finding", "Downloading": "getting", "Building": "building", "Installing": "installing"}


def main(lock: str) -> int:
    lines = len(Path(lock).read_text().splitlines())
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", "-r", lock]
    reached, said = 0, deque(maxlen=40)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            said.append(line)
            if place := re.search(r"\(line (\d+)\)", line):
                reached = max(reached, int(place[1]))
            show(line, 100 * reached // lines)
    if sys.stdout.isatty():
        print("\r" + " " * WIDTH, end="\r", flush=True)
    if pip.returncode:
        print("".join(said))
    return pip.returncode


def show(line: str, percent: int) -> None:
    """What pip is busy with; where nobody watches, only what takes long."""
    first, _, rest = line.strip().partition(" ")
    if first not in BUSY:
        return
    what = "all of them" if first == "Installing" else rest.partition(" (from ")[0]
    told = f"  {percent:3} %  {BUSY[first]} {what}"[:WIDTH]
    if sys.stdout.isatty():
        print("\r" + told.ljust(WIDTH), end="", flush=True)
    elif first == "Installing" or re.search(r"\d{2,}\.\d MB\)", line):
        print(told, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
