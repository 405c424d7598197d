"""Everything that a request to a team server passes before the MCP server or a page sees it: token, limits, origin.

`/mcp` needs a token, `/view/` a token or a ticket (see `view_tickets`). Pages of other sites can use neither: they know
no token, a browser sends no ticket for them, and `Origin` and `Sec-Fetch-Site` show their requests. `Host` is not
compared with a list, because the server does not know the names of the proxies before it; a ticket belongs to the name
that the browser used, so a name that a stranger points here (DNS rebinding) has none. `/healthz` and `/readyz` need no
token and say nothing about repositories. `/metrics` is for requests from this machine that no proxy passed on, and for
bearers of a token.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from anyio.to_thread import current_default_thread_limiter
from golore.graph.errors import GoloreError
from golore.mcp_server.team.caller import CALLER, Caller
from golore.mcp_server.team.json_log import log_request
from golore.mcp_server.team.lake_repositories import LakeRepositories
from golore.mcp_server.team.metrics import Metrics
from golore.mcp_server.team.request_limits import RequestLimits
from golore.mcp_server.team.team_view import TeamView, needs_grant, without_grant
from golore.mcp_server.team.token_file import Grant, TokenFile
from golore.mcp_server.team.view_tickets import PATH, Tickets
from golore.mcp_server.view.gate import HEADERS
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY: Final = 256 << 10
"""Bytes. The longest note has 4,000 characters."""
_THREADS: Final = 200
"""Most calls at once. Those about a repository that is just being installed wait in a thread, and must not keep others
waiting."""
_BEARER: Final = b"bearer "
_LOOPBACK: Final = ("127.0.0.1", "::1")
_PASSED_ON: Final = frozenset((b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via"))
_HEADERS: Final = {**HEADERS, "Referrer-Policy": "same-origin"}
"""With `no-referrer`, a browser would not say where a form comes from."""
_logger: Final = logging.getLogger(__name__)
_FOREIGN: Final = "Refused: a page of another site asked. If a proxy is before this server, let it pass on Host.\n"
_UNUSABLE: Final = "The server's file of tokens cannot be used. Ask whoever runs the server; its log says why."


class TeamGate:
    def __init__(
        self,
        inner: ASGIApp,
        tokens: TokenFile,
        repositories: LakeRepositories,
        metrics: Metrics,
        cache_bytes: Callable[[], int],
        tickets: Tickets,
    ) -> None:
        self._inner = inner
        self._tickets = tickets
        self._view = TeamView(repositories, tokens, tickets)
        self._tokens = tokens
        self._repositories = repositories
        self._metrics = metrics
        self._cache_bytes = cache_bytes
        self._limits = RequestLimits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            current_default_thread_limiter().total_tokens = _THREADS
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path = scope["path"]
        if path in ("/healthz", "/readyz", "/metrics"):
            await self._state(path, scope)(scope, receive, send)
            return
        if path in ("/", PATH) and scope["method"] in ("GET", "HEAD"):
            await RedirectResponse(f"{PATH}/", 303)(scope, receive, send)
            return
        await self._asked(scope, receive, send)

    async def _asked(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        self._metrics.change_running(1)
        sent = _Sent(send)
        caller: Caller | None = None
        status = "failed"
        is_view = scope["path"].startswith(f"{PATH}/")
        try:
            status, caller = await (self._visited if is_view else self._admitted)(scope, receive, sent)
        finally:
            self._metrics.change_running(-1)
            seconds = time.perf_counter() - began
            tool = "view" if is_view else caller.tool if caller is not None and caller.tool else "none"
            self._metrics.count(tool, status, seconds)
            log_request(
                token=caller.grant.name if caller is not None else "",
                tool=tool,
                status=status,
                http=sent.status,
                milliseconds=round(seconds * 1000, 1),
            )

    async def _admitted(self, scope: Scope, receive: Receive, send: _Sent) -> tuple[str, Caller | None]:
        """Answer a request. Returns how it ended, and who asked."""
        try:
            grant = self._grant(scope)
        except GoloreError as failure:
            _warn(str(failure))
            await _refusal(503, "unavailable", _UNUSABLE)(scope, receive, send)
            return "unavailable", None
        if grant is None:
            refusal = _refusal(401, "invalid_token", "Send a token of this server as a bearer token.")
            refusal.headers["WWW-Authenticate"] = 'Bearer realm="golore", error="invalid_token"'
            await refusal(scope, receive, send)
            return "unauthorized", None
        caller = Caller(grant)
        if (refusal := _wrong_request(scope)) is not None:
            await refusal(scope, receive, send)
            return "failed", caller
        if await self._is_limited(scope, receive, send, caller, self._inner):
            return "limited", caller
        return caller.outcome or ("ok" if 200 <= send.status < 300 else "failed"), caller

    async def _visited(self, scope: Scope, receive: Receive, send: _Sent) -> tuple[str, Caller | None]:
        """Like `_admitted`, for a page."""
        send.headers = _HEADERS
        if _is_foreign(scope):
            refusal = PlainTextResponse(_FOREIGN, 403)
            await refusal(scope, receive, send)
            return "failed", None
        try:
            headers = [value for name, value in scope["headers"] if name == b"cookie"]
            grant = self._tickets.grant_of(headers, self._tokens.grants()) or self._grant(scope)
        except GoloreError as failure:
            _warn(str(failure))
            await PlainTextResponse(f"{_UNUSABLE}\n", 503)(scope, receive, send)
            return "unavailable", None
        if grant is None and needs_grant(scope["path"]):
            await without_grant(scope)(scope, receive, send)
            return "unauthorized", None
        if grant is None:
            await self._view(scope, receive, send)
            return "ok" if send.status < 400 else "unauthorized", None
        caller = Caller(grant)
        if await self._is_limited(scope, receive, send, caller, self._view):
            return "limited", caller
        return "ok" if send.status < 400 else "refused" if send.status < 500 else "failed", caller

    async def _is_limited(
        self, scope: Scope, receive: Receive, send: _Sent, caller: Caller, application: ASGIApp
    ) -> bool:
        """Pass a request on, unless there are too many with its token. Returns whether there are."""
        wait = self._limits.enter(caller.grant)
        if wait:
            refusal = _refusal(429, "too_many_requests", "Too many requests with this token. Try again later.")
            refusal.headers["Retry-After"] = str(math.ceil(wait))
            await refusal(scope, receive, send)
            return True
        known = CALLER.set(caller)
        try:
            await application(scope, receive, send)
        finally:
            CALLER.reset(known)
            self._limits.leave(caller.grant)
        return False

    def _grant(self, scope: Scope) -> Grant | None:
        """What the token of a request permits; None if it has none, several, or an unknown one. Raises `GoloreError` if
        the file of tokens cannot be used."""
        headers = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(headers) != 1 or not headers[0].lower().startswith(_BEARER):
            self._tokens.grants()
            return None
        return self._tokens.grant_of(headers[0][len(_BEARER) :].strip().decode("latin-1"))

    def _state(self, path: str, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return Response(status_code=405, headers={"Allow": "GET, HEAD"})
        if path == "/healthz":
            return PlainTextResponse("ok\n")
        if path == "/readyz":
            return self._readiness()
        if not _is_from_here(scope) and not self._has_token(scope):
            return _refusal(401, "invalid_token", "Ask from the server's machine, or send a token.")
        self._metrics.set_open_stores(self._repositories.open_stores)
        return PlainTextResponse(self._metrics.text(self._cache_bytes()), media_type="text/plain; version=0.0.4")

    def _readiness(self) -> Response:
        try:
            self._tokens.grants()
        except GoloreError as failure:
            _warn(str(failure))
            return PlainTextResponse("The file of tokens cannot be used; the log says why.\n", 503)
        if not self._repositories.is_ready:
            return PlainTextResponse("The lake has not been read yet.\n", 503)
        if self._repositories.failure:
            return PlainTextResponse("ok, but the lake cannot be reached; answers come from what was fetched before\n")
        return PlainTextResponse("ok\n")

    def _has_token(self, scope: Scope) -> bool:
        try:
            return self._grant(scope) is not None
        except GoloreError:
            return False


class _Sent:
    """Passes an answer on with these headers, and keeps its status."""

    def __init__(self, send: Send) -> None:
        self._send: Callable[[Message], Awaitable[None]] = send
        self.status = 0
        self.headers: Mapping[str, str] = {}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message).update(self.headers)
        await self._send(message)


def _wrong_request(scope: Scope) -> Response | None:
    """The refusal of a request that cannot be one of an MCP client."""
    headers = dict(scope["headers"])
    if scope["path"] != "/mcp":
        return _refusal(404, "not_found", "MCP is at /mcp.")
    if scope["method"] != "POST":
        # No session is kept, so there is no stream to read and nothing to delete.
        return Response(status_code=405, headers={"Allow": "POST"})
    if _has_foreign_origin(headers):
        return _refusal(403, "forbidden_origin", "Pages of other sites may not use this server.")
    return None


def _has_foreign_origin(headers: Mapping[bytes, bytes]) -> bool:
    return b"origin" in headers and headers[b"origin"].partition(b"://")[2] != headers.get(b"host", b"")


def _is_foreign(scope: Scope) -> bool:
    """Whether a request for a page comes from a page of another site. A link there may lead to a page here."""
    headers = dict(scope["headers"])
    if _has_foreign_origin(headers) or [name for name, _ in scope["headers"]].count(b"host") > 1:
        return True
    is_reading = scope["method"] in ("GET", "HEAD")
    if headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none"):
        return not is_reading and b"origin" not in headers
    is_followed = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    return not (is_reading and is_followed)


def _is_from_here(scope: Scope) -> bool:
    client = scope.get("client")
    is_passed_on = any(name in _PASSED_ON for name, _ in scope["headers"])
    return client is not None and client[0] in _LOOPBACK and not is_passed_on


def _refusal(status: int, error: str, description: str) -> JSONResponse:
    return JSONResponse({"error": error, "error_description": description}, status_code=status)


def _warn(message: str) -> None:
    _logger.warning("%s", message)
