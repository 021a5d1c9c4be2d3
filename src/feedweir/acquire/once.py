"""One document from the web that is no source's: looked at once, within the limits and manners of every look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.acquire.exchange import Agent, Changed, Failed, FetchRequest, FetchResult, Reason
from feedweir.acquire.fetch import Fetcher
from feedweir.acquire.landing import Landed
from feedweir.errors import DocumentError
from feedweir.items.redact import without_secrets


def fetch_once(url: str, *, agent: Agent, rule: AddressRule, clock: Callable[[], datetime]) -> Landed:
    """What is at an address now; raises `DocumentError` with the reason when nothing can be had."""

    async def look() -> FetchResult:
        async with AiohttpTransport(rule=rule) as transport:
            fetcher = Fetcher(transport=transport, clock=clock, agent=agent)
            return await fetcher.fetch(FetchRequest(source=url, url=url, is_page_searched=False))

    outcome = asyncio.run(look()).outcome
    if isinstance(outcome, Changed):
        return outcome.document
    is_private = isinstance(outcome, Failed) and outcome.reason is Reason.FORBIDDEN_ADDRESS
    hint = "allow_private opens private addresses" if is_private else ""
    raise DocumentError(f"{without_secrets(url)}: {outcome}", hint=hint)
