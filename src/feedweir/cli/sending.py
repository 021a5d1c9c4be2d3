"""What delivers, composed from the settings: senders, the reader of bounces, and the desk that doors ask."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from feedweir.config import Settings
from feedweir.deliver.channels.mail import MailOptions
from feedweir.deliver.channels.smtp import SmtpServer
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.errors import SettingsError
from feedweir.keeper.bouncing import BounceLoop
from feedweir.keeper.desk import Desk, link_secret
from feedweir.keeper.entry_views import StoredViews
from feedweir.keeper.outlets import OutletOptions, opened_sender
from feedweir.keeper.sending import SendLoop
from feedweir.keeper.weir import Weir


def send_loop(weir: Weir, settings: Settings) -> SendLoop:
    """A sender with every channel that the settings allow."""
    options = OutletOptions(
        outputs=weir.directory.root / "outputs",
        stylesheets=weir.directory.root / "stylesheets",
        smtp=_smtp(settings),
        mail=MailOptions(
            sender=settings.mail_from,
            bounces=settings.bounces,
            secret=link_secret(weir.catalog, settings.link_secret),
        ),
        base_url=settings.public_url.rstrip("/"),
        allow_private=settings.allow_private,
        notify=settings.notify,
    )
    views = StoredViews(weir.catalog, weir.store)
    return SendLoop(partial(opened_sender, weir.catalog, views, options, clock=weir.clock))


def bounce_loop(weir: Weir, settings: Settings) -> BounceLoop | None:
    if not settings.bounces_mailbox:
        return None
    return BounceLoop(weir.catalog, Path(settings.bounces_mailbox), weir.clock)


def desk_of(weir: Weir, settings: Settings) -> Desk:
    return Desk(
        weir.catalog,
        weir.store,
        clock=weir.clock,
        bell=weir.bell,
        secret=settings.link_secret,
        allow_private=settings.allow_private,
        stylesheets=Stylesheets(weir.directory.root / "stylesheets"),
    )


def _smtp(settings: Settings) -> SmtpServer | None:
    if not settings.smtp_host:
        return None
    if settings.smtp_security not in ("none", "starttls", "tls"):
        raise SettingsError(f"setting smtp_security: {settings.smtp_security!r} is not none, starttls or tls")
    return SmtpServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,  # type: ignore[arg-type]
        user=settings.smtp_user,
        password=settings.smtp_password,
    )
