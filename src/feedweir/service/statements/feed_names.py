"""A feed's new name wherever a query says the old one."""

from __future__ import annotations

from dataclasses import replace

from feedweir.language import Query, format_statement, parse
from feedweir.language.queries import BlockJoin, Group, Member, Named, PathBlock, Xscl
from feedweir.language.statements import Subscribe


def renamed_query(query: Query, old: str, new: str) -> Query:
    joins = tuple(replace(join, secondary=_member(join.secondary, old, new)) for join in query.joins)
    return replace(query, source=_member(query.source, old, new), joins=joins)


def renamed_statement(text: str, old: str, new: str) -> str:
    """A subscription's statement; one that was made without a text has none."""
    statements = parse(text)
    if not statements or not isinstance(statements[0], Subscribe):
        return text
    return format_statement(
        replace(statements[0], feed=new if statements[0].feed == old else statements[0].feed)
    )


def _member(member: Member, old: str, new: str) -> Member:
    match member:
        case Named(name):
            return replace(member, name=new) if name == old else member
        case Group(members):
            return replace(member, members=tuple(_member(part, old, new) for part in members))
        case Xscl(body):
            return replace(member, body=_body(body, old, new))


def _body(body: PathBlock | BlockJoin, old: str, new: str) -> PathBlock | BlockJoin:
    if isinstance(body, PathBlock):
        return _block(body, old, new)
    return replace(body, left=_body(body.left, old, new), right=_block(body.right, old, new))


def _block(block: PathBlock, old: str, new: str) -> PathBlock:
    return replace(block, feed=new) if block.feed == old else block
