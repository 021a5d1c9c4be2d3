"""Statements with mistakes: pieces of the language cut, swapped, doubled and dropped.

`python -m tests.language.fuzzing 1000000 [seed]` tries so many, and prints how many were trees and how many errors.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from feedweir.errors import LanguageError
from feedweir.language import format_statement, parse


def try_statement(text: str) -> bool:
    """Whether a text is statements; they then read back as themselves. Anything but a language error is raised."""
    try:
        trees = parse(text)
    except LanguageError as error:
        return not str(error)
    for tree in trees:
        assert parse(format_statement(tree)) == (tree,), text
    return True


class Mutator:
    """An endless source of texts that are nearly statements."""

    SEEDS = tuple((Path(__file__).parent / "fuzz_seeds.txt").read_text(encoding="utf-8").splitlines())
    PIECES = tuple(
        dict.fromkeys(
            word
            for seed in SEEDS
            for word in seed.replace("(", " ( ").replace("[", " [ ").replace(",", " , ").split()
        )
    )
    NOISE = "'\"()[]{}$?@*|;:,.<>=!-+/\\#%&~ \n\t“”‘’0aZéß漢\u200b\x00\ud83d"

    def __init__(self, random_source: random.Random) -> None:
        self.random = random_source

    def text(self) -> str:
        """The next text: one or two seeds after no, one or a few accidents."""
        text = self.random.choice(self.SEEDS)
        if self.random.random() < 0.1:
            text += ";" + self.random.choice(self.SEEDS)
        for _ in range(self.random.choice((0, 1, 1, 2, 4))):
            text = self.accident(text)
        return text

    def accident(self, text: str) -> str:
        """One thing goes wrong."""
        kind = self.random.randrange(6)
        start = self.random.randrange(len(text) + 1)
        end = min(len(text), start + self.random.randrange(1, 12))
        if kind == 0:
            return text[:start] + text[end:]
        if kind == 1:
            return text[:start] + self.random.choice(self.NOISE) + text[start:]
        if kind == 2:
            return text[:start] + self.random.choice(self.PIECES) + " " + text[start:]
        words = text.split(" ")
        one, other = self.random.randrange(len(words)), self.random.randrange(len(words))
        if kind == 3:
            words[one], words[other] = words[other], words[one]
        elif kind == 4:
            words[one] = self.random.choice(self.PIECES)
        else:
            del words[one]
        return " ".join(words)


def main(arguments: list[str]) -> None:
    count = int(arguments[0]) if arguments else 100_000
    mutator = Mutator(random.Random(int(arguments[1]) if len(arguments) > 1 else 1))
    started = time.perf_counter()
    slowest, trees = 0.0, 0
    for _ in range(count):
        text = mutator.text()
        before = time.perf_counter()
        trees += try_statement(text)
        slowest = max(slowest, time.perf_counter() - before)
    took = time.perf_counter() - started
    print(
        f"{count} inputs: {trees} trees, {count - trees} errors; {took:.0f} s, slowest {slowest * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
