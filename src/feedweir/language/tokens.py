"""The tokeniser: one regular expression for RoSeS, XSCL and graph patterns, and the cursor that parsers move.

Tokens are plain strings: their first character tells their kind. Offsets are not kept, because only an error needs
one; it is found by reading the text again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from feedweir.errors import LanguageError
from feedweir.language.suggest import near
from feedweir.language.windows import WindowSpec

MAX_DEPTH = 100
"""How deep brackets may nest; every reader of a tree may recurse over it."""
MAX_CHARACTERS = 50_000_000

# No group is repeated possessively: before 3.11.5 that loses characters (`(?:ab?)*+`); single characters are safe.
_COMMENT = r"(?:--[^\n]*+|(?<![^\s;,(){}])/\*(?:[^*]++|\*(?!/))*\*/)"
"""`/*` opens a comment only after a space or a bracket: in `S/*` it is a path."""
_SKIP = rf"\s*+(?:{_COMMENT}\s*+)*"
_TEMPLATE = r"""[sS][eE][lL][eE][cC][tT]\s*+<(?:[^>]*+>){1,2000}?(?=\s*+[fF][rR][oO][mM]\b)"""
"""SELECT and its XML, up to FROM. Only texts with a `<` are looked through for it."""
_TOKEN = r"""
    # names, numbers, dates; XSCL's primed names
    (?!\w[\w+.-]*+://)\w++(?:(?:\.\.|[-.:\#])\w++)*(?:'++(?=[\s=,\]}).;/\[]|$))?
  | '(?:[^']++|'')*'(?!')
  | [(),;\[\]]|=(?!=)|\|(?!\|)
  | [$?]\w++(?:-\w++)*
  | "(?:[^"]++|"")*"(?!")
  | “[^”]*+” | ‘[^’]*+’
  | ->|//|<=|>=|!=|<>|==|&&|\|\|
  | \w[\w+.-]*+://(?:(?:\([^\s()'"“”<>]*\)|[^\s'"“”<>,()]|,(?![\s?<'"“(]|[a-z]+://))*   # a URL without quotes
      (?:\([^\s()'"“”<>]*\)|[^\s'"“”<>,;()\]}.]))?
  | <\w[\w+.-]*+:[^\s<>"]*>                                    # an IRI
  | (?<![^\s;,(){}])/\*[\s\S]*+                                    # a comment without an end
  | \S
  | \Z
"""
_PLAIN = re.compile(rf"{_SKIP}({_TOKEN})", re.VERBOSE)
_WITH_TEMPLATES = re.compile(rf"{_SKIP}({_TEMPLATE}|{_TOKEN})", re.VERBOSE)
_NAMES = re.compile(r"\w+(?:[-.:#]\w+)*")
QUOTES = "'\"“‘"


class Cursor:
    """A place in the tokens of a script. `words` are the tokens in lower case, where keywords are looked for.

    The token lists end with empty tokens, which nothing accepts, so that looking ahead needs no check.
    """

    __slots__ = ("at", "depth", "is_inside", "speaks_of_variables", "text", "tokens", "windows", "words")

    def __init__(self, text: str) -> None:
        check_readable(text)
        self.text = text
        self.tokens: list[str] = _pattern(text).findall(text)
        self.tokens += ("", "", "")
        self.words: list[str] = list(map(str.lower, self.tokens))
        self.at = 0
        self.depth = 0
        self.is_inside = False
        self.speaks_of_variables = False
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
            raise self.error(f"{self.seen()} is not expected here", expected=(f"`{word}`",), hint=hint)
        self.at += 1

    def enter(self) -> None:
        """Go one bracket deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(
                "too deep", hint=f"brackets may nest {MAX_DEPTH} deep; give inner parts a feed of their own"
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
            raise self.error(
                f"{self.seen()} is not {what}", expected=(what,), hint="put it between single quotes"
            )
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
            raise self.error("this comment is never closed", expected=("`*/`",), hint="a path is `/ *`")

    def seen(self) -> str:
        """The next token, as an error tells it."""
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
        hint = near(self.words[self.at], known)
        return self.error(f"{self.seen()} is not {what}", expected=tuple(known)[:12], hint=hint)


def check_readable(text: str) -> None:
    """Refuse what could not be stored or sent: half characters, NUL, and endless text."""
    if len(text) > MAX_CHARACTERS:
        raise LanguageError("the text is too long", hint=f"at most {MAX_CHARACTERS:,} characters")
    if "\0" in text:
        raise LanguageError("the text has a NUL character in it", text=text, offset=text.index("\0"))
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        readable = text.encode(errors="replace").decode()
        raise LanguageError(
            "the text has half a character in it", text=readable, offset=error.start
        ) from error


def _pattern(text: str) -> re.Pattern[str]:
    return _WITH_TEMPLATES if "<" in text else _PLAIN


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
