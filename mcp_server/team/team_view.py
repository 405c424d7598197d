"""The browser view of a team server: the pages of each repository that the caller may read, and questions to all.

    /view/                        the repositories
    /view/fleet?ask=callers&name=NAME
    /view/REPOSITORY/-/…          the pages of one repository, as `golore view` has them, without source and git
    /view/login, /view/logout     exchange a token for a ticket, and forget it

The gate has checked who asks before anything here runs (see `team_gate`), except for the last line and the style.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, quote

from golore.graph.errors import GoloreError, UsageError
from golore.graph.lake.keys import time_of
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.services.fleet.fleet_asking import ask_fleet
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.team.lake_repositories import LakeRepositories
from golore.mcp_server.team.token_file import TokenFile
from golore.mcp_server.team.view_tickets import PATH, Tickets, no_cookie
from golore.mcp_server.text.fleet_text import fleet_reply
from golore.mcp_server.text.replies import plain_lines
from golore.mcp_server.view.browser import redirect_page
from golore.mcp_server.view.links import Links
from golore.mcp_server.view.rendering import DATA, Frame, Page, render
from golore.mcp_server.view.site import Site
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

LOGIN: Final = f"{PATH}/login"
LOGOUT: Final = f"{PATH}/logout"
ASSETS: Final = f"{PATH}/assets"
KINDS: Final = frozenset(
    ("", "assets", "file", "knowledge", "map", "part", "query", "quick", "search", "state", "symbol")
)
"""The pages that need no checkout and write nothing, by the first words of their addresses."""
_QUESTIONS: Final = ("callers", "users", "implementers", "impact")
_DIVIDER: Final = "/-"
"""Ends the name of a repository in an address: no segment of a name is a hyphen."""
_DEPTH: Final = 3
_ROWS: Final = 500
_MOST_BODY: Final = 4 << 10
_MOST_SITES: Final = 64
_LINKS: Final = Links(PATH, kinds=frozenset())


class _Shown(NamedTuple):
    """A repository of the lake, as a site needs it."""

    repositories: LakeRepositories
    name: str

    @property
    def learned(self) -> LearnedRepository:
        return LearnedRepository(Path(self.name), self.repositories.store_of(self.name))

    def find(self) -> _Shown:
        return self

    @contextmanager
    def opened(self) -> Generator[OpenServedRepository]:
        with self.repositories.opened(self.name) as opened:
            yield opened


class TeamView:
    def __init__(self, repositories: LakeRepositories, tokens: TokenFile, tickets: Tickets) -> None:
        self._repositories = repositories
        self._tokens = tokens
        self._tickets = tickets
        self._sites: dict[str, ASGIApp] = {}
        self._application = Starlette(
            routes=[
                Route(f"{PATH}/", self._start),
                Route(f"{PATH}/fleet", self._fleet),
                Route(LOGIN, self._login),
                Route(LOGIN, self._log_in, methods=["POST"]),
                Route(LOGOUT, self._log_out, methods=["POST"]),
                Mount(ASSETS, StaticFiles(directory=DATA / "static", follow_symlink=True)),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, divider, rest = scope["path"].removeprefix(f"{PATH}/").partition(f"{_DIVIDER}/")
        if not divider:
            await self._application(scope, receive, send)
            return
        kind = rest.partition("/")[0]
        if name not in self._repositories.publications() or kind not in KINDS or scope["method"] not in ("GET", "HEAD"):
            await _failure(UsageError("There is no such page that you may read."), 404)(scope, receive, send)
            return
        await self._site(name)({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, send)

    def _site(self, name: str) -> ASGIApp:
        if name not in self._sites:
            if len(self._sites) >= _MOST_SITES:
                self._sites.pop(next(iter(self._sites)))
            links = Links(_prefix(name), kinds=KINDS)
            site = Site(_Shown(self._repositories, name), links, name=name, home=f"{PATH}/")
            self._sites[name] = site.application()
        return self._sites[name]

    def _start(self, _: Request) -> Response:
        rows = [
            (name, f"{_prefix(name)}/", keys[-1].commit[:12], time_of(keys[-1].stamp).strftime("%Y-%m-%d %H:%M UTC"))
            for name, keys in self._repositories.publications().items()
        ]
        return _page(Page("team.html", "Repositories", {"rows": rows, **_form("", _QUESTIONS[0])}))

    def _fleet(self, request: Request) -> Response:
        name, question = request.query_params.get("name", "").strip(), request.query_params.get("ask", "")
        if not name or question not in _QUESTIONS:
            return RedirectResponse(f"{PATH}/", 303)
        try:
            with self._repositories.fleet() as fleet:
                reply = fleet_reply(ask_fleet(fleet, question, name, None, depth=_DEPTH))
        except GoloreError as failure:
            return _failure(failure, 404 if isinstance(failure, UsageError) else 503)
        values = {"lines": plain_lines(reply, _ROWS), **_form(name, question)}
        return _page(Page("team_fleet.html", f"{question} of {name}", values))

    def _login(self, request: Request) -> Response:
        return _login_page(_inner(request.query_params.get("next", "")))

    async def _log_in(self, request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_BODY:
                return _login_page("", "That is not a token.", 413)
        fields = parse_qs(body.decode("utf-8", "replace"))
        after = _inner(fields.get("next", [""])[0])
        grant = self._tokens.grant_of(fields.get("token", [""])[0].strip())
        if grant is None:
            return _login_page(after, "The server does not know this token.", 401)
        cookie = self._tickets.cookie(grant, is_encrypted=_is_encrypted(request))
        return RedirectResponse(after or f"{PATH}/", 303, {"Set-Cookie": cookie})

    def _log_out(self, request: Request) -> Response:
        return RedirectResponse(LOGIN, 303, {"Set-Cookie": no_cookie(is_encrypted=_is_encrypted(request))})


def needs_grant(path: str) -> bool:
    return path not in (LOGIN, LOGOUT) and not path.startswith(f"{ASSETS}/")


def without_grant(scope: Scope) -> Response:
    """What somebody gets who is not known. A browser that follows a link of another site keeps its ticket back, so it
    is led to the same page from one of this site."""
    headers = {name: value for name, value in scope["headers"] if name.startswith(b"sec-fetch-")}
    path = quote(scope["path"], safe="/:@-._~")
    query = scope["query_string"].decode("latin-1")
    address = f"{path}?{query}" if query else path
    if scope["method"] not in ("GET", "HEAD") or headers.get(b"sec-fetch-dest", b"document") != b"document":
        return HTMLResponse("Log in first.\n", 401)
    if headers.get(b"sec-fetch-site", b"none") in (b"cross-site", b"same-site"):
        return HTMLResponse(redirect_page(address))
    return RedirectResponse(f"{LOGIN}?next={quote(address, safe='')}", 303)


def _prefix(name: str) -> str:
    return f"{PATH}/{quote(name)}{_DIVIDER}"


def _inner(address: str) -> str:
    """An address to go on to, if it is one of the view."""
    is_plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if address.startswith(f"{PATH}/") and is_plain else ""


def _is_encrypted(request: Request) -> bool:
    """Whether the browser uses TLS, with this server or with a proxy before it: its forms say so."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _form(name: str, question: str) -> dict[str, Any]:
    return {"fleet": f"{PATH}/fleet", "questions": _QUESTIONS, "asked": name, "question": question, "logout": LOGOUT}


def _page(page: Page) -> Response:
    return HTMLResponse(render(page, _LINKS, Frame("team", "", home=f"{PATH}/")), page.status)


def _login_page(after: str, message: str = "", status: int = 200) -> Response:
    values = {"login": LOGIN, "after": after, "message": message}
    return _page(Page("team_login.html", "Log in", values, status=status))


def _failure(failure: GoloreError, status: int) -> Response:
    values = {"message": str(failure), **_form("", _QUESTIONS[0])}
    return _page(Page("team_failure.html", "This page cannot be shown", values, status=status))
