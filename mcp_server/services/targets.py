"""What a note is about, as people name it: a symbol, a file, a package, or the repository.

`.` is the repository, a path below the root a file or a package, anything else the name of a package or a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.queries.answers import NameMatches
from golore.graph.queries.name_resolver import Names

_REPOSITORY: Final = frozenset((".", ""))
_NEAR: Final = 5


class Subject(NamedTuple):
    level: str
    id: str
    twins: tuple[str, ...] = ()
    """ids of the declarations of the same name for other builds"""


def find_subject(
    store: Store, names: Names, root: Path, target: str, bases: Iterable[Path], unclear: Callable[[NameMatches], str]
) -> Subject:
    """The one thing that is meant; refused with what it may mean. Paths may be below one of the bases."""
    target = target.strip()
    if target in _REPOSITORY:
        return Subject("repository", REPOSITORY_ID)
    paths = list(_paths(root.resolve(), target, bases))
    if target.endswith(".go"):
        for path in paths:
            if _ids(store, "MATCH (f:File {id: $name}) RETURN f.id", path):
                return Subject("file", path)
        raise UsageError(_no_file(store, target))
    for name in (*paths, target.rstrip("/")):
        statement = "MATCH (p:Package) WHERE p.dir = $name OR p.path = $name RETURN p.id ORDER BY p.test, p.id LIMIT 1"
        if found := _ids(store, statement, name):
            return Subject("package", found[0])
    meant = names.find(target)
    if len(meant.meanings) != 1:
        raise UsageError(unclear(meant))
    symbols = [symbol.id for symbol in meant.meanings[0].symbols if not symbol.external]
    if not symbols:
        raise UsageError(f"{target} lies outside the repository. Note it on the code here that uses it.")
    return Subject("symbol", symbols[0], tuple(symbols[1:]))


def _paths(root: Path, target: str, bases: Iterable[Path]) -> Iterable[str]:
    """The paths below the root that a text may be, as the graph names them; the root itself is the empty one."""
    for base in dict.fromkeys((*bases, root)):
        path = (base / target).resolve()
        if path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            yield "" if relative == "." else relative


def _ids(store: Store, statement: str, name: str) -> list[str]:
    return [row[0] for row in store.rows(statement, {"name": name})]


def _no_file(store: Store, target: str) -> str:
    base = target.rpartition("/")[2]
    statement = "MATCH (f:File) WHERE f.path ENDS WITH $name RETURN f.path ORDER BY size(f.path), f.path"
    near = [path for path in _ids(store, statement, base) if path == base or path.endswith(f"/{base}")][:_NEAR]
    if near:
        return f"{target} is not in the graph. Did you mean {' or '.join(near)}?"
    return f"{target} is not in the graph. Give a Go file's path from the root; learn it if it is new."
