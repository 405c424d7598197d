"""What the servers on this machine share: a socket on the loopback address, its names, and secrets in private files.

A secret is not kept in the store, because a repository may contain a store with a secret that its author knows.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from golore.graph.errors import GoloreError, UsageError
from golore.graph.safety.regular_file import NotRegularError, open_regular
from golore.graph.safety.state_directory import state_directory
from golore.graph.safety.system import NO_FOLLOW, claim_port, permits_others

HOST: Final = "127.0.0.1"
LOOPBACK_NAMES: Final = (HOST, "localhost", "[::1]")
MIN_SECRET: Final = 16
_MAX_SECRET: Final = 1_000


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
                f"Port {port} is in use, perhaps by another golore. Use that one, or choose another port with --port "
                "(0 chooses a free one)."
            ) from failure
        if failure.errno == errno.EACCES:
            raise UsageError(f"This user may not listen on port {port}. Choose one above 1023.") from failure
        raise
    return listening


def allowed_hosts(port: int) -> tuple[str, ...]:
    """The values of `Host` that requests to this port may have. A web page that reaches the port through a name of its
    own (DNS rebinding) sends another."""
    return tuple(f"{name}:{port}" for name in LOOPBACK_NAMES)


def secret_path(store: Path, name: str) -> Path:
    """The file of a store's secret of this name, in the user's state directory."""
    digest = blake2b(os.fsencode(store.resolve()), digest_size=8).hexdigest()
    return Path(state_directory()) / f"{name}-{digest}"


def private_secret(path: Path) -> str:
    """The secret in a file that only its owner can read. The file is created if it is missing."""
    make_private(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    except FileExistsError:
        return _read_secret(path)
    secret = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{secret}\n")
    return secret


def make_private(directory: Path) -> None:
    """Create a directory for private files. Raises `GoloreError` if other users can write to it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if permits_others(directory.stat(), 0o022):
        raise GoloreError(f"Other users can write to {directory}. Run `chmod 700 {directory}` as its owner.")


def _read_secret(path: Path) -> str:
    secret = ""
    with suppress(NotRegularError), os.fdopen(open_regular(path), "rb") as file:
        if not permits_others(os.fstat(file.fileno()), 0o077):
            secret = file.read(_MAX_SECRET).decode("ascii", "replace").strip()
    if len(secret) < MIN_SECRET:
        raise GoloreError(f"{path} is not a token that only you can read. Remove it, and golore creates a new one.")
    return secret
