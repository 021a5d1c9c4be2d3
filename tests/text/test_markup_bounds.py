"""HTML that was made to be slow is recognised before a parser sees it; what people write is not taken for it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.html import sanitised
from feedweir.text.markup_bounds import (
    MAX_ATTRIBUTES,
    MAX_NESTING,
    is_crowded,
    is_too_complex,
    is_too_deep,
)


@pytest.mark.parametrize("tag", ["div", "b", "SPAN", "x-own", "svg", "table"])
def test_elements_may_be_open_up_to_the_bound_and_not_beyond(tag: str) -> None:
    assert not is_too_deep(f"<{tag}>" * MAX_NESTING)
    assert is_too_deep(f"<{tag}>" * (MAX_NESTING + 1))


@pytest.mark.parametrize("tag", ["p", "br", "li", "img", "TD", "meta", "option"])
def test_what_closes_itself_may_stand_as_often_as_it_likes(tag: str) -> None:
    assert not is_too_deep(f"<{tag}>" * 5_000)


def test_what_is_closed_again_counts_no_more() -> None:
    assert not is_too_deep("<div><b>x</b></div>" * 5_000)
    assert not is_too_deep("<DIV>x</div>" * 5_000)


def test_an_end_tag_closes_only_its_own_kind() -> None:
    assert is_too_deep("<div></b>" * (MAX_NESTING + 1))
    assert is_too_deep("</div>" * 5_000 + "<div>" * (MAX_NESTING + 1))


def test_the_depth_may_be_reached_anywhere_in_the_text() -> None:
    deep = "<i>" * (MAX_NESTING + 1)
    assert is_too_deep("text <p>" * 100 + deep + "</i>" * (MAX_NESTING + 1))
    assert is_too_complex("x" * 10_000 + deep)


def naive_depth(tags: list[tuple[str, str]]) -> int:
    """How many elements are open at most, counted one by one."""
    opened: list[str] = []
    most = 0
    for slash, name in tags:
        if not slash:
            opened.append(name)
        elif name in opened:
            opened.remove(name)
        most = max(most, len(opened))
    return most


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["", "", "/"]), st.sampled_from(["a", "b", "em"])), max_size=12),
    st.integers(MAX_NESTING - 6, MAX_NESTING),
)
def test_the_bound_is_exact_whatever_stands_after_it(tags: list[tuple[str, str]], before: int) -> None:
    every = [("", "div")] * before + tags
    html = "".join(f"<{slash}{name}>" for slash, name in every) + "<p>" * 20
    assert is_too_deep(html) == (naive_depth(every) > MAX_NESTING)


def crowd(count: int, attribute: str) -> str:
    return "<a " + " ".join([attribute.format(n) for n in range(count)]) + ">"


@pytest.mark.parametrize("attribute", ["a{}", "a{}=1", 'a{}="x y>"', "a{}='<b c>'", "data-a{} = 1"])
def test_a_tag_may_have_so_many_attributes_and_no_more(attribute: str) -> None:
    assert not is_crowded(crowd(MAX_ATTRIBUTES, attribute))
    assert is_crowded(crowd(MAX_ATTRIBUTES + 1, attribute))
    assert is_crowded(f"<p>x</p>{crowd(MAX_ATTRIBUTES + 1, attribute)}")


def test_a_tag_that_never_ends_is_counted_as_well() -> None:
    assert is_crowded("<a" + " b" * (MAX_ATTRIBUTES + 1))


def test_many_tags_with_few_attributes_are_no_crowd() -> None:
    assert not is_crowded('<a href="x" title="y">z</a>' * 5_000)
    assert not is_crowded("a b c d " * 5_000)
    assert not is_crowded('<a title="' + "word " * 5_000 + '">')


def test_html_that_is_too_complex_is_shown_as_its_text() -> None:
    deep = "<i>" * (MAX_NESTING + 1) + "rain &amp; <script>x()</script>snow"
    assert sanitised(deep) == "rain &amp; snow"
    assert sanitised(crowd(MAX_ATTRIBUTES + 1, "a{}") + "link</a>") == "link"


@pytest.mark.parametrize("piece", ["<a ", "<a b=", '<a b="', "<", "</a", "<a b c='", "<a\t/", "=\"'"])
def test_looking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def cost(times: int) -> float:
        text = piece * times
        started = time.process_time()
        is_too_complex(text)
        return time.process_time() - started

    small, large = min(cost(20_000) for _ in range(3)), min(cost(80_000) for _ in range(3))
    assert large < 10 * small + 0.05
