"""Decides who may ask: a request needs the secret in its path, and comes from a page of this server or from none.

The secret is in the path and not in a cookie, because a browser sends cookies to every port of a host. `Host` must be a
loopback name, or a page of a stranger could use a name of its own (DNS rebinding). `Origin` and `Sec-Fetch-Site` show
requests of other pages; only the door, a page without content, may be reached from one (see `browser`).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from golore.mcp_server.server.loopback import allowed_hosts
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DOOR: Final = "door"
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_OWN_SITES: Final = ("same-origin", "none")
_READING: Final = ("GET", "HEAD")


class Gate:
    """Refuses requests of strangers, and adds the headers that protect pages to every response.

    The application behind it sees paths without the secret.
    """

    def __init__(self, inner: ASGIApp, secret: str, port: int) -> None:
        self._inner = inner
        self._secret = secret.encode()
        self._hosts = allowed_hosts(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        segment, rest = _divided(scope)
        if scope["type"] != "http" or not self._is_admitted(scope, segment, rest):
            text = "Refused. Open the address that `golore view` printed.\n"
            await PlainTextResponse(text, status_code=403)(scope, receive, send_protected)
            return
        await self._inner({**scope, "path": rest, "raw_path": rest.encode()}, receive, send_protected)

    def _is_admitted(self, scope: Scope, segment: str, rest: str) -> bool:
        headers = Headers(scope=scope)
        if not hmac.compare_digest(segment.encode(), self._secret) or headers.getlist("host")[1:]:
            return False
        if headers.get("host", "") not in self._hosts:
            return False
        is_reading = scope["method"] in _READING
        origin = headers.get("origin")
        is_own = origin in {f"http://{host}" for host in self._hosts} or (is_reading and origin is None)
        is_door = is_reading and rest == f"/{DOOR}" and headers.get("sec-fetch-dest", "document") == "document"
        return is_own and (is_door or headers.get("sec-fetch-site", "none") in _OWN_SITES)


def _divided(scope: Scope) -> tuple[str, str]:
    """The first segment of the path, and the rest."""
    segment, slash, rest = scope.get("path", "").removeprefix("/").partition("/")
    return segment, f"{slash}{rest}"
