"""Fetch one URL that is not a registered source, under the usual limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.fetcher import Fetcher
from feedweir.acquire.fetch.transport import Agent, Changed, Failed, FetchRequest, FetchResult, Reason
from feedweir.errors import DocumentError
from feedweir.logs.landing import Landed
from feedweir.text.redact import without_secrets


def fetch_url(url: str, *, agent: Agent, rule: AddressRule, clock: Callable[[], datetime]) -> Landed:
    """The document at an address; raises `DocumentError` with the reason when it cannot be fetched."""

    async def poll() -> FetchResult:
        async with AiohttpTransport(rule=rule) as transport:
            fetcher = Fetcher(transport=transport, clock=clock, agent=agent)
            return await fetcher.fetch(FetchRequest(source=url, url=url, is_page_searched=False))

    outcome = asyncio.run(poll()).outcome
    if isinstance(outcome, Changed):
        return outcome.document
    is_private = isinstance(outcome, Failed) and outcome.reason is Reason.FORBIDDEN_ADDRESS
    hint = "the setting allow_private permits private addresses" if is_private else ""
    raise DocumentError(f"{without_secrets(url)}: {outcome}", hint=hint)
