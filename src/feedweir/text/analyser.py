"""The one analyser: text → words. Queries, items and explanations all read text through this module.

What a word is
- Text is compared after Unicode NFKC and full case folding (`fold`); ligatures, full- and half-width forms,
  and composed and decomposed accents are the same. Accents are kept: é is not e.
- A word is a run of letters and digits with their combining marks. Everything else separates: punctuation,
  symbols, emoji, the underscore, and **apostrophes and hyphens**, so that `Trump's` is found by `trump` and
  `COVID-19` by the phrase `covid 19`; a query with an apostrophe is a phrase too (`don't` is `don`, then
  `t`).
- Characters that are not to be seen (soft hyphen, joiners, variation selectors) are as if they were not
  there; the zero-width space separates.
- In scripts written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar, Tibetan, …) every character with
  its marks is a word of its own, and a word of the language is a phrase of them. Hangul is written with
  spaces.
- A symbol whose compatibility form has letters (™, ㎏, ㈱) is a word by itself, apart from its neighbours.
- With a `language` words are cut to their Snowball stems.

The interface
- `words(text, language="") -> list[str]`, `words_of_html(html, language="") -> list[str]`: the reference.
- `placed_words(text)`: the same with the place of each, for people to see; `without_markup(html)` is the text to ask.
- `analyse(column, is_html=False, language="", forms=FORMS) -> Tokens`: the same words for a whole Arrow
  column of strings, or of lists of strings, in compiled code and without a Python object per token.
- `analyse_raw(raw) -> Tokens`: the same of texts that were put together, from columns or from items (`items.columns`).
- `distinct(tokens) -> (ids, firsts)`: equal words numbered by first sight, by bytes and not by hash.
- `fold(text) -> str`: for comparing strings whole.

The words of a text depend on nothing but the text (and the Unicode version of the running Python).
"""

from __future__ import annotations

from feedweir.text.placed_words import (
    PlacedWord,
    fold,
    placed_words,
    stems,
    without_markup,
    words,
    words_of_html,
)
from feedweir.text.token_arrays import FORMS, VALUE_GAP, FormCache, Tokens, analyse, analyse_raw, distinct

__all__ = [
    "FORMS",
    "VALUE_GAP",
    "FormCache",
    "PlacedWord",
    "Tokens",
    "analyse",
    "analyse_raw",
    "distinct",
    "fold",
    "placed_words",
    "stems",
    "without_markup",
    "words",
    "words_of_html",
]
