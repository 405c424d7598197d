"""`golore serve --lake`: serves all repositories of a lake to a team, and `--new-token`, which makes a token for it."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from pathlib import Path
from typing import NamedTuple

from golore.graph.errors import UsageError
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.heads import head_keys
from golore.graph.phrases import counted
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.team.listening import Address, listening_sockets, parse_address
from golore.mcp_server.team.metrics import shared_file
from golore.mcp_server.team.processes import run_processes
from golore.mcp_server.team.token_file import add_token, read_grants
from golore.mcp_server.team.worker import WorkerSetup, run_worker, view_tickets
from golore.mcp_server.text.output import print_json_line, print_lines, print_message


class TeamOptions(NamedTuple):
    """The options of the command, as they were given."""

    lake: str
    tokens: Path | None
    listen: str
    processes: int
    refresh: float
    certificate: Path | None
    key: Path | None


def run_serve_lake(options: TeamOptions, *, as_json: bool) -> int:
    """Serve until SIGTERM or SIGINT. Returns the exit code."""
    if sys.platform == "win32":
        raise UsageError("The server for a team needs Linux or macOS. `golore serve PATH` works on Windows.")
    address = parse_address(options.listen)
    tokens = _tokens(options.tokens)
    grants = read_grants(tokens)
    _require_certificate(options.certificate, options.key)
    lake = lake_address(options.lake)
    published = len({key.repository for key in head_keys(open_lake(lake))})
    view_tickets()
    sockets = listening_sockets(address, options.processes)
    address = Address(address.host, sockets[0].getsockname()[1])
    _announce(address, published, len(grants), options, as_json=as_json)
    return _run(_setups(options, lake, tokens, sockets), sockets)


def run_new_token(tokens: Path | None, name: str, patterns: tuple[str, ...], *, may_write: bool, as_json: bool) -> int:
    """Print a new token, which is stored nowhere, on standard output."""
    path = _tokens(tokens)
    token = add_token(path, name, patterns, may_write=may_write)
    if as_json:
        print_json_line({"name": name, "token": token, "tokens": str(path)})
        return 0
    print_message(f"A token for {name}. It is shown only now: {path} has a digest of it.")
    print_lines([token])
    return 0


def _tokens(path: Path | None) -> Path:
    if path is None:
        raise UsageError(
            "Say who may ask: --tokens FILE. Make one with `golore serve --tokens FILE --new-token NAME --repositories "
            "PATTERN`."
        )
    return path.expanduser().absolute()


def _require_certificate(certificate: Path | None, key: Path | None) -> None:
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise UsageError("TLS needs a certificate and its key: --tls-cert and --tls-key.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as failure:
        raise UsageError(f"{certificate} and {key} are no certificate and its key: {failure}.") from failure


def _setups(options: TeamOptions, lake: str, tokens: Path, sockets: list[socket.socket]) -> list[WorkerSetup]:
    metrics = shared_file(options.processes)
    certificate, key = (str(file.absolute()) if file is not None else "" for file in (options.certificate, options.key))
    return [
        WorkerSetup(
            lake,
            str(tokens),
            options.refresh,
            listening.fileno(),
            metrics,
            number,
            options.processes,
            certificate,
            key,
        )
        for number, listening in enumerate(sockets)
    ]


def _run(setups: list[WorkerSetup], sockets: list[socket.socket]) -> int:
    if len(setups) > 1:
        return run_processes(setups)
    sockets[0].detach()  # the worker closes it
    try:
        return run_worker(setups[0])
    finally:
        os.close(setups[0].metrics)


def _announce(address: Address, published: int, grants: int, options: TeamOptions, *, as_json: bool) -> None:
    is_encrypted = options.certificate is not None
    base = f"http{'s' if is_encrypted else ''}://{address.shown}"
    url, view = f"{base}/mcp", f"{base}/view/"
    if as_json:
        numbers = {"repositories": published, "tokens": grants, "processes": options.processes}
        print_json_line({"url": url, "view": view, "tls": is_encrypted, **numbers})
        return
    counts = f"{counted(published, 'repository')} for {counted(grants, 'token')}"
    processes = counted(options.processes, "process")
    print_message(f"Serving {counts} on {url} in {processes}; in a browser: {view}. Press Ctrl-C to stop.")
    if not is_encrypted:
        reach = "" if address.is_loopback else " Others on the network can read tokens and answers."
        print_message(f"This is not encrypted: let a reverse proxy add TLS, or give --tls-cert and --tls-key.{reach}")
