"""The tokeniser: one regular expression for RoSeS, XSCL and graph patterns, and the cursor that parsers move.

Tokens are plain strings: their first character tells their kind. Offsets are not kept, because only an error needs
one; it is found by reading the text again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from feedweir.errors import LanguageError, near
from feedweir.plan.window_lengths import WindowSpec

MAX_DEPTH = 100
"""How deep brackets may nest; every reader of a tree may recurse over it."""
MAX_CHARACTERS = 50_000_000

# No group is repeated possessively: before 3.11.5 that loses characters (`(?:ab?)*+`); single characters are safe.
_COMMENT = r"(?:--[^\n]*+|(?<![^\s;,(){}])/\*(?:[^*]++|\*(?!/))*\*/)"
"""`/*` opens a comment only after a space or a bracket: in `S/*` it is a path."""
_SKIP = rf"\s*+(?:{_COMMENT}\s*+)*"
_TEMPLATE = r"""[sS][eE][lL][eE][cC][tT]\s*+<(?:[^>]{0,9999}+>){1,2000}?(?=\s*+[fF][rR][oO][mM]\b)"""
"""SELECT and its XML, up to FROM. Only texts with a `<` are looked through for it, and not endlessly for its end."""
_SCHEME = r"\w[\w+.-]{0,40}+://"
"""How a URL begins. Bounded, because it is looked for at the beginning of every name."""
_REGEX = r"[mM][aA][tT][cC][hH][eE][sS]\s++/(?![/*\s])(?:[^/\\\n]|\\.)*/\w*+"
"""`matches` and its regular expression. Only texts with such a word are looked through for it."""
_TOKEN = r"""
    # names, numbers, dates; XSCL's primed names
    (?!SCHEME)\w++(?:(?:\.\.|[-.:\#])\w++)*(?:'++(?=[\s=,\]}).;/\[]|$))?
  | '(?:[^']++|'')*'(?!')
  | [(),;\[\]]|=(?!=)|\|(?!\|)
  | [$?]\w++(?:-\w++)*
  | "(?:[^"]++|"")*"(?!")
  | “[^”]*+(?:”|\Z) | ‘[^’]*+(?:’|\Z)                              # `_with_lone_quote` sees to those without an end
  | ->|//|<=|>=|!=|<>|==|&&|\|\|
  | SCHEME(?:(?:\([^\s()'"“”<>]*\)|[^\s'"“”<>,()]|,(?![\s?<'"“(]|[a-z]+://))*   # a URL without quotes
      (?:\([^\s()'"“”<>]*\)|[^\s'"“”<>,;()\]}.]))?
  | <\w[\w+.-]*+:[^\s<>"]*>                                    # an IRI
  | (?<![^\s;,(){}])/\*[\s\S]*+                                    # a comment without an end
  | \S
  | \Z
""".replace("SCHEME", _SCHEME)
_PLAIN = re.compile(rf"{_SKIP}({_TOKEN})", re.VERBOSE)
_WITH_TEMPLATES = re.compile(rf"{_SKIP}({_TEMPLATE}|{_TOKEN})", re.VERBOSE)
_WITH_REGEXES = re.compile(rf"{_SKIP}({_TEMPLATE}|{_REGEX}|{_TOKEN})", re.VERBOSE)
_MATCHES = re.compile(r"matches\s+/", re.IGNORECASE)
_NAMES = re.compile(r"\w+(?:[-.:#]\w+)*")
QUOTES = "'\"“‘"
_CLOSING = {"“": "”", "‘": "’"}


class Cursor:
    """A place in the tokens of a script. `words` are the tokens in lower case, where keywords are looked for.

    The token lists end with empty tokens, which nothing accepts, so that looking ahead needs no check.
    """

    __slots__ = ("at", "depth", "is_inside", "names_parts", "text", "tokens", "windows", "words")

    def __init__(self, text: str) -> None:
        check_readable(text)
        self.text = text
        self.tokens: list[str] = _with_lone_quote(_pattern(text).findall(text))
        self.tokens += ("", "", "")
        self.words: list[str] = list(map(str.lower, self.tokens))
        self.at = 0
        self.depth = 0
        self.is_inside = False
        self.names_parts = False
        self.windows: dict[str, WindowSpec] = {}

    def accept(self, word: str) -> bool:
        """Step over this word if it is next."""
        if self.words[self.at] == word:
            self.at += 1
            return True
        return False

    def expect(self, word: str, hint: str = "") -> None:
        """Step over this word, which must be next."""
        if self.words[self.at] != word:
            meant = near(self.words[self.at], (word,)) if word.isalpha() else ""
            raise self.unexpected(expected=(f"`{word}`",), hint=" ".join(filter(None, (meant, hint))))
        self.at += 1

    def enter(self) -> None:
        """Go one bracket deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(
                "nested too deeply",
                hint=f"brackets can be nested {MAX_DEPTH} levels deep; move inner parts into a feed of their own",
            )

    def leave(self) -> None:
        self.depth -= 1

    def is_string(self) -> bool:
        token = self.tokens[self.at]
        return len(token) > 1 and token[0] in QUOTES

    def string(self, what: str = "a quoted text") -> str:
        """The quoted text that must be next, without its quotes."""
        token = self.tokens[self.at]
        if not self.is_string():
            self.unclosed()
            raise self.missing(what, hint="put it between single quotes")
        self.at += 1
        return unquoted(token)

    def unclosed(self) -> None:
        """Fail if the next token is a quote or comment that is never closed."""
        token = self.tokens[self.at]
        if token and token in QUOTES:
            raise self.error(
                "this quote is never closed", hint="a quote inside a text is written twice: 'it''s'"
            )
        if token.startswith("/*"):
            raise self.error(
                "this comment is never closed", expected=("`*/`",), hint="to write a path, put a space: `/ *`"
            )

    def seen(self) -> str:
        """The next token, as an error shows it."""
        self.unclosed()
        token = self.tokens[self.at]
        return f"`{token if len(token) < 60 else token[:57] + '…'}`" if token else "the end of the text"

    def error(
        self,
        message: str,
        *,
        expected: tuple[str, ...] = (),
        hint: str = "",
        at: int | None = None,
        within: int = 0,
    ) -> LanguageError:
        """The error for the next token, or for the token at `at`, so many characters after its beginning."""
        place = self.at if at is None else at
        offset = offset_of(self.text, place) + within
        return LanguageError(message, text=self.text, offset=offset, expected=expected, hint=hint)

    def unknown(self, what: str, known: Mapping[str, object] | tuple[str, ...]) -> LanguageError:
        """The error for a word that is none of the known ones, with those that look like it."""
        return self.missing(what, expected=tuple(known)[:12], hint=near(self.words[self.at], known))

    def missing(self, what: str, *, expected: tuple[str, ...] = (), hint: str = "") -> LanguageError:
        """The error for a token that is not what should stand here."""
        seen = self.seen()
        is_end = not self.tokens[self.at]
        message = f"the text ends where {what} is expected" if is_end else f"{seen} is not {what}"
        return self.error(message, expected=expected or (what,), hint=hint)

    def unexpected(self, *, expected: tuple[str, ...] = (), hint: str = "") -> LanguageError:
        """The error for a token with which nothing can go on here."""
        seen = self.seen()
        message = f"{seen} is not expected here" if self.tokens[self.at] else "the text ends too early"
        return self.error(message, expected=expected, hint=hint)


def check_readable(text: str) -> None:
    """Refuse what could not be stored or sent: half characters, NUL, and endless text."""
    if len(text) > MAX_CHARACTERS:
        raise LanguageError("the text is too long", hint=f"at most {MAX_CHARACTERS:,} characters")
    if "\0" in text:
        raise LanguageError("the text contains a NUL character", text=text, offset=text.index("\0"))
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        readable = text.encode(errors="replace").decode()
        raise LanguageError(
            "the text contains an incomplete character", text=readable, offset=error.start
        ) from error


def _pattern(text: str) -> re.Pattern[str]:
    if "/" in text and _MATCHES.search(text):
        return _WITH_REGEXES
    return _WITH_TEMPLATES if "<" in text else _PLAIN


def _with_lone_quote(tokens: list[str]) -> list[str]:
    """The tokens, the last as a quote alone if it begins with one that is never closed: its end was looked for once."""
    for place in range(max(len(tokens) - 2, 0), len(tokens)):
        token = tokens[place]
        if token[:1] in _CLOSING and (len(token) < 2 or token[-1] != _CLOSING[token[0]]):
            tokens[place] = token[0]
    return tokens


def offset_of(text: str, place: int) -> int:
    """Where the token of that number begins."""
    for number, match in enumerate(_pattern(text).finditer(text)):
        if number == place:
            return match.start(1)
    return len(text)


def unquoted(token: str) -> str:
    """What a quoted token says; a quote of the same kind inside is written twice."""
    quote = token[0]
    inner = token[1:-1]
    return inner.replace(quote * 2, quote) if quote in "'\"" else inner


def quoted(text: str) -> str:
    """A text between single quotes."""
    return "'" + text.replace("'", "''") + "'"


def is_plain_name(text: str) -> bool:
    """Whether a name can stand without quotes."""
    return _NAMES.fullmatch(text) is not None and _PLAIN.findall(text)[0] == text
