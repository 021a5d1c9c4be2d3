"""SMTP connections, kept open between messages, and the meaning of a server's responses."""

from __future__ import annotations

import smtplib
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from feedweir.config import Settings
from feedweir.errors import DeliveryError, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """The server that accepts our mail."""

    host: str = "localhost"
    port: int = 25
    security: Literal["none", "starttls", "tls"] = "none"
    user: str = ""
    password: str = field(default="", repr=False)
    timeout_s: float = 30.0
    connections: int = 8
    """How many are kept open at most."""


def server_in(settings: Settings) -> SmtpServer | None:
    """The server that the settings name, if they name one."""
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


class SmtpPool:
    """Sends messages from any thread. A connection that failed is not used again."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._idle: list[smtplib.SMTP] = []
        self._lock = threading.Lock()

    def send(self, sender: str, recipient: str, content: bytes) -> None:
        """Send one message to one recipient; raises DeliveryError, final if the server says so."""
        kept = self._take()
        if kept is not None and self._offered(kept, sender, recipient):
            self._finish(kept, content)
            return
        connection = self._connect()
        with _converted(connection):
            _offer(connection, sender, recipient)
        self._finish(connection, content)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(OSError, smtplib.SMTPException):
                connection.quit()

    def _offered(self, connection: smtplib.SMTP, sender: str, recipient: str) -> bool:
        """Whether a kept connection still works; if it does not, nothing was sent."""
        try:
            _offer(connection, sender, recipient)
        except (smtplib.SMTPServerDisconnected, ConnectionError, TimeoutError):
            connection.close()
            return False
        except (smtplib.SMTPException, OSError) as error:
            if getattr(error, "smtp_code", 0) == 421:
                connection.close()
                return False
            self._give_back(connection, with_reset=True)
            raise delivery_error(error) from error
        return True

    def _finish(self, connection: smtplib.SMTP, content: bytes) -> None:
        with _converted(connection):
            code, reply = connection.data(content)
            if code != 250:
                raise smtplib.SMTPDataError(code, reply)
        self._give_back(connection)

    def _take(self) -> smtplib.SMTP | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: smtplib.SMTP, *, with_reset: bool = False) -> None:
        """Keep a connection for later; after a refused message it is reset first."""
        try:
            if with_reset:
                connection.rset()
        except (smtplib.SMTPException, OSError):
            connection.close()
            return
        with self._lock:
            is_kept = len(self._idle) < self._server.connections
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def _connect(self) -> smtplib.SMTP:
        server = self._server
        try:
            if server.security == "tls":
                connection: smtplib.SMTP = smtplib.SMTP_SSL(
                    server.host, server.port, timeout=server.timeout_s, context=ssl.create_default_context()
                )
            else:
                connection = smtplib.SMTP(server.host, server.port, timeout=server.timeout_s)
        except (smtplib.SMTPException, OSError) as error:
            raise delivery_error(error) from error
        with _converted(connection):
            if server.security == "starttls":
                connection.starttls(context=ssl.create_default_context())
            if server.user:
                connection.login(server.user, server.password)
            connection.ehlo_or_helo_if_needed()
        return connection


class _converted:
    """Closes a connection that fails, and raises the error as a DeliveryError."""

    def __init__(self, connection: smtplib.SMTP) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, smtplib.SMTPException | OSError):
            self._connection.close()
            raise delivery_error(error) from error


def _offer(connection: smtplib.SMTP, sender: str, recipient: str) -> None:
    code, reply = connection.mail(sender)
    if code != 250:
        raise smtplib.SMTPSenderRefused(code, reply, sender)
    code, reply = connection.rcpt(recipient)
    if code not in (250, 251):
        raise smtplib.SMTPResponseException(code, reply)


def delivery_error(error: Exception) -> DeliveryError:
    """4xx is temporary and 5xx permanent, as in the standard; a refused login is our own fault, and temporary."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return DeliveryError("the mail server refused our login", hint="check the user and the password")
    if isinstance(error, smtplib.SMTPResponseException):
        reply = error.smtp_error
        text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
        return DeliveryError(
            f"the mail server answered {error.smtp_code} {' '.join(text.split())}"[:300],
            is_final=500 <= error.smtp_code < 600,
        )
    return DeliveryError(f"the mail server cannot be reached: {error or type(error).__name__}"[:300])
