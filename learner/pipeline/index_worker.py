"""Makes the parts of the search index that belong to the packages of a worker process, while it has their rows.

Without this, the index would read the declarations of all files from the graph again, after it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from golore.graph.model.entities import File, Node, Package, Symbol
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.search.index_entries import FileText, IndexedSymbol
from golore.graph.search.index_parts import IndexPart, PartBuilder, numbered
from golore.graph.search.index_sources import FileAbout, declared_by_file
from golore.graph.search.term_counts import term_counts
from golore.learner.checkout.content_digest import digest

_builders: dict[Path, PartBuilder] = {}
"""What makes the parts of this process, by the plan that they belong to."""


def add_to_index(
    plan: Path, root: Path, paths: Iterable[str], directory: Path, nodes: Mapping[str, Sequence[Node]]
) -> None:
    """Add the files of a package to the parts of this process. `paths`: all files of the index. `directory`: for the
    parts. `nodes`: those of the package, by label."""
    builder = _builders.get(plan)
    if builder is None:
        builder = _builders[plan] = PartBuilder(numbered(list(paths)), directory)
    (package,) = cast(list[Package], nodes["Package"])
    symbols = declared_by_file(cast(list[Symbol], nodes.get("Symbol", [])), package.path)
    for file in cast(list[File], nodes.get("File", [])):
        about = FileAbout(file.digest, package.id, package.path, package.module, file.test, file.generated)
        builder.add(file_text(file.path, about, symbols.get(file.path, ()), *count_terms(f"{root}/{file.path}")))


def take_parts(plan: Path) -> list[IndexPart]:
    """The parts that this process has made."""
    builder = _builders.pop(plan, None)
    return [] if builder is None else builder.parts()


def count_terms(path: str) -> tuple[str, dict[str, int]]:
    """The digest of a file and its term counts; both empty if it cannot be read."""
    try:
        data = read_regular(path, SOURCE_LIMIT, follow=True)
    except OSError:
        return "", {}
    return digest(data), term_counts(data)


def file_text(
    path: str, about: FileAbout, symbols: tuple[IndexedSymbol, ...], found_digest: str, counts: dict[str, int]
) -> FileText:
    # A file that changed since it was learned gets a digest that the graph cannot have, so that it is read again.
    marked = about.digest if found_digest == about.digest else f"{about.digest} {found_digest}"
    return FileText(path, marked, about.package, about.module, about.test, about.generated, symbols, counts)
