"""What is searched for and what is found: requests, results, and which files and texts a request allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, IndexedSymbol, TextRow

TEXT_KINDS: Final = ("package", "note", "doc", "summary")
KINDS: Final = (*SYMBOL_KINDS, "symbol", "file", *TEXT_KINDS)
LIMIT: Final = 20
MAX_INNER: Final = 5
"""Declarations that are listed inside the result of a file; also the number of suggestions."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is searched for. `path` is a glob or a directory, for paths or import paths. With `tests` None, tests are
    included; with True, only tests are found; with False, none."""

    text: str
    _: KW_ONLY
    kind: str = ""
    limit: int = LIMIT
    path: str = ""
    module: str = ""
    tests: bool | None = None
    generated: bool = False
    explain: bool = False


@dataclass(frozen=True, slots=True)
class InnerHit:
    """A declaration inside a file that was found."""

    kind: str
    name: str
    line: int
    snippet: str


@dataclass(frozen=True, slots=True)
class Hit:
    """`name` is the qualified name of a symbol, the import path of a package, the path of a file or the id of a text.

    `symbols` are declarations of the same file that fit, too. `signals` are the parts of the score, with `explain`.
    """

    kind: str
    name: str
    file: str
    line: int
    score: float
    snippet: str
    symbols: tuple[InnerHit, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Hits:
    """The best hits, the number of others that were found, and names that may have been meant."""

    hits: tuple[Hit, ...]
    left_out: int
    suggestions: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        from golore.graph.diagrams.html import result_html

        rows = [
            (hit.kind, hit.name, f"{hit.file}:{hit.line}" if hit.line else hit.file, hit.snippet) for hit in self.hits
        ]
        return result_html(f"{len(rows)} results", ("kind", "name", "place", "text"), rows)


def is_for_symbols(request: SearchRequest) -> bool:
    return request.kind == "symbol" or request.kind in SYMBOL_KINDS


def kind_filter(request: SearchRequest) -> Callable[[str], bool]:
    return lambda kind: request.kind not in SYMBOL_KINDS or kind == request.kind


def is_allowed(request: SearchRequest, row: FileRow) -> bool:
    if row.flags & GENERATED and not request.generated:
        return False
    if request.tests is not None and bool(row.flags & TEST) != request.tests:
        return False
    if request.module and row.module != request.module:
        return False
    return not request.path or _matches(request.path, row.path, row.package)


def is_allowed_text(request: SearchRequest, row: TextRow) -> bool:
    if request.tests is not None and bool(row.flags & TEST) != request.tests:
        return False
    if request.module and not f"{row.name}/".startswith(f"{request.module}/"):
        return False
    return not request.path or _matches(request.path, row.file, row.name)


def _matches(glob: str, path: str, package: str) -> bool:
    """Whether a path or an import path is `glob`, is below it, or matches it as a glob."""
    directory = glob.strip("/")
    return any(
        f"{text}/".startswith(f"{directory}/") or fnmatchcase(text, glob) or fnmatchcase(text, f"{directory}/*")
        for text in (path, package)
    )


def symbol_hit(
    row: FileRow, symbol: IndexedSymbol, score: float, signals: Mapping[str, float], request: SearchRequest
) -> Hit:
    name = symbol.qualified_name(row.package)
    hit = Hit(symbol.kind, name, row.path, symbol.line, round(score, 4), symbol.about)
    return replace(hit, signals=signals) if request.explain else hit


def inner_hit(row: FileRow, symbol: IndexedSymbol) -> InnerHit:
    return InnerHit(symbol.kind, symbol.qualified_name(row.package), symbol.line, symbol.about)


def file_snippet(row: FileRow) -> str:
    return f"package {row.package}"
