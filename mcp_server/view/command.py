"""`golore view`: serves the pages of a repository on the loopback address, and opens the browser."""

from __future__ import annotations

import socket
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import quote

import uvicorn
from golore.graph.changes.program_builder import build_ahead
from golore.graph.errors import GoloreError, StoreOutdated
from golore.graph.phrases import counted
from golore.graph.queries.store_counts import count_store
from golore.mcp_server.server.glibc_memory import limit_arenas
from golore.mcp_server.server.loopback import HOST, listening_socket, private_secret, secret_path
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.services.open_store import OpenRepository, learn_again
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.targets import find_target
from golore.mcp_server.text.output import print_json, print_json_line, print_message
from golore.mcp_server.view.browser import open_browser, write_redirect
from golore.mcp_server.view.gate import DOOR, Gate
from golore.mcp_server.view.links import Links
from golore.mcp_server.view.site import Site
from golore.mcp_server.view.static_site import write_site

SECRET_NAME: Final = "view.secret"
_FIRST_PORT: Final = 17_000
_PORTS: Final = 1_000


def run_view(what: str, diff: str | None, start: Path, *, port: int | None, opens_browser: bool, as_json: bool) -> int:
    """Serve until the process is interrupted. Returns the exit code."""
    limit_arenas()
    repository = find_repository(start)
    page = Links("").page("change", base=diff).removeprefix("/") if diff is not None else ""
    secret = private_secret(secret_path(repository.store, SECRET_NAME))
    with Repositories([repository.root]) as repositories, _listening(repository, port) as listening:
        _bring_up_to_date(repositories, repository)
        with repositories.opened() as opened:
            build_ahead(opened.store, sum(count_store(opened.store).symbols.values()))
            if what:
                page = _page_of(opened, what, start)
        actual_port: int = listening.getsockname()[1]
        site = Site(repositories, Links(f"/{secret}"))
        base = f"http://{HOST}:{actual_port}/{secret}"
        address = f"{base}/{page}"
        redirect = Path(f"{secret_path(repository.store, 'view.open')}.html")
        write_redirect(redirect, f"{base}/{DOOR}?to={quote(page)}")
        gate = Gate(site.application(), secret, actual_port)
        config = uvicorn.Config(gate, log_level="warning", timeout_graceful_shutdown=2)
        # uvicorn shuts down in order first, and then raises the interrupt again.
        with suppress(KeyboardInterrupt):
            _announce(repository, address, redirect, as_json=as_json)
            if opens_browser and not open_browser(redirect):
                print_message("No browser was found. Open the address yourself.")
            uvicorn.Server(config).run(sockets=[listening])
    return 0


def run_once(start: Path, directory: Path, diff: str | None, *, as_json: bool) -> int:
    """Write the pages as files, with that of a change if `diff` is given. Returns the exit code."""
    limit_arenas()
    repository = find_repository(start)
    with Repositories([repository.root]) as repositories:
        _bring_up_to_date(repositories, repository)
        pages = write_site(Site(repositories, Links("")), directory, diff)
    index = directory / "index.html"
    if as_json:
        print_json({"pages": pages, "index": str(index)})
    else:
        print_message(f"Wrote {counted(pages, 'page')}. Open {index} in a browser.")
    return 0


def _bring_up_to_date(repositories: Repositories, repository: LearnedRepository) -> None:
    """Learn again what an older golore made. Otherwise the store stays open for the first page."""
    try:
        with repositories.opened() as opened:
            if not opened.is_outdated:
                return
    except StoreOutdated:
        pass
    learn_again(repository)


def _listening(repository: LearnedRepository, port: int | None) -> socket.socket:
    """A socket on the given port; without one, on a port that depends on the repository, so that links survive
    restarts. If that is in use, on any free port."""
    if port is not None:
        return listening_socket(port)
    digest = blake2b(str(repository.store.resolve()).encode(errors="surrogateescape"), digest_size=4).digest()
    try:
        return listening_socket(_FIRST_PORT + int.from_bytes(digest, "big") % _PORTS)
    except GoloreError:
        return listening_socket(0)


def _announce(repository: LearnedRepository, address: str, redirect: Path, *, as_json: bool) -> None:
    if as_json:
        print_json_line({"url": address, "open": str(redirect), "repository": str(repository.root)})
    else:
        print_message(f"Showing {repository.root.name} on {address}\nPress Ctrl-C to stop.")


def _page_of(opened: OpenRepository, what: str, start: Path) -> str:
    """The page of a target, relative to the secret. Raises `UsageError` if it is none or ambiguous."""
    bases = (Path.cwd(), start.resolve())
    target = find_target(OpenRepository(opened.repository, opened.store, opened.names, bases), what)
    links = Links("")
    if target.level == "symbol":
        address = links.symbol(target.id)
    elif target.level == "file":
        address = links.file(target.id)
    else:
        address = links.map(target.card_path.rstrip("/").removeprefix("."))
    return address.removeprefix("/")
