"""The places in an item's text where a clause matched, to be shown to people."""

from __future__ import annotations

from collections.abc import Iterator

from feedweir.items.attributes import texts_in
from feedweir.items.model import Item
from feedweir.match.matches import Span
from feedweir.match.meaning.item_meaning import term_words
from feedweir.plan.predicates import Contains, Matches, Predicate, Term
from feedweir.text.analyser import placed_words, without_markup
from feedweir.text.regular_expressions import places


def spans_of(atom: Predicate, item: Item) -> Iterator[Span]:
    """Every place where a clause matched, each once; nothing for clauses that do not search text."""
    match atom:
        case Contains(attribute, terms, _):
            found = [span for term in terms for span in _of_term(term, attribute, item)]
            yield from dict.fromkeys(found)
        case Matches():
            yield from _of_regex(atom, item)
        case _:
            return


def _of_regex(atom: Matches, item: Item) -> Iterator[Span]:
    """Where a regular expression matches; in HTML only matches without markup inside."""
    for name, number, text, is_html in texts_in(item, atom.attribute):
        for start, end in places(atom.pattern, atom.flags, without_markup(text) if is_html else text):
            yield Span(name, number, start, end)


def _of_term(term: Term, attribute: str | None, item: Item) -> Iterator[Span]:
    """Every place where a term occurs in an attribute, or in the whole item."""
    wanted = term_words(term)
    for name, number, text, is_html in texts_in(item, attribute):
        placed = list(placed_words(without_markup(text) if is_html else text))
        found = [word for word, _, _ in placed]
        for at in range(len(found) - len(wanted) + 1) if wanted else ():
            *head, last = found[at : at + len(wanted)]
            ends_so = last.startswith(wanted[-1]) if term.is_prefix else last == wanted[-1]
            if ends_so and tuple(head) == wanted[:-1]:
                yield Span(name, number, placed[at].start, placed[at + len(wanted) - 1].end)
