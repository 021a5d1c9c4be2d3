"""Text and tree say the same."""

from hypothesis import given, settings

from feedweir.language import format_predicate, format_statement, parse
from feedweir.language.statements import Statement
from feedweir.plan.predicates import Predicate
from tests.language.generated import predicates, statements
from tests.language.reading import parse_predicate


@given(predicates)
@settings(max_examples=200, deadline=None)
def test_a_predicate_reads_back_as_itself(predicate: Predicate) -> None:
    assert parse_predicate(format_predicate(predicate)) == predicate


@given(statements)
@settings(max_examples=250, deadline=None)
def test_a_statement_reads_back_as_itself(statement: Statement) -> None:
    assert parse(format_statement(statement)) == (statement,)


@given(statements, statements)
@settings(max_examples=50, deadline=None)
def test_a_script_of_two_statements_reads_back_as_both(first: Statement, second: Statement) -> None:
    script = f"{format_statement(first)};\n-- between\n{format_statement(second)};"
    assert parse(script) == (first, second)


@given(statements)
@settings(max_examples=50, deadline=None)
def test_canonical_text_is_a_fixed_point(statement: Statement) -> None:
    text = format_statement(statement)
    assert format_statement(parse(text)[0]) == text
