"""The API changes between two states: chooses the packages to compare, and compares them.

A package is compared if its own files changed, or if it builds on one whose declarations changed: it embeds a type of
it, or names one in an alias or a type definition. Other packages cannot have another API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from golore.graph.changes.api_change import ApiChange
from golore.graph.files.cache_db import Cache
from golore.learner.changes.compared_files import ComparedFiles
from golore.learner.compatibility.api_comparison import compare_api
from golore.learner.compatibility.revisions import Revision, SourceText, read_revisions
from golore.learner.resolution.world import likely_name

ImportersOf = Callable[[str], Collection[str]]
"""Directory of a package → directories of the packages that import it."""
_TYPES: Final = ("interface", "alias", "type")


def api_changes(
    root: Path, compared: ComparedFiles, cache: Cache | None, importers_of: ImportersOf
) -> tuple[ApiChange, ...]:
    """The differences in the exported API of all packages of the repository."""
    before, after = read_revisions(root, compared, cache)
    paths = [pair.path for pair in compared.files]
    if any(path.rpartition("/")[2] == "go.mod" for path in paths):
        changed = {*before.directories, *after.directories}  # import paths may have changed
    else:
        changed = {path.rpartition("/")[0] for path in paths if path.endswith(".go") and not path.endswith("_test.go")}
    return tuple(compare_api(before, after, _with_dependents(before, after, changed, importers_of)))


def _with_dependents(before: Revision, after: Revision, changed: set[str], importers_of: ImportersOf) -> set[str]:
    """These directories, and those whose packages build on one of them whose declarations changed."""
    found = set(changed)
    pending = [directory for directory in changed if _shapes(before, directory) != _shapes(after, directory)]
    while pending:
        directory = pending.pop()
        path = after.project.import_path(directory)
        for importer in importers_of(directory):
            if importer not in found and any(_builds_on(text, path) for text in _texts(after, importer)):
                found.add(importer)
                pending.append(importer)
    return found


def _texts(revision: Revision, directory: str) -> Iterator[SourceText]:
    package = revision.package_in(directory)
    for file in package.files if package is not None else ():
        yield revision.text_of(file.path)


def _shapes(revision: Revision, directory: str) -> list[str]:
    return sorted(text.facts.outline.shape for text in _texts(revision, directory))


def _builds_on(text: SourceText, path: str) -> bool:
    """Whether a type of a file may have members of a package's types."""
    names = _names_of(text, path)
    if not names:
        return False
    is_used = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in names) + rb")\s*\.").search
    return "." in names or any(
        is_used(text.content, symbol.start, symbol.end)
        for symbol in text.facts.outline.symbols
        if symbol.embedded or symbol.kind in _TYPES
    )


def _names_of(text: SourceText, path: str) -> Iterable[str]:
    return [one.alias or likely_name(path) for one in text.facts.outline.imports if one.path == path]
