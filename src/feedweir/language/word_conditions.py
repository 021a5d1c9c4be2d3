"""Conditions on the words of a text, and on its characters: `contains`, `similar`, `matches`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from feedweir.errors import LanguageError
from feedweir.items.attributes import AttributeType
from feedweir.language.literals import count, format_number, number
from feedweir.language.subjects import Subject, fail_operator, format_about
from feedweir.language.tokens import Cursor, quoted
from feedweir.plan.predicates import Contains, Matches, Predicate, Similar, Term
from feedweir.text.analyser import words
from feedweir.text.regular_expressions import FLAGS, compiled

DEFAULT_THRESHOLD = 0.5
_WITHOUT_WORDS = (AttributeType.TIME, AttributeType.NUMBER)
_WORDS_AND_PHRASES = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


def contains(c: Cursor, about: Subject) -> Predicate:
    """`contains 'words "a phrase" prefix*'`, `contains any of ('a', 'b')`, `contains at least 2 of (…)`."""
    if about.type in _WITHOUT_WORDS:
        c.at -= 1
        fail_operator(c, about)
    token = c.tokens[c.at]
    start = c.at
    if token[:1] == "'" and token[1:-1].isalnum():
        c.at += 1
        return Contains(about.attribute, (Term(token[1:-1]),), 1)
    if c.words[c.at] in ("all", "any", "at"):
        return _contains_list(c, about)
    text = c.string("the words to look for")
    terms = tuple(terms_of(text))
    if not terms or not all(has_word(term.text) for term in terms):
        raise c.error(
            f"a part of {token} contains no word", at=start, hint="a word has at least one letter or digit"
        )
    return Contains(about.attribute, terms, len(terms))


def terms_of(text: str) -> list[Term]:
    """The words and "phrases" of a text; a `*` at the end makes a prefix."""
    terms = []
    for phrase, star, word in _WORDS_AND_PHRASES.findall(text):
        if word:
            terms.append(Term(word.rstrip("*"), word.endswith("*")))
        else:
            terms.append(term_of(phrase + star))
    return terms


def term_of(text: str) -> Term:
    """One term, all of whose words stand next to each other."""
    text = text.strip()
    return Term(text.rstrip("* "), True) if text.endswith("*") else Term(text)


def each_once(parts: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Conditions without those that ask again for the same words, or are the same: `at least k of` counts different
    ones.
    """
    found: dict[object, Predicate] = {}
    for part in parts:
        found.setdefault(_meant(part), part)
    return tuple(found.values())


def _meant(part: Predicate) -> object:
    if not isinstance(part, Contains):
        return part
    return part.attribute, part.at_least, tuple(map(_words_of, part.terms))


def _words_of(term: Term) -> tuple[tuple[str, ...], bool]:
    return tuple(words(term.text)), term.is_prefix


def _different(terms: Iterable[Term]) -> tuple[Term, ...]:
    found: dict[object, Term] = {}
    for term in terms:
        found.setdefault(_words_of(term), term)
    return tuple(found.values())


def has_word(text: str) -> bool:
    return text.isalnum() or any(character.isalnum() for character in text)


def _contains_list(c: Cursor, about: Subject) -> Contains:
    at_least = quantity(c)
    c.expect("(")
    listed = [_listed_term(c)]
    while c.accept(","):
        listed.append(_listed_term(c))
    c.expect(")")
    terms = _different(listed)
    return Contains(about.attribute, terms, len(terms) if at_least is None else at_least)


def _listed_term(c: Cursor) -> Term:
    start = c.at
    found = term_of(c.string("a word or phrase to look for"))
    if not has_word(found.text):
        raise c.error("this text contains no word", at=start, hint="a word has at least one letter or digit")
    return found


def quantity(c: Cursor) -> int | None:
    """`all of` (None), `any of` (1), `at least k of`."""
    if c.accept("all"):
        c.expect("of")
        return None
    if c.accept("any"):
        c.expect("of")
        return 1
    c.expect("at")
    c.expect("least")
    wanted = count(c, "a whole number")
    c.expect("of")
    return wanted


def similar(c: Cursor, about: Subject) -> Similar:
    """`similar 'a text' at least 0.4`."""
    if about.type in (AttributeType.TIME, AttributeType.NUMBER, AttributeType.LINK):
        c.at -= 1
        fail_operator(c, about)
    start = c.at
    if c.words[c.at].partition(".")[0] == "window":
        raise c.error(
            "`window` can only be used in the `with` clause of a join", at=start, expected=("a quoted text",)
        )
    text = c.string("the text to compare with")
    if not has_word(text):
        raise c.error("this text contains no word", at=start, hint="a word has at least one letter or digit")
    return Similar(about.attribute, text, threshold(c))


def threshold(c: Cursor, default: float = DEFAULT_THRESHOLD) -> float:
    """`at least 0.4` or `at least 40 %`, or nothing."""
    if c.words[c.at] != "at":
        return default
    c.at += 1
    c.expect("least")
    start = c.at
    value = number(c)
    if c.accept("%"):
        value /= 100
    if not 0 < value <= 1:
        raise c.error(
            "a threshold must be greater than 0 and at most 1", at=start, expected=("a number such as 0.4",)
        )
    return value


def format_contains(atom: Contains) -> str:
    return format_about(atom.attribute, f"contains {_terms(atom)}")


def format_similar(atom: Similar) -> str:
    return format_about(atom.attribute, f"similar {quoted(atom.text)}{format_threshold(atom.threshold)}")


def _terms(contains: Contains) -> str:
    """The short form when reading it gives the same terms, else the list."""
    terms = contains.terms
    if contains.at_least == len(terms) and terms:
        short = " ".join(map(_short_term, terms))
        if tuple(terms_of(short)) == terms:
            return quoted(short)
    listed = f"({', '.join(quoted(_starred(term.text, term)) for term in terms)})"
    if contains.at_least == len(terms):
        return f"all of {listed}"
    return f"any of {listed}" if contains.at_least == 1 else f"at least {contains.at_least} of {listed}"


def _short_term(term: Term) -> str:
    is_word = not any(character.isspace() for character in term.text)
    return _starred(term.text if is_word else f'"{term.text}"', term)


def _starred(text: str, term: Term) -> str:
    return f"{text}*" if term.is_prefix else text


def format_threshold(threshold: float) -> str:
    return "" if threshold == DEFAULT_THRESHOLD else f" at least {format_number(threshold)}"


# Regular expressions

_ESCAPE = re.compile(r"\\(.)|[/\n]", re.DOTALL)


def begins_regex(word: str) -> bool:
    """Whether a token is `matches`, by itself or with an expression between slashes behind it."""
    return word[:7] == "matches" and (len(word) == 7 or word[7].isspace())


def matches(c: Cursor, about: Subject) -> Matches:
    """`matches /expression/i`, or `matches 'expression'`; an expression between slashes is in the token before."""
    c.at -= 1
    if about.type in _WITHOUT_WORDS:
        fail_operator(c, about)
    token = c.tokens[c.at]
    if len(token) == len("matches"):
        return _quoted(c, about)
    opening, closing = token.index("/"), token.rindex("/")
    pattern = _plain(token[opening + 1 : closing])
    flags = token[closing + 1 :]
    if not set(flags) <= set(FLAGS):
        hint = "; ".join(f"`{flag}`: {meaning}" for flag, meaning in FLAGS.items())
        raise c.error(f"unknown flags: `{flags}`", expected=tuple(FLAGS), within=closing + 1, hint=hint)
    atom = Matches(about.attribute, pattern, "".join(sorted(set(flags))))
    return _checked(c, atom, opening + 1, "/")


def _quoted(c: Cursor, about: Subject) -> Matches:
    c.at += 1
    pattern = _plain(c.string("a regular expression, as in /rock(et)?s/i"))
    c.at -= 1
    return _checked(c, Matches(about.attribute, pattern), 1, c.tokens[c.at][0])


def _checked(c: Cursor, atom: Matches, within: int, doubled: str) -> Matches:
    """The atom, once its expression was read; `doubled` is what takes two characters in the text, and one in it."""
    try:
        compiled(atom.pattern, atom.flags)
    except LanguageError as problem:
        message = f"in this regular expression: {problem.message}"
        within += problem.offset + atom.pattern[: problem.offset].count(doubled)
        raise c.error(message, at=c.at, within=within, hint=problem.hint) from problem
    c.at += 1
    return atom


def _plain(pattern: str) -> str:
    """The one way to write what may be written in several."""
    return _ESCAPE.sub(lambda found: {"/": "/", "\n": r"\n"}.get(found[1] or found[0], found[0]), pattern)


def format_matches(atom: Matches) -> str:
    """The expression between slashes; those inside are written `\\/`."""
    return format_about(atom.attribute, f"matches /{_ESCAPE.sub(_escaped, atom.pattern)}/{atom.flags}")


def _escaped(found: re.Match[str]) -> str:
    said = found[1] or found[0]
    return {"/": r"\/", "\n": r"\n"}.get(said, found[0])
