"""The reference of the analyser: what the words of a text are. `items.text` says it in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

import Stemmer

from feedweir.errors import SettingsError
from feedweir.items.characters import IGNORED, MARK, SEPARATOR, SYMBOL, UNSPACED, WORD, folded, kind_of
from feedweir.items.text_kernels import BLOCK_FACTOR, LAST_FACTOR, SEED, SHORT_MARK

_MASK = (1 << 64) - 1
_MARKUP = re.compile(
    r'<!--.*?(?:-->|\Z)|<[a-zA-Z/!?](?:"[^"]*(?:"|\Z)|[^">])*(?:>|\Z)|&(?:amp|lt|gt|nbsp|quot);', re.DOTALL
)


def fold(text: str) -> str:
    """A string as it is compared: NFKC, case folded, without white space around it."""
    return folded(text).strip()


def words(text: str, *, language: str = "") -> list[str]:
    """The words of a plain text, in order."""
    found = [word for run in _runs(text) for word in _split(folded(run))]
    return stems(found, language) if language else found


def words_of_html(html: str, *, language: str = "") -> list[str]:
    """The words between the tags of sanitised HTML; tags, comments and the entities it contains separate."""
    return words(_MARKUP.sub(" ", html), language=language)


def _runs(text: str) -> Iterator[str]:
    """Stretches of text that may hold words, without what is not to be seen; each symbol is one by itself."""
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
    """The words of one folded run; folding may have brought separators into it."""
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


def word_hash(word: str) -> int:
    """The 64-bit hash of a normalised word, as the kernels compute it."""
    data = word.encode()
    state = SEED
    n_whole = max(len(data) - 1, 0) // 8
    for i in range(0, 8 * n_whole, 8):
        state = (state ^ int.from_bytes(data[i : i + 8], "little")) * BLOCK_FACTOR & _MASK
        state ^= state >> 32
    last = data[8 * n_whole :]
    mark = (SHORT_MARK + len(last)) << 56 if len(last) < 8 else 0
    state = (state ^ (int.from_bytes(last, "little") | mark)) * BLOCK_FACTOR & _MASK
    state = (state ^ (state >> 29)) * LAST_FACTOR & _MASK
    return state ^ (state >> 32)


def stems(found: list[str], language: str) -> list[str]:
    """Words cut to their stems; `language` is a name or code that Snowball knows, its region is ignored."""
    return list(_stemmer(language).stemWords(found))


def _stemmer(language: str) -> Stemmer.Stemmer:
    try:
        return Stemmer.Stemmer(language.lower().replace("_", "-").partition("-")[0])
    except KeyError:
        known = ", ".join(sorted(Stemmer.algorithms()))
        raise SettingsError(
            f"there is no stemmer for the language {language!r}", hint=f"known: {known}"
        ) from None
