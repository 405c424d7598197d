"""Search: the results for a text, best first. A name finds what has that name; other words find files.

A file is one result, with its best declarations inside, unless declarations are asked for. `signals` says how well a
file fits, `weights` how much each signal counts; `name_match` handles names and typos. Packages, notes, documents and
summaries are results if they contain most of the question. The index must be that of the graph (see `index`); the graph
itself is queried only for calls and uses, and only if the store is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.search.call_proximity import with_neighbours
from golore.graph.search.embedded_texts import embedded_symbols
from golore.graph.search.index import FILES, TEXTS, SearchIndex
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, IndexedSymbol, TextRow
from golore.graph.search.index_sources import about
from golore.graph.search.name_match import NAMED, NameHit, is_name, name_hits
from golore.graph.search.note_answers import LASTING, answers
from golore.graph.search.signals import IndexView, Question, question_of, rarity, signals_of
from golore.graph.search.snippets import best_line, matching_symbols, terms_to_show
from golore.graph.search.vectors import Near
from golore.graph.search.weights import TOTAL, WEIGHTS, best_of, doubt, raised, weighted_sums

TEXT_KINDS: Final = ("package", "note", "doc", "summary")
KINDS: Final = (*SYMBOL_KINDS, "symbol", "file", *TEXT_KINDS)
LIMIT: Final = 20
_MAX_INNER: Final = 5
"""Declarations that are listed inside the result of a file; also the number of suggestions."""
_MAX_EXAMINED: Final = 60
"""Files whose declarations are examined, if declarations are asked for; otherwise, files that are ranked beyond the
limit."""
_MAX_TEXTS: Final = 3
_MAX_ANSWERS: Final = 5
_MIN_COVER: Final = {"package": 0.75, "note": 0.5, "doc": 0.7, "summary": 0.7}
"""The share of a question, weighted by rarity, that a text of each kind must have to be shown among files."""
_BONUS: Final = {"package": 0.0, "note": 0.35, "doc": 0.1, "summary": 0.1}
"""What the share of a text of each kind is raised by: a note exists because somebody found it worth writing."""
_WORDS_FACTOR: Final = 0.59
"""Factor for what is found by words alone: it ranks below names that contain the text."""
_MAX_TIED: Final = 12
_MIN_SHARE: Final = 0.5
"""The share of a question that a declaration must have, or the file is searched for a better line."""
_MAX_READ: Final = 6
"""Results whose files are searched for such a line."""


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


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What a search reads. `read` returns the text of a file; `favour` has the effect of ratings, by file or name (see
    `knowledge.ratings`); `meaning` returns the files nearest to a text by vectors. Without a store, calls and uses do
    not count."""

    index: SearchIndex
    view: IndexView
    store: Store | None = None
    read: Callable[[str], str] | None = None
    favour: Mapping[str, float] = field(default_factory=dict[str, float])
    meaning: Callable[[str], Mapping[int, Near]] | None = None


def search(sources: SearchContext, request: SearchRequest) -> Hits:
    """The results for a text, best first. Raises `UsageError` for an unknown kind or an empty text."""
    if request.kind and request.kind not in KINDS:
        raise UsageError(f"There is no kind {request.kind!r}. Use one of {', '.join(KINDS)}.")
    if not request.text.strip():
        raise UsageError("The search text is empty. Give a name, a part of one, or words.")
    by_name = _by_name(sources, request)
    by_words, near = _by_words(sources, request)
    found = [*by_name, *_texts(sources, request), *by_words]
    found = _without_duplicates(found) if _is_for_symbols(request) else _one_per_file(found)
    found = [_with_rating(hit, sources.favour) for hit in found]
    found.sort(key=lambda hit: (-hit.score, len(hit.name), hit.name, hit.file, hit.line))
    similar = [hit.name for hit in by_name if hit.score < NAMED] if by_name and by_name[0].score < NAMED else []
    hits = _with_snippets(sources, request, found[: request.limit], near)
    return Hits(hits, max(0, len(found) - request.limit), tuple(dict.fromkeys(similar))[:_MAX_INNER])


def _by_name(sources: SearchContext, request: SearchRequest) -> list[Hit]:
    """Packages, files and declarations that have the text as their name, or a similar one."""
    if not is_name(request.text) or request.kind in ("note", "doc", "summary"):
        return []
    found = [*_packages_and_files(sources, request)]
    if request.kind not in ("file", "package"):
        is_wanted = _kind_filter(request)
        hits = name_hits(sources.index, sources.view.files, request.text, lambda row: _is_allowed(request, row))
        hits = _most_used_first([hit for hit in hits if is_wanted(hit.symbol.kind)], sources.store)
        found += [_symbol_hit(hit.file, hit.symbol, hit.score, {"name": hit.score}, request) for hit in hits]
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
            if text is not None and _is_allowed_text(request, row):
                yield Hit("package", row.name, row.file, 0, round(score, 3), about(text.title, text.text))
    if request.kind in ("", "file"):
        files = sources.view.files
        candidates = files if request.kind == "file" else sources.view.called.get(wanted.rpartition("/")[2], ())
        for file in (files[id] for id in candidates if id in files):
            path = file.path.lower()
            stem = path.rpartition("/")[2].removesuffix(".go")
            if wanted not in path or not _is_allowed(request, file):
                continue
            if path == wanted or path.endswith(f"/{wanted}"):
                score = 0.96
            elif stem == wanted:
                score = 0.87
            elif request.kind == "file":
                score = (0.7 if stem.startswith(wanted) else 0.6) + 0.05 * len(wanted) / len(path)
            else:
                continue
            score = round(score - 0.05 * bool(file.flags & TEST), 3)
            yield Hit("file", file.path, file.path, 1, score, _file_snippet(file))


def _by_words(sources: SearchContext, request: SearchRequest) -> tuple[list[Hit], Mapping[int, Near]]:
    """Files, or declarations in them, by their words and the subjects of their commits and, if these leave doubt, by
    vectors. Also returns the files that are near by vectors."""
    if request.kind in TEXT_KINDS:
        return [], {}
    view, question = sources.view, question_of(request.text)
    signals = signals_of(sources.index, view, question)
    totals = weighted_sums(signals)
    if len(view.files) < len(view.numbers):  # the view leaves out files that differ from the graph
        totals = {file: value for file, value in totals.items() if file in view.files}
    totals = with_neighbours(totals, signals, view, sources.store)
    uncertain = doubt(totals)
    near = sources.meaning(request.text) if sources.meaning is not None and uncertain else dict[int, Near]()
    signals["meaning"] = {file: uncertain * one.value for file, one in near.items() if file in view.files}
    totals = raised(totals, "meaning", signals["meaning"])
    most = _MAX_EXAMINED if _is_for_symbols(request) else request.limit + _MAX_EXAMINED
    ranked = best_of(
        totals, most, lambda file: view.files[file].path, lambda file: _is_allowed(request, view.files[file])
    )
    found: list[Hit] = []
    wanted = terms_to_show(_rarities(sources, question)) if _is_for_symbols(request) else None
    for file in ranked:
        row, score = view.files[file], round(_WORDS_FACTOR * totals[file], 4)
        parts = _score_parts(signals, file) if request.explain else {}
        if wanted is None:
            found.append(Hit("file", row.path, row.path, 1, score, "", (), parts))
            continue
        symbols = sources.index.symbols(file)
        for symbol, share in [
            *matching_symbols(symbols, wanted, _kind_filter(request)),
            *_nearest_symbol(symbols, near.get(file), request),
        ]:
            symbol_parts = {**parts, "fits": round(share, 3)}
            found.append(_symbol_hit(row, symbol, score * (0.5 + 0.5 * share), symbol_parts, request))
    return found, near


def _nearest_symbol(
    symbols: Sequence[IndexedSymbol], near: Near | None, request: SearchRequest
) -> list[tuple[IndexedSymbol, float]]:
    """The declaration of a file that is nearest to the question by vectors, unless the file's own text is nearer."""
    if near is None or near.text == 0:
        return []
    symbol = embedded_symbols(symbols)[near.text - 1]
    return [(symbol, near.value)] if _kind_filter(request)(symbol.kind) else []


def _with_snippets(
    sources: SearchContext, request: SearchRequest, hits: list[Hit], near: Mapping[int, Near]
) -> tuple[Hit, ...]:
    """The hits; files that were found by words or vectors get a snippet and the declarations that fit."""
    wanted = terms_to_show(_rarities(sources, question_of(request.text)))
    shown: list[Hit] = []
    for position, hit in enumerate(hits):
        if hit.kind != "file" or hit.snippet:
            shown.append(hit)
            continue
        row = sources.view.files[sources.view.numbers[hit.file]]
        symbols = sources.index.symbols(row.id)
        fits = [
            *matching_symbols(symbols, wanted, _kind_filter(request)),
            *_nearest_symbol(symbols, near.get(row.id), request),
        ]
        fits.sort(key=lambda item: -item[1])
        inside = tuple(dict.fromkeys(_inner_hit(row, symbol) for symbol, _ in fits))[:_MAX_INNER]
        share = fits[0][1] if fits else 0.0
        line, snippet = (inside[0].line, inside[0].snippet) if inside else (1, _file_snippet(row))
        if share < _MIN_SHARE and position < _MAX_READ and sources.read is not None:
            best = best_line(sources.read(hit.file), wanted)
            if best is not None and best.share > share:
                line, snippet = best.number, best.text
        known = {(one.name, one.line) for one in inside}
        more = (*inside, *(one for one in hit.symbols if (one.name, one.line) not in known))
        shown.append(replace(hit, line=line, snippet=snippet, symbols=more[:_MAX_INNER]))
    return tuple(shown)


def _texts(sources: SearchContext, request: SearchRequest) -> list[Hit]:
    """Packages, notes, documents and summaries that contain most of the question."""
    if request.kind and request.kind not in TEXT_KINDS:
        return []
    question = question_of(request.text)
    rows = sources.view.texts
    total, share = 0.0, dict[int, float]()
    for term in question.terms:
        documents, _ = sources.index.postings(TEXTS, term)
        weight = rarity(len(documents), max(len(rows), 1))
        total += weight
        for id in documents:
            share[id] = share.get(id, 0.0) + weight
    answering = answers(sources.index, request.text, question, {id for id, row in rows.items() if row.flags & LASTING})
    found: list[tuple[Hit, int]] = []
    for id, value in share.items():
        row = rows[id]
        part = value / total if total else 0.0
        least = 0.0 if id in answering else 0.3 if request.kind else _MIN_COVER[row.kind]
        if part < least or (request.kind and row.kind != request.kind) or not _is_allowed_text(request, row):
            continue
        score = _WORDS_FACTOR * min(1.0, part * (0.9 + 1 / (10 + row.length)) + _BONUS[row.kind] - 0.1)
        if id in answering:  # a note about this very question, whatever words the code uses
            score = _WORDS_FACTOR + 0.009 * answering[id]
        signals = {"cover": round(part, 3)} if request.explain else {}
        found.append((Hit(row.kind, row.name, row.file, 0, round(score, 6), "", (), signals), id))
    found.sort(key=lambda item: (-item[0].score, item[0].kind, item[0].name))
    best = found if request.kind else found[: max(_MAX_TEXTS, min(len(answering), _MAX_ANSWERS))]
    return [_with_text(hit, sources.index, id) for hit, id in best]


def _with_text(hit: Hit, index: SearchIndex, id: int) -> Hit:
    text = index.text(id)
    return hit if text is None else replace(hit, line=text.line, snippet=about(text.title, text.text))


def _one_per_file(found: Iterable[Hit]) -> list[Hit]:
    """The best hit of each file, with the other hits in that file inside it; and of each text, the best hit."""
    by_file: dict[str, Hit] = {}
    texts: dict[tuple[str, str], Hit] = {}
    for hit in sorted(found, key=lambda hit: -hit.score):
        if hit.kind in TEXT_KINDS:
            texts.setdefault((hit.kind, hit.name), hit)
            continue
        first = by_file.get(hit.file)
        if first is None:
            by_file[hit.file] = hit
            continue
        added = (
            hit.symbols if hit.kind == "file" else (InnerHit(hit.kind, hit.name, hit.line, hit.snippet), *hit.symbols)
        )
        known = {(one.name, one.line) for one in first.symbols} | {(first.name, first.line)}
        more = tuple(one for one in added if (one.name, one.line) not in known)
        signals = {**hit.signals, **first.signals} if first.signals else first.signals
        by_file[hit.file] = replace(first, symbols=(*first.symbols, *more)[:_MAX_INNER], signals=signals)
    return [*by_file.values(), *texts.values()]


def _without_duplicates(found: Iterable[Hit]) -> list[Hit]:
    best: dict[tuple[str, str, int], Hit] = {}
    for hit in sorted(found, key=lambda hit: -hit.score):
        best.setdefault((hit.name, hit.file, hit.line), hit)
    return list(best.values())


def _with_rating(hit: Hit, favour: Mapping[str, float]) -> Hit:
    """The hit with its score raised or lowered by ratings."""
    worth = favour.get(hit.name, 0.0) or favour.get(hit.file, 0.0)
    if not worth:
        return hit
    signals = {**hit.signals, "rated": round(worth, 3)} if hit.signals else hit.signals
    return replace(hit, score=round(hit.score * (1 + worth), 4), signals=signals)


def _rarities(sources: SearchContext, question: Question) -> dict[str, float]:
    """Term → weight, for the terms of a question that occur in files."""
    total = len(sources.view.files)
    numbers = {term: len(sources.index.postings(FILES, term).documents) for term in question.terms}
    return {term: rarity(number, total) for term, number in numbers.items() if number}


def _score_parts(signals: Mapping[str, Mapping[int, float]], file: int) -> dict[str, float]:
    """The parts of a file's score, in the order of the weights."""
    return {
        name: round(_WORDS_FACTOR * weight / TOTAL * signals[name][file], 4)
        for name, weight in WEIGHTS.items()
        if signals.get(name, {}).get(file)
    }


def _is_for_symbols(request: SearchRequest) -> bool:
    return request.kind == "symbol" or request.kind in SYMBOL_KINDS


def _kind_filter(request: SearchRequest) -> Callable[[str], bool]:
    return lambda kind: request.kind not in SYMBOL_KINDS or kind == request.kind


def _is_allowed(request: SearchRequest, row: FileRow) -> bool:
    if row.flags & GENERATED and not request.generated:
        return False
    if request.tests is not None and bool(row.flags & TEST) != request.tests:
        return False
    if request.module and row.module != request.module:
        return False
    return not request.path or _matches(request.path, row.path, row.package)


def _is_allowed_text(request: SearchRequest, row: TextRow) -> bool:
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


def _symbol_hit(
    row: FileRow, symbol: IndexedSymbol, score: float, signals: Mapping[str, float], request: SearchRequest
) -> Hit:
    name = symbol.qualified_name(row.package)
    hit = Hit(symbol.kind, name, row.path, symbol.line, round(score, 4), symbol.about)
    return replace(hit, signals=signals) if request.explain else hit


def _inner_hit(row: FileRow, symbol: IndexedSymbol) -> InnerHit:
    return InnerHit(symbol.kind, symbol.qualified_name(row.package), symbol.line, symbol.about)


def _file_snippet(row: FileRow) -> str:
    return f"package {row.package}"
