"""From a landed document to a file, a mailbox and a webhook, by the loop that runs beside the pipeline."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from feedweir import Weir
from feedweir.catalog import NewSubscription
from feedweir.config import Settings
from feedweir.deliver.send.open_channels import SendingOptions, opened_sender
from feedweir.deliver.send.sender import SenderOptions, SendLoop
from tests.deliver.receivers import Request, http_receiver, mail_server

DOCUMENT = b"""<rss version="2.0"><channel><title>Muse News</title>
<item><guid>1</guid><title>Muse in Paris</title><description>A concert</description></item>
<item><guid>2</guid><title>Chess in Oslo</title><description>A game</description></item>
</channel></rss>"""


def test_what_lands_reaches_a_file_a_mailbox_and_a_webhook(tmp_path: Path) -> None:
    arrived = threading.Event()

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        arrived.set()
        return 204, {}, b""

    with Weir.open(tmp_path / "data") as weir, mail_server() as mailbox, http_receiver() as receiver:
        receiver.answer = answer
        weir.execute(
            "register feed http://muse.example/rss as MuseNews;"
            "create feed Muse from MuseNews where title contains 'muse';"
        )
        for channel, target, options in (
            ("file", "muse.json", {}),
            ("mail", "ann@example.org", {"apply": "Title.xml"}),
            ("webhook", receiver.url, {}),
        ):
            weir.catalog.subscriptions.add(
                NewSubscription(
                    feed="Muse",
                    statement="",
                    channel=channel,
                    target=target,
                    options={**options, "backlog": True},
                    created_at=weir.clock(),
                )
            )
        weir.push("MuseNews", DOCUMENT, media_type="application/rss+xml")
        weir.run()
        outlets = SendingOptions(
            outputs=tmp_path / "out",
            settings=Settings(
                smtp_host="127.0.0.1",
                smtp_port=mailbox.port,
                mail_from="weir@example.org",
                allow_private=True,
            ),
            sender=SenderOptions(poll_s=0.02),
        )
        loop = SendLoop(lambda: opened_sender(weir.catalog, weir.feed_views, outlets, clock=weir.clock))
        loop.start()
        assert arrived.wait(30)
        assert mailbox.arrived.wait(30)
        loop.stop()
        assert weir.catalog.outbox.counts() == {"sent": 3}
    items = json.loads((tmp_path / "out" / "muse.json").read_bytes())["items"]
    assert [item["title"] for item in items] == ["Muse in Paris"]
    (message,) = mailbox.messages
    assert message.get_content().strip() == "Muse in Paris"
    assert message["Subject"] == "Muse: Muse in Paris"
    (request,) = receiver.requests
    assert json.loads(request.body)["data"]["feed"]["_feedweir"]["name"] == "Muse"
