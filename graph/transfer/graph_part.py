"""Chooses packages by the patterns of the go command: import paths or directories, with `...` for everything below."""

from __future__ import annotations

import re
from collections.abc import Iterable

from golore.graph.database.store import Store
from golore.graph.errors import UsageError


def package_ids(store: Store, patterns: Iterable[str]) -> frozenset[str]:
    """The ids of the packages that match one of the patterns, with their external tests. Raises `UsageError` for a
    pattern that no package matches."""
    packages: list[list[str]] = list(store.rows("MATCH (p:Package) RETURN p.id, p.path, p.dir"))
    found: set[str] = set()
    for pattern in patterns:
        matches = _matcher(pattern)
        chosen = {id for id, path, directory in packages if matches.fullmatch(path) or matches.fullmatch(directory)}
        if not chosen:
            raise UsageError(f"No package matches {pattern!r}. Give an import path or a directory, such as ./store/...")
        found |= chosen
    return frozenset(found)


def _matcher(pattern: str) -> re.Pattern[str]:
    """`x/...` matches x and everything below it; `...` elsewhere matches any text."""
    text = pattern.strip().removeprefix("./").rstrip("/")
    if text in ("", "."):
        return re.compile("")
    escaped = re.escape(text).replace(re.escape("..."), ".*")
    return re.compile(re.sub(r"/\.\*$", "(?:/.*)?", escaped))
