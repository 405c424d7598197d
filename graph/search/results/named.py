"""Results by name: packages, files and declarations that have the text as their name, or a similar one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from golore.graph.database.store import Store
from golore.graph.search.index_entries import TEST
from golore.graph.search.index_sources import about
from golore.graph.search.name_match import SLIP, NameHit, is_name, is_one_typo, name_hits
from golore.graph.search.results.hits import (
    Hit,
    SearchRequest,
    file_snippet,
    is_allowed,
    is_allowed_text,
    kind_filter,
    symbol_hit,
)
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import IndexView
from golore.graph.search.terms import folded

_MAIN_FILE: Final = 0.92
"""Score of a file that is called like its package: it says more than the package does."""
_MAX_TIED: Final = 12
_MIN_TYPO: Final = 4
"""Letters of a file's name in which a typo is tolerated."""


def by_name(sources: SearchContext, request: SearchRequest) -> list[Hit]:
    """Packages, files and declarations that have the text as their name, or a similar one."""
    if not is_name(request.text) or request.kind in ("note", "doc", "summary"):
        return []
    found = [*_packages_and_files(sources, request)]
    if request.kind not in ("file", "package"):
        is_wanted = kind_filter(request)
        hits = name_hits(sources.index, sources.view.files, request.text, lambda row: is_allowed(request, row))
        hits = _most_used_first([hit for hit in hits if is_wanted(hit.symbol.kind)], sources.store)
        found += [symbol_hit(hit.file, hit.symbol, hit.score, {"name": hit.score}, request) for hit in hits]
    return found


def _most_used_first(hits: list[NameHit], store: Store | None) -> list[NameHit]:
    """Raise the best hits, if several have the same score, by how often they are used."""
    tied = [hit for hit in hits if hit.score == hits[0].score]
    if store is None or not 1 < len(tied) <= _MAX_TIED:
        return hits
    statement = "MATCH (b:Symbol {id: $id})<-[e:CALLS|REFERENCES]-(a:Symbol) RETURN count(*)"
    uses = {hit.id: next(iter(store.rows(statement, {"id": hit.id})))[0] for hit in tied}
    largest = max(uses.values()) or 1
    reranked = [hit._replace(score=round(hit.score + 0.004 * uses[hit.id] / largest, 4)) for hit in tied]
    return [*sorted(reranked, key=lambda hit: -hit.score), *hits[len(tied) :]]


def _packages_and_files(sources: SearchContext, request: SearchRequest) -> Iterable[Hit]:
    """Packages and files with this name. They rank below declarations with this name, which say more."""
    wanted = request.text.strip().strip("/").lower()
    if request.kind in ("", "package"):
        for row in sources.view.texts.values():
            import_path = row.name.lower()
            if row.kind != "package" or not (import_path == wanted or import_path.endswith(f"/{wanted}")):
                continue
            text = sources.index.text(row.id)
            score = (0.97 if import_path == wanted else 0.9) - 0.05 * bool(row.flags & TEST)
            if text is not None and is_allowed_text(request, row):
                yield Hit("package", row.name, row.file, 0, round(score, 3), about(text.title, text.text))
    if request.kind in ("", "file"):
        yield from _files_called(sources.view, request, wanted)


def _files_called(view: IndexView, request: SearchRequest, wanted: str) -> Iterator[Hit]:
    """Files with this name, with or without underscores and `.go`; if there are none, with a typo in it. Files whose
    paths contain the text are found only if files are asked for."""
    stem = folded(wanted.rpartition("/")[2].removesuffix(".go"))
    called = [*view.called.get(stem, ())]
    is_typo = not called and not any(wanted in file.path.lower() for file in view.files.values())
    if is_typo and len(stem) >= _MIN_TYPO:
        called = [id for name, ids in view.called.items() if is_one_typo(stem, name) for id in ids]
    containing = view.files if request.kind == "file" and not is_typo else ()
    for file in (view.files[id] for id in dict.fromkeys((*called, *containing)) if id in view.files):
        path, own = file.path.lower(), folded(file.path.rpartition("/")[2].removesuffix(".go"))
        if not is_allowed(request, file):
            continue
        if path == wanted or path.endswith(f"/{wanted}"):
            score = 0.96
        elif is_typo:
            score = SLIP - 0.01
        elif own == stem and ("/" not in wanted or wanted in path):
            score = _MAIN_FILE if f"/{path}".split("/")[-2] == own else 0.87
        elif request.kind == "file" and wanted in path:
            score = (0.7 if own.startswith(stem) else 0.6) + 0.05 * len(wanted) / len(path)
        else:
            continue
        score = round(score - 0.05 * bool(file.flags & TEST), 3)
        yield Hit("file", file.path, file.path, 1, score, file_snippet(file))
