"""One process of a team server: answers requests on its socket until it is told to end.

    python -m golore.mcp_server.team.worker SETUP      SETUP is JSON; the parent holds the other end of standard input

It ends in order after SIGTERM or SIGINT, or when its parent has died: it accepts nothing more, finishes what runs, and
closes its stores.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec
import uvicorn
from golore.graph.errors import GoloreError
from golore.graph.lake.bucket import open_lake
from golore.graph.safety.state_directory import state_directory
from golore.mcp_server.server.app import prepare_process
from golore.mcp_server.server.loopback import private_secret
from golore.mcp_server.team.installed_store import installed_bytes
from golore.mcp_server.team.json_log import set_up_log
from golore.mcp_server.team.lake_repositories import LakeRepositories
from golore.mcp_server.team.metrics import Metrics
from golore.mcp_server.team.team_gate import MAX_BODY, TeamGate
from golore.mcp_server.team.team_server import build_team_server
from golore.mcp_server.team.token_file import TokenFile
from golore.mcp_server.team.view_tickets import Tickets
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

GRACE_SECONDS: Final = 30
"""Seconds that running requests get to end when the server is stopped."""
_FOLDER_NAME: Final = "lakes"
_SECRET_NAME: Final = "team-view.secret"


class WorkerSetup(msgspec.Struct, frozen=True):
    """`socket` and `metrics` are descriptors that the process inherits, `number` is its row of the metrics."""

    lake: str
    tokens: str
    refresh: float
    socket: int
    metrics: int
    number: int
    processes: int
    certificate: str = ""
    key: str = ""


def run_worker(setup: WorkerSetup) -> int:
    prepare_process()
    set_up_log()
    metrics = Metrics(setup.metrics, setup.number, setup.processes)
    lake = open_lake(setup.lake)
    repositories = LakeRepositories(
        lake,
        cache_folder(),
        refresh=setup.refresh,
        on_lake_error=metrics.count_lake_error,
        on_look=metrics.set_open_stores,
    )
    with repositories, socket.socket(fileno=setup.socket) as listening:
        config = uvicorn.Config(
            team_application(repositories, TokenFile(Path(setup.tokens)), metrics),
            log_config=None,
            access_log=False,
            lifespan="on",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=setup.certificate or None,
            ssl_keyfile=setup.key or None,
        )
        # uvicorn raises the signal again when it has shut down; that must not end the process before its stores close.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _do_nothing)
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def team_application(repositories: LakeRepositories, tokens: TokenFile, metrics: Metrics) -> ASGIApp:
    """The server as an ASGI application. It answers at /mcp and /view/, without sessions."""
    server = build_team_server(repositories, metrics.count_lake_error)
    # Every request has a token, which a web page does not know, so the name by which it came does not matter. Behind a
    # reverse proxy, it is that of the proxy.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    inner = server.streamable_http_app(
        json_response=True, stateless_http=True, max_request_body_size=MAX_BODY, transport_security=security
    )
    return TeamGate(inner, tokens, repositories, metrics, lambda: installed_bytes(cache_folder()), view_tickets())


def view_tickets() -> Tickets:
    """The tickets of all processes on this machine. The first call of them all makes the secret."""
    return Tickets(private_secret(Path(state_directory()) / _SECRET_NAME))


def cache_folder() -> Path:
    """Where published stores are installed, readable by this user only."""
    return Path(state_directory()) / _FOLDER_NAME


def end_with_parent() -> None:
    """End this process in order when the other end of its standard input is closed."""

    def wait() -> None:
        while os.read(0, 1 << 10):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True, name="golore-parent").start()


def main(arguments: list[str]) -> int:
    end_with_parent()
    try:
        return run_worker(msgspec.json.decode(arguments[0], type=WorkerSetup))
    except (GoloreError, OSError) as failure:
        sys.stderr.write(f"golore: {failure}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
