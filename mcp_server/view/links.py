"""The addresses of pages. A static site has only some pages: what it lacks has no address."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from urllib.parse import quote, urlencode

_SAFE: Final = "/:@-._~"


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses below a prefix, such as `/SECRET`. For a static site, `pages` lists the pages that it has, `prefix` is
    relative, and addresses are names of files."""

    prefix: str
    pages: Collection[str] | None = None
    window: int = field(default=1_000)
    """lines of a file on one page"""
    kinds: frozenset[str] | None = None
    """first words of the pages that this site has; None: all"""

    @property
    def is_static(self) -> bool:
        return self.pages is not None

    def page(self, name: str, **query: object) -> str:
        """The address of a page, such as `symbol/example.com/m.Save`; empty if there is none."""
        given = tuple((key, str(value)) for key, value in query.items() if value not in ("", None))
        if self.pages is not None:
            key = page_key(name, dict(given))
            return f"{self.prefix}{file_name(key)}" if key in self.pages else ""
        if self.kinds is not None and name.partition("/")[0] not in self.kinds:
            return ""
        return f"{self.prefix}/{quote(name, safe=_SAFE)}{_tail(given)}"

    def symbol(self, id: str) -> str:
        return self.page(f"symbol/{id}")

    def file(self, path: str, line: int = 0) -> str:
        """The address of a file, or of a line in it."""
        start = (line - 1) // self.window * self.window + 1 if line else 1
        address = self.page(f"file/{path}", **({"from": start} if start > 1 else {}))
        return f"{address}#L{line}" if address and line else address

    def map(self, directory: str = "", **query: object) -> str:
        return self.page(f"map/{directory}", **query)

    def asset(self, name: str) -> str:
        return f"{self.prefix}{'' if self.is_static else '/'}assets/{name}"


@lru_cache(64)
def _tail(query: tuple[tuple[str, str], ...]) -> str:
    """A picture of files has thousands of addresses with the same query."""
    return f"?{urlencode(query)}" if query else ""


def page_key(name: str, query: Mapping[str, str]) -> str:
    """Identifies a page of a static site."""
    return f"{name}?{urlencode(query)}" if query else name


def file_name(key: str) -> str:
    """The name of a page's file in a static site. Names of code are not unique on disks that ignore case."""
    if not key:
        return "index.html"
    kind = key.partition("/")[0].partition("?")[0]
    return f"{kind}-{blake2b(key.encode(), digest_size=8).hexdigest()}.html"
