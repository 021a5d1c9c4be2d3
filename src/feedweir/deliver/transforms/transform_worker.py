"""The process that runs stylesheets: no files, no network, limited memory and time.

It reads requests from its input and writes answers to its output, each as a length (4 bytes, big-endian) and JSON; see
`answer`. Once its limits are set it cannot open anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import struct
import sys
from collections import OrderedDict
from typing import Any, BinaryIO

from lxml import etree as _etree

etree: Any = _etree  # the stubs know too little of XSLT

_XSL = "{http://www.w3.org/1999/XSL/Transform}"
_MAX_KEPT = 32
_SAYS_NOTHING = re.compile(r"(runtime |compilation |unknown )?error(,|$)")
_CLEARER = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"(?:Local|Network) file read for (?:string://__STRING__XSLT__)?(.*) refused",
            r"a stylesheet may not read \1",
        ),
        (r"File write for (.*) refused", r"a stylesheet may not write \1"),
        (r"(?s).*infinite template recursion.*", "its templates call each other without end"),
        (r"Entity '(.*)' not defined.*", r"the entity \1 is not declared in the stylesheet itself"),
        (r"Maximum entity amplification.*", "its entities grow too large"),
    )
)
"""Messages of the libraries, and better ones."""
_MEDIA_TYPES = {"text": "text/plain", "html": "text/html", "xml": "application/xml"}


class _NoResolver(_etree.Resolver):
    """Refuses everything that a stylesheet wants to import, include or read."""

    def resolve(self, system_url: Any, public_id: Any, *context: Any) -> Any:
        raise OSError(f"a stylesheet may not read {system_url}")


def _parser(*, entities: bool | str = False) -> Any:
    parser = etree.XMLParser(resolve_entities=entities, no_network=True, load_dtd=False, huge_tree=False)
    parser.resolvers.add(_NoResolver())
    return parser


class Compiled:
    """The most recently used stylesheets, compiled."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Any, str]] = OrderedDict()

    def of(self, text: bytes) -> tuple[Any, str]:
        key = hashlib.blake2b(text).hexdigest()
        if key not in self._kept:
            self._kept[key] = _compile(text)
            if len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _compile(text: bytes) -> tuple[Any, str]:
    # Many stylesheets declare `nbsp` and the like; external entities are not loaded.
    tree = etree.fromstring(text, _parser(entities="internal"))
    xslt = etree.XSLT(tree, access_control=etree.XSLTAccessControl.DENY_ALL)
    output = tree.find(f"{_XSL}output")
    given = {} if output is None else dict(output.attrib)
    html = tree.find(".//html") is not None
    method = given.get("method") or ("html" if html else "xml")
    return xslt, given.get("media-type") or _MEDIA_TYPES.get(method, "application/xml")


def answer(compiled: Compiled, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request: `output` and `media_type`, or `error` and `line`."""
    etree.clear_error_log()
    try:
        xslt, media_type = compiled.of(request["stylesheet"].encode("utf-8"))
    except (etree.XSLTParseError, etree.XMLSyntaxError, ValueError, OSError) as error:
        return _failure(error)
    try:
        document = etree.fromstring(request["document"].encode("utf-8"), _parser())
        parameters = {name: etree.XSLT.strparam(value) for name, value in request["parameters"].items()}
        result = bytes(xslt(document, **parameters))
    except (etree.XSLTError, etree.XMLSyntaxError, etree.XPathError, ValueError, TypeError) as error:
        return _failure(error, xslt.error_log)
    if len(result) > request["max_bytes"]:
        return {"error": f"the result is larger than {request['max_bytes']} bytes", "line": 0}
    return {"output": result.decode("utf-8", "replace"), "media_type": media_type}


def _failure(error: Exception, log: Any = ()) -> dict[str, Any]:
    entries = [*log, *(getattr(error, "error_log", None) or ())]
    line = next((entry.line for entry in entries if entry.line), getattr(error, "lineno", 0) or 0)
    if any(entry.type_name == "ERR_NO_MEMORY" for entry in entries):
        return {"error": "it uses too much memory", "line": line}
    messages = [*(entry.message for entry in entries), str(error)]
    said = [text for text in messages if text and not _SAYS_NOTHING.match(text)]
    clear = [words for text in said if (words := _clearer(text)) != text]
    shown = clear[:1] or list(dict.fromkeys(said))[:2]
    return {"error": "; ".join(shown)[:500] or messages[0] or type(error).__name__, "line": line}


def _clearer(text: str) -> str:
    for pattern, words in _CLEARER:
        if pattern.fullmatch(text):
            return pattern.sub(words, text, count=1)
    return text


def _limit(memory_bytes: int) -> None:
    for what, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        # No further file or socket can be opened.
        (resource.RLIMIT_NOFILE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _limit_time(seconds: int) -> None:
    """Let the kernel end this process when a request takes too long, even if no other process watches."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, hard))


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    head = stream.read(4)
    if len(head) < 4:
        return None
    message: dict[str, Any] = json.loads(stream.read(struct.unpack(">I", head)[0]))
    return message


def _write(stream: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode("utf-8")
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


def main() -> None:
    # Ignore signals to the process group: we end with our input, after what we have started.
    for request_to_stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(request_to_stop, signal.SIG_IGN)
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # what a library prints must not get between our messages
        os.dup2(nothing, number)
    os.close(nothing)
    compiled = Compiled()
    compiled.of(_WARM)  # load everything that is loaded on first use before files are locked out
    _limit(int(sys.argv[1]))
    _write(outgoing, {"ready": True})
    while (request := _read(incoming)) is not None:
        _limit_time(request["seconds"])
        try:
            reply = answer(compiled, request)
        except MemoryError:
            reply = {"error": "it uses too much memory", "line": 0}
        except Exception as error:  # whatever a stylesheet manages to break is its own failure
            reply = {"error": f"{type(error).__name__}: {error}"[:500], "line": 0}
        _write(outgoing, reply)


_WARM = (
    b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"/>'
    b"</xsl:stylesheet>"
)

if __name__ == "__main__":
    main()
