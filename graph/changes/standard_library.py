"""What is known of Go's standard library: which of its packages may call methods of values that they are handed.

A package calls the methods of an interface only if it imports the package that declares it, and only of values that
somebody handed to it. The table is made from the source of Go (`tests/support/handed_values`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_TABLE: Final = Path(__file__).parents[1] / "data" / "standard_library.txt"


class _Library(NamedTuple):
    """`knows`: for a package with interfaces, the packages that import it. `taking`: the functions and methods of a
    package that can be handed values with methods. Packages that are not listed are used by too many, or have too many.
    """

    knows: dict[str, frozenset[str]]
    taking: dict[str, frozenset[str]]


@cache
def _library() -> _Library:
    library = _Library({}, {})
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        table, package, *names = line.split()
        if table == "knows":
            library.knows[package] = frozenset((package, *names))
        else:
            library.taking[package] = frozenset(names)
    return library


def callers_of(package: str) -> frozenset[str] | None:
    """The packages of the standard library that may call methods of a package's interfaces; None if any may."""
    return _library().knows.get(package)


def takes_values(package: str, name: str) -> bool:
    """Whether a function, or a method with its type, can be handed values that have methods of other packages."""
    taking = _library().taking.get(package)
    return taking is None or name in taking


def is_standard(package: str) -> bool:
    """Whether it may be a package of the standard library: the first part of others has a dot."""
    return "." not in package.partition("/")[0]
