"""Every kind of statement is printed, checked and carried out."""

from __future__ import annotations

from typing import get_args

from feedweir.language.statements import STATEMENT_KINDS, Statement


def test_the_tables_have_every_kind_of_statement_and_no_other() -> None:
    assert set(STATEMENT_KINDS) == set(get_args(Statement))
