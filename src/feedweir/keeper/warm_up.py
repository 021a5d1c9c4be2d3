"""Compile the kernels once, at installation, so that the first batch of the first run does not wait for it.

python -m feedweir.keeper.warm_up
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

from feedweir.keeper.weir import Weir
from feedweir.kernel_files import forget_old_kernels

_STATEMENTS = """
register feed https://example.org/feed as Warm;
create feed Up from Warm as $w
    where $w[title contains 'water' or summary contains "high water" or contains 'flood*' or published.year > 2000];
"""
_DOCUMENT = """<rss version="2.0"><channel><title>Warm</title><item><guid>1</guid><title>Water, wässer, 水</title>
<pubDate>Mon, 01 Jun 2026 12:00:00 GMT</pubDate><description>&lt;p&gt;High water&lt;/p&gt;</description>
<category>floods</category></item></channel></rss>"""


def warm_up() -> int:
    """Run one small document through everything; how many items came out."""
    with TemporaryDirectory() as directory, Weir.open(directory) as weir:
        weir.execute(_STATEMENTS)
        weir.push("Warm", _DOCUMENT.encode())
        weir.run()
        return len(weir.items("Up"))


if __name__ == "__main__":
    forget_old_kernels()
    warm_up()
