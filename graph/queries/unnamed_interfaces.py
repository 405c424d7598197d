"""Methods of interfaces that are no symbols: which methods of the repository fit one, by name and number of parameters.

The id of such a method is its interface as text, then its name: `interface{Unwrap() error}.Unwrap` (see `INVOKES`).
Types are not compared, so that a method that fits may still not satisfy the interface; one that does not fit never
does.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store

PREFIX: Final = "interface{"
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


class Arity(NamedTuple):
    params: int
    results: int


class UnnamedInterfaces:
    """The methods of unnamed interfaces that the repository calls, and the methods that fit them."""

    def __init__(self) -> None:
        self.fitting: defaultdict[str, list[str]] = defaultdict(list)
        """The ids of the methods that fit, by the id of the required method."""
        self.required: defaultdict[str, list[str]] = defaultdict(list)
        """The inverse of `fitting`."""


_last: Final[dict[Path, tuple[str, UnnamedInterfaces]]] = {}
"""The table of each store, with the generation of its graph."""


def unnamed_interfaces(store: Store) -> UnnamedInterfaces:
    generation = store.generation
    known = _last.get(store.directory)
    if known is None or known[0] != generation:
        known = _last[store.directory] = (generation, _read(store))
    return known[1]


def is_unnamed(id: str) -> bool:
    return id.startswith(PREFIX)


@lru_cache(maxsize=4096)
def methods_of(id: str) -> dict[str, Arity]:
    """The methods of an interface, from the id of one of them. Unexported names begin with their package's path."""
    text = id[len(PREFIX) : id.rindex("}")]
    found: dict[str, Arity] = {}
    for part in _split(text, ";"):
        name, opened, rest = part.strip().partition("(")
        if opened:
            found[name] = _arity(opened + rest)
    return found


def arity_of(name: str, signature: str) -> Arity | None:
    """The arity of a declared method, from its signature as written; None if it has another form."""
    _, found, rest = signature.partition(f"{name}(")
    return _arity("(" + rest) if found else None


def fits(required: str, name: str, package: str, arity: Arity | None) -> bool:
    """Whether a method of a package can be the one that the required method leads to."""
    wanted = methods_of(required)
    asked = wanted.get(name)
    if asked is None:
        asked = wanted.get(f"{package}.{name}")
    return asked is not None and (arity is None or asked == arity)


def _read(store: Store) -> UnnamedInterfaces:
    found = UnnamedInterfaces()
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for (id,) in store.rows("MATCH (e:External) WHERE e.id STARTS WITH $prefix RETURN e.id", {"prefix": PREFIX}):
        by_name[id.rpartition(".")[2]].append(id)
    if not by_name:
        return found
    statement = (
        "MATCH (s:Symbol) WHERE s.name IN $names AND s.kind IN ['method', 'imethod'] "
        "RETURN s.id, s.name, s.package, s.signature ORDER BY s.id"
    )
    for id, name, package, signature in store.rows(statement, {"names": sorted(by_name)}):
        arity = arity_of(name, signature)
        for required in sorted(by_name[name]):
            if fits(required, name, _import_path(package), arity):
                found.fitting[required].append(id)
                found.required[id].append(required)
    return found


def _import_path(package: str) -> str:
    """The import path of a package's id, which has a suffix if it is the package of tests."""
    return package.partition(" ")[0]


def _arity(text: str) -> Arity:
    """The arity of `(a, b int) (string, error)`."""
    end = _closing(text)
    results = text[end + 1 :].strip()
    if not results:
        count = 0
    elif results.startswith("(") and _closing(results) == len(results) - 1:
        count = _count(results[1:-1])
    else:
        count = 1
    return Arity(_count(text[1:end]), count)


def _closing(text: str) -> int:
    """The position of the bracket that closes the first one."""
    depth = 0
    for position, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
            if depth == 0:
                return position
    return len(text)


def _count(text: str) -> int:
    return sum(1 for part in _split(text, ",") if part.strip())


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text, without splitting inside brackets."""
    parts: list[str] = []
    depth = start = 0
    for position, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return parts
