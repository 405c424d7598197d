"""The pages of one repository as a web application: routes, the open store for each request, and rendering.

What every page needs of the whole graph is computed once for each state of the graph. Requests are answered one after
another; the store is closed as soon as a writer waits (see `server.open_repositories`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec
from golore.graph.errors import GoloreError, StoreBusy, UsageError
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME
from golore.graph.files.layout import fingerprint
from golore.graph.files.manifest import read_manifest
from golore.graph.gc_pause import gc_disabled
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.services.knowledge.upgrades import publish_summary
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.view.browser import redirect_page
from golore.mcp_server.view.gate import DOOR
from golore.mcp_server.view.layering import prepare
from golore.mcp_server.view.links import Links
from golore.mcp_server.view.overview import Overview, read_overview
from golore.mcp_server.view.pages.change import change_page
from golore.mcp_server.view.pages.history import history_part, spans_of
from golore.mcp_server.view.pages.knowledge import knowledge_page
from golore.mcp_server.view.pages.map import map_page
from golore.mcp_server.view.pages.query_page import query_page, with_rows
from golore.mcp_server.view.pages.review import Decision, decide_proposal, decide_summary, material_part, review_page
from golore.mcp_server.view.pages.search_page import quick_results, search_page
from golore.mcp_server.view.pages.source import file_page
from golore.mcp_server.view.pages.start import start_page
from golore.mcp_server.view.pages.symbol import neighbours_part, symbol_page
from golore.mcp_server.view.rendering import DATA, Frame, Page, render
from golore.mcp_server.view.visit import PackageName, Visit, package_names
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

Build = Callable[[Visit, Request], Page]
_Begun = TypeVar("_Begun")
_COMPRESSION: Final = 4
"""Level 9, the default, takes three times as long, for a tenth less."""


class _Found(Protocol):
    @property
    def learned(self) -> LearnedRepository: ...


class SiteRepositories(Protocol):
    """The repository of a site."""

    def opened(self) -> AbstractContextManager[OpenServedRepository]: ...

    def find(self) -> _Found: ...


class Site:
    """The pages of a repository. `links` are the addresses below the secret. `name` and `home`: see `Visit` and
    `Frame`."""

    def __init__(self, repositories: SiteRepositories, links: Links, *, name: str = "", home: str = "") -> None:
        self.links = links
        self._repositories = repositories
        self._name = name
        self._home = home
        self._packages: tuple[str, dict[str, PackageName]] = ("", {})
        self._overview: tuple[str, Overview | None] = ("", None)

    @property
    def _learned(self) -> LearnedRepository:
        return self._repositories.find().learned

    @contextmanager
    def visit(self, links: Links | None = None) -> Generator[Visit]:
        """Open the store for one page."""
        # Pages make many small objects without cycles; a collection in between would also scan what the server keeps.
        with self._repositories.opened() as opened, gc_disabled():
            generation = opened.store.generation
            if self._packages[0] != generation:
                self._packages = (generation, package_names(opened.store))
            yield Visit(opened, links or self.links, self._packages[1], self._name)

    def overview(self, visit: Visit) -> Overview:
        generation = visit.store.generation
        known = self._overview
        if known[0] != generation or known[1] is None:
            known = self._overview = (generation, read_overview(visit.store))
        assert known[1] is not None
        return known[1]

    def frame(self, opened: OpenServedRepository) -> Frame:
        name = self._name or opened.repository.root.name or "root"
        return Frame(name, graph_state(opened.repository.store), notices_of(opened), self._home)

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._page(lambda visit, _: start_page(visit, self.overview(visit)))),
                Route(
                    "/symbol/{name:path}", self._page(lambda visit, request: symbol_page(visit, _path(request, "name")))
                ),
                Route(
                    "/part/{question}/{name:path}",
                    self._page(
                        lambda visit, request: neighbours_part(
                            visit, _path(request, "name"), _path(request, "question"), _number(request, "from", 0)
                        )
                    ),
                ),
                Route(
                    "/file/{path:path}",
                    self._page(
                        lambda visit, request: file_page(visit, _path(request, "path"), _number(request, "from", 1))
                    ),
                ),
                Route("/map/{path:path}", self._page(self._map)),
                Route("/knowledge", self._page(lambda visit, _: knowledge_page(visit))),
                Route("/change", self._page(lambda visit, request: change_page(visit, _query(request, "base")))),
                Route("/review", self._page(lambda visit, _: review_page(visit))),
                Route("/review", self._decide, methods=["POST"]),
                Route(
                    "/material/{level}/{subject:path}",
                    self._page(
                        lambda visit, request: material_part(visit, _path(request, "level"), _path(request, "subject"))
                    ),
                ),
                Route(
                    "/history/{name:path}",
                    self._page_in_two_steps(
                        lambda visit, request: spans_of(visit, _path(request, "name")), history_part
                    ),
                ),
                Route(
                    "/query",
                    self._page_in_two_steps(lambda visit, request: query_page(visit, _query(request, "q")), with_rows),
                ),
                Route("/search", self._page(lambda visit, request: search_page(visit, _query(request, "q")))),
                Route("/quick", self._quick),
                Route("/state", self._state),
                Route(f"/{DOOR}", self._door),
                Mount("/assets", StaticFiles(directory=DATA / "static", follow_symlink=True)),
            ],
            middleware=[Middleware(GZipMiddleware, minimum_size=500, compresslevel=_COMPRESSION)],
        )

    def _page(self, build: Build) -> Callable[[Request], Response]:
        def respond(request: Request) -> Response:
            try:
                with self.visit() as visit:
                    page = build(visit, request)
                    frame = self.frame(visit.opened)
            except GoloreError as failure:
                return self._failure(failure)
            return HTMLResponse(render(page, self.links, frame), page.status, background=BackgroundTask(prepare))

        return respond

    def _failure(self, failure: GoloreError) -> Response:
        status = 404 if isinstance(failure, UsageError) else 503 if isinstance(failure, StoreBusy) else 500
        page = Page("failure.html", "This page cannot be shown", {"message": str(failure)}, status=status)
        frame = Frame(self._name or self._learned.root.name, graph_state(self._learned.store), home=self._home)
        return HTMLResponse(render(page, self.links, frame), status)

    def _page_in_two_steps(
        self, begin: Callable[[Visit, Request], _Begun], complete: Callable[[Visit, _Begun], Page]
    ) -> Callable[[Request], Response]:
        """`complete` takes long, and runs after the store is closed for this visit, so that it blocks no other page."""

        def respond(request: Request) -> Response:
            try:
                with self.visit() as visit:
                    begun = begin(visit, request)
                    frame = self.frame(visit.opened)
                page = complete(visit, begun)
            except GoloreError as failure:
                return self._failure(failure)
            return HTMLResponse(render(page, self.links, frame), page.status)

        return respond

    async def _decide(self, request: Request) -> Response:
        """Carry out a decision of the review page."""
        try:
            decision = msgspec.json.decode(await request.body(), type=Decision)
        except msgspec.MsgspecError:
            return JSONResponse({"message": "This is no decision."}, 400)
        return await run_in_threadpool(self._decided, decision)

    def _decided(self, decision: Decision) -> Response:
        try:
            with self.visit() as visit:
                written = None if decision.proposal else decide_summary(visit, decision)
            # The store is free now: these write to it.
            if written is None:
                return JSONResponse({"message": decide_proposal(visit, decision)})
            publish_summary(visit.opened.repository, written[1])
            return JSONResponse({"message": written[0]})
        except GoloreError as failure:
            return JSONResponse({"message": str(failure)}, 409)

    def _map(self, visit: Visit, request: Request) -> Page:
        return map_page(
            visit, self.overview(visit), _path(request, "path"), _query(request, "show"), _query(request, "colour")
        )

    def _quick(self, request: Request) -> Response:
        try:
            with self.visit() as visit:
                return JSONResponse(quick_results(visit, _query(request, "q")))
        except GoloreError as failure:
            return JSONResponse({"message": str(failure)}, 503)

    def _state(self, _: Request) -> Response:
        return JSONResponse({"state": graph_state(self._learned.store)})

    def _door(self, request: Request) -> Response:
        """Leads to a page of this site: the browser then asks for it from this site's own origin."""
        address = f"{self.links.prefix}/{_query(request, 'to').lstrip('/')}"
        return HTMLResponse(redirect_page(address, self.links.asset("icon.svg")))


def graph_state(store: Path) -> str:
    """Identifies what pages show, without opening the graph: it changes when the graph or the knowledge does."""
    manifest = read_manifest(store)
    graph = fingerprint(store / manifest.graph) if manifest is not None else ""
    knowledge = [
        f"{path.name}:{path.stat().st_mtime_ns}:{path.stat().st_size}"
        for path in sorted(store.glob(f"{KNOWLEDGE_NAME}*"))
    ]
    return blake2b(" ".join((graph, *knowledge)).encode(), digest_size=8).hexdigest()


def notices_of(opened: OpenServedRepository) -> tuple[str, ...]:
    notices = [opened.published] if opened.published else []
    if opened.is_being_learned:
        notices.append("A learn is running.")
    if opened.is_outdated:
        notices.append("An older golore made this graph. Run `golore learn`.")
    if opened.changes is not None and len(opened.changes):
        many = "1 file" if len(opened.changes) == 1 else f"{len(opened.changes):,} files"
        notices.append(f"{many} changed since the last learn")
    return tuple(notices)


def _path(request: Request, name: str) -> str:
    return str(request.path_params[name])


def _query(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _number(request: Request, name: str, default: int) -> int:
    text = _query(request, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default
