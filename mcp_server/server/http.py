"""`golore serve`: the MCP server over streamable HTTP, for clients on this machine that have the token.

It listens on the loopback address only. A request needs the token, which keeps out other users of the machine. Its host
and its origin must be loopback names, so that a web page cannot reach the server through its own name (DNS rebinding).
"""

from __future__ import annotations

import errno
import hmac
import os
import secrets
import shlex
import socket
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import uvicorn
from golore.graph.errors import GoloreError, UsageError
from golore.graph.safety.regular_file import NotRegularError, open_regular
from golore.graph.safety.state_directory import state_directory
from golore.graph.safety.system import NO_FOLLOW, claim_port, permits_others
from golore.mcp_server.server.app import build_server, prepare_process
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.text.output import print_json_line, print_message
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
PORT: Final = 7425
TOKEN_NAME: Final = "serve.token"
TOKEN_VARIABLE: Final = "GOLORE_TOKEN"
_LOOPBACK_NAMES: Final = (HOST, "localhost", "[::1]")
_MIN_LENGTH: Final = 16
_MAX_LENGTH: Final = 1_000


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
        allowed_hosts=[f"{name}:{port}" for name in _LOOPBACK_NAMES],
        allowed_origins=[f"http://{name}:{port}" for name in _LOOPBACK_NAMES],
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


def listening_socket(port: int) -> socket.socket:
    """A socket that listens on the port; 0 chooses a free one."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    claim_port(listening)
    try:
        listening.bind((HOST, port))
        # Listen at once: two processes that have only bound the port would both seem to have it.
        listening.listen(100)
    except OSError as failure:
        listening.close()
        if failure.errno == errno.EADDRINUSE:
            raise GoloreError(
                f"Port {port} is in use, perhaps by another `golore serve`. Use that one, or choose another port with "
                "--port (0 chooses a free one)."
            ) from failure
        if failure.errno == errno.EACCES:
            raise UsageError(f"This user may not listen on port {port}. Choose one above 1023.") from failure
        raise
    return listening


def token_for(directory: Path, given: str = "") -> tuple[str, str]:
    """The token for a store and its source: the environment, or a file that only its owner can read, created if
    needed."""
    if given:
        if len(given) < _MIN_LENGTH or not given.isascii() or not given.isprintable() or " " in given:
            raise UsageError(
                f"{TOKEN_VARIABLE} must be at least {_MIN_LENGTH} printable ASCII characters without spaces."
            )
        return given, f"${TOKEN_VARIABLE}"
    path = token_path(directory)
    _make_private(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    except FileExistsError:
        return _read_token(path), str(path)
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    return token, str(path)


def token_path(store: Path) -> Path:
    """The file of a store's token. It is not in the store, because a repository may contain a store with a token that
    its author knows."""
    digest = blake2b(os.fsencode(store.resolve()), digest_size=8).hexdigest()
    return Path(state_directory()) / f"{TOKEN_NAME}-{digest}"


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if permits_others(directory.stat(), 0o022):
        raise GoloreError(f"Other users can write to {directory}. Run `chmod 700 {directory}` as its owner.")


def _read_token(path: Path) -> str:
    token = ""
    with suppress(NotRegularError), os.fdopen(open_regular(path), "rb") as file:
        if not permits_others(os.fstat(file.fileno()), 0o077):
            token = file.read(_MAX_LENGTH).decode("ascii", "replace").strip()
    if len(token) < _MIN_LENGTH:
        raise GoloreError(f"{path} is not a token that only you can read. Remove it, and golore creates a new one.")
    return token


def _announce(port: int, source: str, repositories: Repositories, as_json: bool) -> None:
    url = f"http://{HOST}:{port}/mcp"
    if as_json:
        print_json_line({"url": url, "token": source, "repositories": list(repositories.titles)})
        return
    print_message(f"Serving {', '.join(repositories.titles)} on {url}. Press Ctrl-C to stop.")
    value = source if source.startswith("$") else f"$(cat {shlex.quote(source)})"
    print_message(f'Clients send the header "Authorization: Bearer {value}".')
