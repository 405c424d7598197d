"""`golore serve`: the MCP server over streamable HTTP, for clients on this machine that have the token.

It listens on the loopback address only. A request needs the token, which keeps out other users of the machine. Its host
and its origin must be loopback names, so that a web page cannot reach the server through its own name (DNS rebinding).
"""

from __future__ import annotations

import hmac
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn
from golore.graph.errors import UsageError
from golore.mcp_server.server.app import build_server, prepare_process
from golore.mcp_server.server.loopback import (
    HOST,
    MIN_SECRET,
    allowed_hosts,
    listening_socket,
    private_secret,
    secret_path,
)
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.text.output import print_json_line, print_message
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PORT: Final = 7425
TOKEN_NAME: Final = "serve.token"
TOKEN_VARIABLE: Final = "GOLORE_TOKEN"


def run_serve(paths: Sequence[Path], *, port: int, as_json: bool) -> int:
    """Serve until the process is interrupted. Returns the exit code."""
    prepare_process()
    with Repositories(paths) as repositories, listening_socket(port) as listening:
        actual_port: int = listening.getsockname()[1]
        if not repositories.all:
            raise UsageError(f"{Path.cwd()} is not a Go repository. Give the path of one: `golore serve PATH`.")
        token, source = token_for(repositories.all[0].learned.store, os.environ.get(TOKEN_VARIABLE, ""))
        app = application(repositories, token, actual_port)
        _announce(actual_port, source, repositories, as_json)
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2)
        # uvicorn shuts down in order first, and then raises the interrupt again.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    return 0


def application(repositories: Repositories, token: str, port: int) -> ASGIApp:
    """The server as an ASGI application. It answers at /mcp."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=list(allowed_hosts(port)),
        allowed_origins=[f"http://{host}" for host in allowed_hosts(port)],
    )
    return TokenGate(build_server(repositories).streamable_http_app(transport_security=security), token)


class TokenGate:
    """Refuses HTTP requests without the token."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner = inner
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_admitted(scope):
            refusal = JSONResponse(
                {"error": "invalid_token", "error_description": "Send the token of golore serve as a bearer token."},
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer realm="golore", error="invalid_token"'},
            )
            await refusal(scope, receive, send)
            return
        await self._inner(scope, receive, send)

    def _is_admitted(self, scope: Scope) -> bool:
        headers = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(headers) == 1 and hmac.compare_digest(headers[0], self._expected)


def token_for(directory: Path, given: str = "") -> tuple[str, str]:
    """The token for a store and its source: the environment, or a file that only its owner can read, created if
    needed."""
    if given:
        if len(given) < MIN_SECRET or not given.isascii() or not given.isprintable() or " " in given:
            raise UsageError(
                f"{TOKEN_VARIABLE} must be at least {MIN_SECRET} printable ASCII characters without spaces."
            )
        return given, f"${TOKEN_VARIABLE}"
    path = token_path(directory)
    return private_secret(path), str(path)


def token_path(store: Path) -> Path:
    return secret_path(store, TOKEN_NAME)


def _announce(port: int, source: str, repositories: Repositories, as_json: bool) -> None:
    url = f"http://{HOST}:{port}/mcp"
    if as_json:
        print_json_line({"url": url, "token": source, "repositories": list(repositories.titles)})
        return
    print_message(f"Serving {', '.join(repositories.titles)} on {url}. Press Ctrl-C to stop.")
    value = source if source.startswith("$") else f"$(cat {shlex.quote(source)})"
    print_message(f'Clients send the header "Authorization: Bearer {value}".')
