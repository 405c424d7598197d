"""Tickets: what a browser keeps in place of a token, in a cookie that pages cannot read.

A ticket names a token of the file and is valid for some hours, for pages only: not for MCP, and not for writing. It is
signed with a secret of this machine and the token's digest, so it ends with the token. The token itself is not kept,
because a browser sends a cookie to every port of a host.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Final

from golore.mcp_server.team.token_file import Grant

COOKIE: Final = "golore_view"
PATH: Final = "/view"
HOURS: Final = 12


class Tickets:
    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._clock = clock

    def cookie(self, grant: Grant, *, is_encrypted: bool) -> str:
        """The value of `Set-Cookie` that lets a browser in. `is_encrypted`: it must not be sent without TLS."""
        ends = int(self._clock()) + HOURS * 3600
        return _cookie(f"{grant.name}.{ends}.{self._signature(grant, str(ends))}", HOURS * 3600, is_encrypted)

    def grant_of(self, headers: Iterable[bytes], grants: Iterable[Grant]) -> Grant | None:
        """The grant that a valid ticket among the values of `Cookie` names."""
        for ticket in _tickets(headers):
            name, _, rest = ticket.partition(".")
            ends, _, signature = rest.partition(".")
            for grant in grants:
                is_signed = hmac.compare_digest(signature.encode(), self._signature(grant, ends).encode())
                if grant.name == name and is_signed and ends.isdecimal() and self._clock() < int(ends):
                    return grant
        return None

    def _signature(self, grant: Grant, ends: str) -> str:
        return hmac.new(self._secret, f"{grant.name}.{ends}.{grant.digest}".encode(), sha256).hexdigest()


def no_cookie(*, is_encrypted: bool) -> str:
    """The value of `Set-Cookie` that makes a browser forget its ticket."""
    return _cookie("", 0, is_encrypted)


def _cookie(value: str, seconds: int, is_encrypted: bool) -> str:
    secure = "; Secure" if is_encrypted else ""
    return f"{COOKIE}={value}; Max-Age={seconds}; Path={PATH}; HttpOnly; SameSite=Strict{secure}"


def _tickets(headers: Iterable[bytes]) -> list[str]:
    found: list[str] = []
    for header in headers:
        cookies = SimpleCookie()
        try:
            cookies.load(header.decode("latin-1"))
        except CookieError:
            continue
        if COOKIE in cookies:
            found.append(cookies[COOKIE].value)
    return found
