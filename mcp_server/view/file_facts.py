"""What makes a file risky to change, in words: who uses it, how often it changes, and which of its functions tests
reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import USES
from golore.graph.phrases import counted


class UsedFrom(NamedTuple):
    """`files` are other files with a use, tests included. `packages` are the directories of those that are no tests."""

    files: int
    packages: int
    only_own: bool
    """whether all of them are in the file's own directory"""


NOT_USED: Final = UsedFrom(0, 0, only_own=False)


def used_from(store: Store, paths: Sequence[str]) -> dict[str, UsedFrom]:
    """From where files are used. Counted as in their cards."""
    statement = (
        f"MATCH (s:Symbol)<-[:{'|'.join(USES)}]-(a:Symbol) WHERE s.file IN $paths AND a.file <> s.file "
        "RETURN DISTINCT s.file, a.file"
    )
    users: defaultdict[str, list[str]] = defaultdict(list)
    for path, user in store.rows(statement, {"paths": list(paths)}):
        users[path].append(user)
    return {path: _counted(path, found) for path, found in users.items()}


def _counted(path: str, users: list[str]) -> UsedFrom:
    directories = {user.rpartition("/")[0] for user in users if not user.endswith("_test.go")}
    own = path.rpartition("/")[0]
    return UsedFrom(len(users), len(directories), only_own=all(user.rpartition("/")[0] == own for user in users))


def reasons(used: UsedFrom, commits: int, functions: int, tested: int) -> list[str]:
    """Why to be careful with a file that is no test, or why not."""
    found = [_use_text(used)]
    if commits:
        found.append(counted(commits, "commit"))
    if functions and tested == functions:
        found.append(f"tests reach all of its {functions:,} functions" if functions > 1 else "tests reach its function")
    elif functions:
        found.append(f"no test known to reach {functions - tested:,} of {counted(functions, 'function')}")
    return found


def _use_text(used: UsedFrom) -> str:
    if not used.files:
        return "no other file is known to use it"
    files = counted(used.files, "other file")
    if used.only_own:
        return f"used from {files}, all of its own package"
    return f"used from {files} in {counted(used.packages, 'package')}" if used.packages else f"used from {files}, tests"
