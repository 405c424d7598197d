"""Resolves TARGET, as people and agents name the repository, a package, a file or a symbol.

- `.` is the package in the current directory, or the repository if that is its root.
- A path names a file (`store/store.go`) or a package (`store/`), from the current directory or the repository's root.
  The end of a file's path is enough if no other file has it.
- `store/store.go:18` is the declaration around that line, `store/store.go:10-40` the declarations there.
- Anything else is the import path of a package, or the name of a symbol (see `graph.queries.names.name_resolver`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.phrases import listed
from golore.graph.queries.answers import Meaning, NameMatches, Ref
from golore.graph.queries.names.code_places import declarations_at, files_ending
from golore.graph.queries.names.name_suggestions import suggested_files
from golore.graph.queries.names.written_names import FileLines, file_lines
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.text.replies import matches_reply, plain_lines
from msgspec.structs import replace

_HERE: Final = (".", "./")
_FOREIGN: Final = re.compile(r"/|[A-Za-z]:/|[^./]+\.[^/]*/")
"""A path that is absolute or begins with a module's path: a stack trace has those of the machine that built it."""
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
    lines = file_lines(text)
    if lines is not None:
        path = find_go_file(opened, lines.path)
        return _of_meaning(_only_declaration(opened, text, path, lines)) if lines.first else Target("file", path, path)
    paths = list(_paths_below_root(opened, text))
    if text in _HERE:
        package = _package(opened.store, paths[0]) if paths and paths[0] else None
        return package or Target("repository", REPOSITORY_ID, "")
    return _package_named(opened.store, (*paths, text)) or _of_meaning(_only_symbol(opened, text))


def only_meaning(opened: OpenRepository, text: str, kinds: frozenset[str] = frozenset()) -> Meaning:
    """The symbol that a text names, of these kinds if any are given; for a file or lines, all declarations there.

    Raises `UnclearName` if a name has no or several meanings, `UsageError` for other targets.
    """
    lines = file_lines(text)
    if lines is None:
        return _only_symbol(opened, text, kinds)
    path = find_go_file(opened, lines.path)
    found = declarations_at(opened.store, lines._replace(path=path))
    found = tuple(symbol for symbol in found if symbol.kind in kinds) or found
    if not found:
        raise UsageError(f"{_at(path, lines)} declares nothing. Give another file or line.")
    meaning = Meaning(_at(path, lines), found)
    return meaning if meaning.is_group else replace(meaning, name=meaning.first.qualified_name)


def require_field(found: Meaning) -> Meaning:
    """The same meaning. Raises `UsageError` if it is not a field."""
    if found.first.kind != "field":
        raise UsageError(f"{found.name} is a {found.first.kind}. Only fields have reads and writes; ask for its users.")
    return found


def directory_below(opened: OpenRepository, text: str) -> str:
    """The directory that a path or an import path names, relative to the root, which is empty. Raises `UsageError` if
    no package is in it or below it."""
    text = text.strip().rstrip("/")
    if not text:
        return ""
    known = {row[0]: row[1] for row in opened.store.rows("MATCH (p:Package) RETURN p.dir, p.path")}
    for path in _paths_below_root(opened, text):
        if any(directory == path or directory.startswith(f"{path}/" if path else "") for directory in known):
            return path
    by_path = next((directory for directory, path in sorted(known.items()) if path == text), None)
    if by_path is None:
        raise UsageError(f"{text} is no directory with Go packages here, and no import path of one.")
    return by_path


def _only_symbol(opened: OpenRepository, text: str, kinds: frozenset[str] = frozenset()) -> Meaning:
    if not any(map(str.isalnum, text)):
        raise UsageError(
            f"{text!r} is no name. Name a symbol such as Store.Save, a file, or a line such as store.go:18."
        )
    matches = opened.names.find(text, kinds)
    if len(matches.meanings) == 1:
        return matches.meanings[0]
    if not matches.meanings:
        _refuse_other_targets(opened, text)
    raise UnclearName(matches)


def _only_declaration(opened: OpenRepository, text: str, path: str, lines: FileLines) -> Meaning:
    found = only_meaning(opened, text)
    if found.is_group:
        one_each = {symbol.qualified_name: symbol for symbol in reversed(found.symbols)}
        raise UnclearName(
            NameMatches(_at(path, lines), tuple(Meaning(name, (one_each[name],)) for name in sorted(one_each)))
        )
    return found


def _refuse_other_targets(opened: OpenRepository, text: str) -> None:
    """Raise `UsageError` with advice if the text, which names no symbol, is a package or a file that is not Go code."""
    if package := _package_named(opened.store, (*_paths_below_root(opened, text), text)):
        raise UsageError(f"{text} is a package. Name a file or a declaration of it; `context` describes {package.id}.")
    root = opened.repository.root
    if path := find_file(root, text, opened.bases):
        raise UsageError(f"{path} is not Go code. Search finds documents by their words.")


def _at(path: str, lines: FileLines) -> str:
    if not lines.first:
        return path
    return f"{path}:{lines.first}" if lines.first == lines.last else f"{path}:{lines.first}-{lines.last}"


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
    if Path(text).is_absolute() and not Path(text).resolve().is_relative_to(root):
        raise UsageError(f"{text} is not below {root}. Give a path in this repository.")
    for base in dict.fromkeys((*opened.bases, root)):
        path = (base / text).resolve()
        if path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            yield "" if relative == "." else relative


def find_go_file(opened: OpenRepository, text: str) -> str:
    """The path of a Go file in the graph. A path of another machine, as in a stack trace, counts by its end."""
    is_foreign = _FOREIGN.match(text) is not None and not Path(text).exists()
    paths = [text] if is_foreign else list(_paths_below_root(opened, text))
    if path := next((path for path in paths if _has_file(opened.store, path)), ""):
        return path
    found = files_ending(opened.store, text, partly=is_foreign)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{text} is ambiguous: {listed(found, _SUGGESTED)}. Give more of the path.")
    if similar := suggested_files(opened.store, text):
        raise UsageError(f"{text} is not in the graph. Did you mean {' or '.join(similar)}?")
    raise UsageError(
        f"{text} is not in the graph. Give the path of a Go file from the root; learn the repository if it is new."
    )


def _has_file(store: Store, path: str) -> bool:
    return any(True for _ in store.rows("MATCH (f:File {id: $path}) RETURN f.id", {"path": path}))


def _package_named(store: Store, names: Iterable[str]) -> Target | None:
    return next((package for name in names if (package := _package(store, name.rstrip("/")))), None)


def _package(store: Store, name: str) -> Target | None:
    """A package by its directory or import path; the package itself before its external test."""
    statement = (
        "MATCH (p:Package) WHERE p.dir = $name OR p.path = $name RETURN p.id, p.dir ORDER BY p.test, p.id LIMIT 1"
    )
    for id, directory in store.rows(statement, {"name": name}):
        return Target("package", id, f"{directory or '.'}/")
    return None


def _of_meaning(meaning: Meaning) -> Target:
    inside = [symbol for symbol in meaning.symbols if not symbol.external]
    first = inside[0] if inside else meaning.first
    return Target("symbol", first.id, first.file, meaning)
