"""The reference implementation of the analyser: what the words of a text are. `text.analyser` explains it in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

import Stemmer

from feedweir.errors import SettingsError, near
from feedweir.text.characters import IGNORED, MARK, SEPARATOR, SYMBOL, UNSPACED, WORD, folded, kind_of

_MARKUP = re.compile(
    r'<!--.*?(?:-->|\Z)|<[a-zA-Z/!?](?:"[^"]*(?:"|\Z)|[^">])*(?:>|\Z)|&(?:amp|lt|gt|nbsp|quot);', re.DOTALL
)


class PlacedWord(NamedTuple):
    """A word, and where it stands in the text: from `start` to before `end`."""

    word: str
    start: int
    end: int


def fold(text: str) -> str:
    """A string as it is compared: NFKC, case folded, without white space around it."""
    return folded(text).strip()


def words(text: str, *, language: str = "") -> list[str]:
    """The words of a plain text, in order."""
    found = [word for run in _runs(text) for word in _split(folded(run))]
    return stems(found, language) if language else found


def words_of_html(html: str, *, language: str = "") -> list[str]:
    """The words between the tags of sanitised HTML; tags, comments and entities separate words."""
    return words(_MARKUP.sub(" ", html), language=language)


def without_markup(html: str) -> str:
    """The text that `words_of_html` reads, with as many blanks as markup has characters."""
    return _MARKUP.sub(lambda markup: " " * len(markup.group()), html)


def placed_words(text: str) -> Iterator[PlacedWord]:
    """What `words` finds, with places. Words whose characters change together with their neighbours when they are
    folded have the place of the whole run."""
    at = 0
    for group, characters in groupby(text, _run_kind):
        run = list(characters)
        if group == SYMBOL:
            for place, character in enumerate(run, at):
                yield from (PlacedWord(word, place, place + 1) for word in _split(folded(character)))
        elif group == WORD:
            yield from _placed_in_run(run, at)
        at += len(run)


def _placed_in_run(run: list[str], at: int) -> Iterator[PlacedWord]:
    """The words of a run that begins at `at`; in their order, so that each is looked for behind the one before."""
    seen = [place for place, character in enumerate(run) if _kind(character) != IGNORED]
    whole = folded("".join(run[place] for place in seen))
    origin = _origins(run, seen, whole)
    behind = 0
    for word in _split(whole):
        found = whole.find(word, behind) if origin else -1
        if found < 0:
            yield PlacedWord(word, at, at + len(run))
            continue
        behind = found + len(word)
        yield PlacedWord(word, at + origin[found][0], at + origin[behind - 1][1])


def _origins(run: list[str], seen: list[int], whole: str) -> list[tuple[int, int]]:
    """By character of the folded run, the first place and the place behind the last of the letter with its marks that
    it was folded from; nothing if letters fold otherwise alone than together."""
    starts = [number for number, place in enumerate(seen) if not number or _kind(run[place]) != MARK]
    origins: list[tuple[int, int]] = []
    pieces: list[str] = []
    for first, behind in pairwise([*starts, len(seen)]):
        piece = folded("".join(run[place] for place in seen[first:behind]))
        pieces.append(piece)
        origins += [(seen[first], seen[behind - 1] + 1)] * len(piece)
    return origins if "".join(pieces) == whole else []


def _runs(text: str) -> Iterator[str]:
    """Runs of characters that may hold words, without invisible ones; each symbol is a run of its own."""
    for group, characters in groupby(text, _run_kind):
        if group == WORD:
            yield "".join(character for character in characters if _kind(character) != IGNORED)
        elif group == SYMBOL:
            yield from characters


def _run_kind(character: str) -> int:
    kind = _kind(character)
    return kind if kind in (SEPARATOR, SYMBOL) else WORD


@lru_cache(maxsize=1 << 16)
def _kind(character: str) -> int:
    return kind_of(character)


def _split(run: str) -> Iterator[str]:
    """The words of one folded run, into which folding may have introduced separators."""
    word = ""
    is_spaced = False
    for character in run:
        kind = _kind(character)
        if kind == UNSPACED or (kind == WORD and not is_spaced):
            if word:
                yield word
            word, is_spaced = character, kind == WORD
        elif kind == WORD or (kind == MARK and word):
            word += character
        elif kind in (SEPARATOR, SYMBOL):
            if word:
                yield word
            word, is_spaced = "", False
    if word:
        yield word


def stems(found: list[str], language: str) -> list[str]:
    """Words cut to their stems; `language` is a name or code that Snowball knows, its region is ignored."""
    return list(_stemmer(language).stemWords(found))


def _stemmer(language: str) -> Stemmer.Stemmer:
    try:
        return Stemmer.Stemmer(language.lower().replace("_", "-").partition("-")[0])
    except KeyError:
        known = sorted(Stemmer.algorithms())
        hint = near(language, known) or f"known: {', '.join(known)}"
        raise SettingsError(f"there is no stemmer for the language {language!r}", hint=hint) from None
