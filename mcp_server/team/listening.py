"""The sockets of a team server: one for each of its processes, all on the same address.

On Linux the kernel spreads connections over sockets that share a port. Elsewhere the processes share one socket.
"""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import ExitStack
from ipaddress import ip_address
from typing import Final, NamedTuple

from golore.graph.errors import GoloreError, UsageError

DEFAULT_ADDRESS: Final = "127.0.0.1:7425"
_BACKLOG: Final = 1024
_REASONS: Final = {
    errno.EADDRINUSE: "it is in use, perhaps by another golore. Choose another port",
    errno.EACCES: "this user may not. Choose a port above 1023",
    errno.EADDRNOTAVAIL: "this machine does not have that address. Choose one of its own",
}


class Address(NamedTuple):
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return ip_address(self.host).is_loopback

    @property
    def shown(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`127.0.0.1:7425`, `[::1]:7425` or `localhost:7425`; not a name, because a name may change what it means."""
    host, colon, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ip_address(host)
    except ValueError:
        colon = ""
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{text!r} is no address to listen on. Write an IP address and a port, such as 0.0.0.0:7425.")
    return Address(host, int(port))


def listening_sockets(address: Address, number: int) -> list[socket.socket]:
    """So many sockets that listen on the address. Port 0 chooses a free one."""
    is_shared = number > 1 and sys.platform == "linux"
    with ExitStack() as opened:
        try:
            # Without sharing first: otherwise two servers of one user could have the same port without noticing.
            with _bound(address, is_shared=False) as first:
                address = Address(address.host, first.getsockname()[1])
                if not is_shared:
                    return [first.dup()] * number
            found = [opened.enter_context(_bound(address, is_shared=True)) for _ in range(number)]
        except OSError as failure:
            if failure.errno in _REASONS:
                reason = _REASONS[failure.errno]
                raise GoloreError(f"golore cannot listen on {address.shown}: {reason}, with --listen.") from failure
            raise
        opened.pop_all()
        return found


def _bound(address: Address, *, is_shared: bool) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((address.host, address.port))
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made
