"""Resolves TARGET, as people and agents name the repository, a package, a file or a symbol.

- `.` is the package in the current directory, or the repository if that is its root.
- A path names a file (`store/store.go`) or a package (`store/`), from the current directory or the repository's root.
- Anything else is the import path of a package, or the name of a symbol.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.queries.answers import Meaning, NameMatches, Ref
from golore.graph.queries.name_resolver import NameResolver
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.text.replies import matches_reply, plain_lines

_HERE: Final = (".", "./")
_SUGGESTED: Final = 5


class UnclearName(UsageError):
    """A name that matches no symbol, or several. `matches` has the candidates or similar names."""

    exit_code = 1

    def __init__(self, matches: NameMatches) -> None:
        reply = matches_reply(matches)
        advice = () if matches.meanings or matches.suggestions else ("Run `golore learn` if it is new.",)
        first, *rest = plain_lines(reply, len(reply.sections[0].rows) if reply.sections else 0)
        super().__init__("\n".join([" ".join((first, *advice)), *filter(None, rest)]))
        self.matches = matches


class Target(NamedTuple):
    """One node of the graph. `card_path` is the path of the card that describes it; for a symbol, that of its file."""

    level: str
    id: str
    card_path: str
    meaning: Meaning | None = None
    """For a symbol: all its declarations, including twins."""

    @property
    def symbols(self) -> tuple[Ref, ...]:
        """The declarations of a symbol in this repository; none if it is declared outside."""
        found = self.meaning.symbols if self.meaning is not None else ()
        return tuple(symbol for symbol in found if not symbol.external)


def find_target(opened: OpenRepository, text: str) -> Target:
    """The node that a text names. Raises `UnclearName` or `UsageError`, with suggestions, if there is not just one."""
    text = text.strip()
    if text in ("", "/"):
        return Target("repository", REPOSITORY_ID, "")
    paths = list(_paths_below_root(opened, text))
    if text.endswith(".go"):
        for path in paths:
            if _has_file(opened.store, path):
                return Target("file", path, path)
        raise UsageError(_no_file_message(opened.store, text))
    if text in _HERE:
        package = _package(opened.store, paths[0]) if paths and paths[0] else None
        return package or Target("repository", REPOSITORY_ID, "")
    for name in (*paths, text.rstrip("/")):
        if package := _package(opened.store, name):
            return package
    return _symbol(opened.names, text)


def only_meaning(names: NameResolver, text: str, kinds: frozenset[str] = frozenset()) -> Meaning:
    """The symbol that a name means, of these kinds if any are given. Raises `UnclearName` if there is not just one."""
    matches = names.find(text, kinds)
    if len(matches.meanings) != 1:
        raise UnclearName(matches)
    return matches.meanings[0]


def find_file(root: Path, text: str, bases: tuple[Path, ...]) -> str:
    """The path of a file on disk, relative to the root; empty if there is no such file below the root."""
    root = root.resolve()
    for base in dict.fromkeys((*bases, root)):
        path = (base / text).resolve()
        if path.is_file() and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return ""


def _paths_below_root(opened: OpenRepository, text: str) -> Iterator[str]:
    """The paths that a text may mean, relative to the root, as in the graph. The root itself is the empty path."""
    root = opened.repository.root.resolve()
    if text.startswith("/") and not Path(text).resolve().is_relative_to(root):
        raise UsageError(f"{text} is not below {root}. Give a path in this repository.")
    for base in dict.fromkeys((*opened.bases, root)):
        path = (base / text).resolve()
        if path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            yield "" if relative == "." else relative


def _has_file(store: Store, path: str) -> bool:
    return any(True for _ in store.rows("MATCH (f:File {id: $path}) RETURN f.id", {"path": path}))


def _package(store: Store, name: str) -> Target | None:
    """A package by its directory or import path; the package itself before its external test."""
    statement = (
        "MATCH (p:Package) WHERE p.dir = $name OR p.path = $name RETURN p.id, p.dir ORDER BY p.test, p.id LIMIT 1"
    )
    for id, directory in store.rows(statement, {"name": name}):
        return Target("package", id, f"{directory or '.'}/")
    return None


def _symbol(names: NameResolver, text: str) -> Target:
    meaning = only_meaning(names, text)
    inside = [symbol for symbol in meaning.symbols if not symbol.external]
    first = inside[0] if inside else meaning.first
    return Target("symbol", first.id, first.file, meaning)


def _no_file_message(store: Store, text: str) -> str:
    base = text.rpartition("/")[2]
    statement = "MATCH (f:File) WHERE f.path ENDS WITH $name RETURN f.path ORDER BY size(f.path), f.path"
    similar = [path for (path,) in store.rows(statement, {"name": base}) if path == base or path.endswith(f"/{base}")]
    if similar:
        return f"{text} is not in the graph. Did you mean {' or '.join(similar[:_SUGGESTED])}?"
    return f"{text} is not in the graph. Give the path of a Go file from the root; learn the repository if it is new."
