"""Search: what a text may be looking for, best first. A name leads to what bears it, other words to files.

A file takes one place, with its best declarations inside, unless declarations are asked for. What speaks for a file is
in `signals`, how much that counts in `fusing`, names and slips in `naming`. Packages, notes, documents and summaries
come in where they say most of what was asked. The index must be that of the graph (see `textindex`); nothing is
looked up in the graph here, except who calls what, if the store is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.search.call_proximity import with_neighbours
from golore.graph.search.embedded_texts import told_of
from golore.graph.search.index import FILES, TEXTS, SearchIndex
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, IndexedSymbol, TextRow
from golore.graph.search.index_sources import about
from golore.graph.search.name_match import NAMED, NameHit, is_name, name_hits
from golore.graph.search.note_answers import LASTING, answers
from golore.graph.search.signals import IndexView, Question, question_of, rarity, signals_of
from golore.graph.search.snippets import best_line, fitting, terms_to_show
from golore.graph.search.vectors import Near
from golore.graph.search.weights import TOTAL, WEIGHTS, best_of, doubt, fused, raised

TEXT_KINDS: Final = ("package", "note", "doc", "summary")
KINDS: Final = (*SYMBOL_KINDS, "symbol", "file", *TEXT_KINDS)
LIMIT: Final = 20
_INSIDE: Final = 5
"""Declarations that are named inside a file's place."""
_LOOKED_INTO: Final = 60
"""Files whose declarations are looked at, where declarations are asked for."""
_MOST_TEXTS: Final = 3
_MOST_ANSWERS: Final = 5
_SAYS_MOST: Final = {"package": 0.75, "note": 0.5, "doc": 0.7, "summary": 0.7}
"""The share of a question, by rarity, that a text of a kind must have to be shown beside files."""
_RAISED: Final = {"package": 0.0, "note": 0.35, "doc": 0.1, "summary": 0.1}
"""How far a text of a kind stands before a file that says as much: notes are there because somebody meant it."""
_BY_WORDS: Final = 0.59
"""What is found by words alone stands after names that have the text in them."""
_TIED: Final = 12
_SAYS_ENOUGH: Final = 0.5
"""The share of a question that a declaration must have to be shown instead of a line of the file."""
_READ: Final = 6
"""Places whose files are read for such a line."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is searched for. `path` is a glob on paths or import paths, or a beginning of one; `tests` None: as well."""

    text: str
    kind: str = ""
    limit: int = LIMIT
    path: str = ""
    module: str = ""
    tests: bool | None = None
    generated: bool = False
    explain: bool = False


@dataclass(frozen=True, slots=True)
class InnerHit:
    kind: str
    name: str
    line: int
    snippet: str


@dataclass(frozen=True, slots=True)
class Hit:
    """`name` is the qualified name of a symbol, the import path of a package, the path of a file or the id of a text.

    `symbols` are declarations of the same file that fit as well. `signals` says what the score is made of, if asked.
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
    """The best, how many more were looked at, and names that may have been meant."""

    hits: tuple[Hit, ...]
    left_out: int
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchContext:
    """Where answers come from. `read` gives a file's text, `favour` what was rated, by file or name (see `rating`);
    without a store nobody is asked who calls what."""

    index: SearchIndex
    view: IndexView
    store: Store | None = None
    read: Callable[[str], str] | None = None
    favour: Mapping[str, float] = field(default_factory=dict[str, float])
    meaning: Callable[[str], Mapping[int, Near]] | None = None


def search(sources: SearchContext, request: SearchRequest) -> Hits:
    """What a text may be looking for, best first."""
    if request.kind and request.kind not in KINDS:
        raise UsageError(f"There is no kind {request.kind!r}. Use one of {', '.join(KINDS)}.")
    if not request.text.strip():
        raise UsageError("There is nothing to search for. Give a name, a part of one, or words.")
    named = _named(sources, request)
    worded, near = _by_words(sources, request)
    found = [*named, *_texts(sources, request), *worded]
    found = _each_once(found) if _is_for_symbols(request) else _one_place_each(found)
    found = [_favoured(hit, sources.favour) for hit in found]
    found.sort(key=lambda hit: (-hit.score, len(hit.name), hit.name, hit.file, hit.line))
    slips = [hit.name for hit in named if hit.score < NAMED] if named and named[0].score < NAMED else []
    hits = _shown(sources, request, found[: request.limit], near)
    return Hits(hits, max(0, len(found) - request.limit), tuple(dict.fromkeys(slips))[:_INSIDE])


def _named(sources: SearchContext, request: SearchRequest) -> list[Hit]:
    """What bears the text as its name, or nearly so."""
    if not is_name(request.text) or request.kind in ("note", "doc", "summary"):
        return []
    found = [*_named_places(sources, request)]
    if request.kind not in ("file", "package"):
        is_wanted = _is_wanted(request)
        hits = name_hits(sources.index, sources.view.files, request.text, lambda row: _is_allowed(request, row))
        hits = _by_use([hit for hit in hits if is_wanted(hit.symbol.kind)], sources.store)
        found += [_symbol_hit(hit.file, hit.symbol, hit.score, {"name": hit.score}, request) for hit in hits]
    return found


def _by_use(hits: list[NameHit], store: Store | None) -> list[NameHit]:
    """Of the best that are called alike, those first that are used most."""
    tied = [hit for hit in hits if hit.score == hits[0].score]
    if store is None or not 1 < len(tied) <= _TIED:
        return hits
    statement = "MATCH (b:Symbol {id: $id})<-[e:CALLS|REFERENCES]-(a:Symbol) RETURN count(*)"
    uses = {hit.id: next(iter(store.rows(statement, {"id": hit.id})))[0] for hit in tied}
    most = max(uses.values()) or 1
    raised = [hit._replace(score=round(hit.score + 0.004 * uses[hit.id] / most, 4)) for hit in tied]
    return [*sorted(raised, key=lambda hit: -hit.score), *hits[len(tied) :]]


def _named_places(sources: SearchContext, request: SearchRequest) -> Iterable[Hit]:
    """Packages and files that are called so. They stand after declarations of the name: those say more."""
    wanted = request.text.strip().strip("/").lower()
    if request.kind in ("", "package"):
        for row in sources.view.texts.values():
            whole = row.name.lower()
            if row.kind != "package" or not (whole == wanted or whole.endswith(f"/{wanted}")):
                continue
            text = sources.index.text(row.id)
            score = (0.97 if whole == wanted else 0.9) - 0.05 * bool(row.flags & TEST)
            if text is not None and _is_allowed_text(request, row):
                yield Hit("package", row.name, row.file, 0, round(score, 3), about(text.title, text.text))
    if request.kind in ("", "file"):
        files = sources.view.files
        called = files if request.kind == "file" else sources.view.called.get(wanted.rpartition("/")[2], ())
        for file in (files[id] for id in called if id in files):
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
            yield Hit("file", file.path, file.path, 1, score, _of_file(file))


def _by_words(sources: SearchContext, request: SearchRequest) -> tuple[list[Hit], Mapping[int, Near]]:
    """Files, or declarations in them, by what they say and what was said of them; and, where that leaves doubt, by what
    they mean."""
    if request.kind in TEXT_KINDS:
        return [], {}
    view, question = sources.view, question_of(request.text)
    signals = signals_of(sources.index, view, question)
    totals = fused(signals)
    if len(view.files) < len(view.numbers):  # some are not to be found, as they are not in the graph
        totals = {file: value for file, value in totals.items() if file in view.files}
    totals = with_neighbours(totals, signals, view, sources.store)
    uncertain = doubt(totals)
    near = sources.meaning(request.text) if sources.meaning is not None and uncertain else dict[int, Near]()
    signals["meaning"] = {file: uncertain * one.value for file, one in near.items() if file in view.files}
    totals = raised(totals, "meaning", signals["meaning"])
    most = _LOOKED_INTO if _is_for_symbols(request) else request.limit + _LOOKED_INTO
    ranked = best_of(
        totals, most, lambda file: view.files[file].path, lambda file: _is_allowed(request, view.files[file])
    )
    found: list[Hit] = []
    wanted = terms_to_show(_rarities(sources, question)) if _is_for_symbols(request) else None
    for file in ranked:
        row, score = view.files[file], round(_BY_WORDS * totals[file], 4)
        parts = _parts(signals, file) if request.explain else {}
        if wanted is None:
            found.append(Hit("file", row.path, row.path, 1, score, "", (), parts))
            continue
        symbols = sources.index.symbols(file)
        for symbol, share in [
            *fitting(symbols, wanted, _is_wanted(request)),
            *_meant(symbols, near.get(file), request),
        ]:
            signals_of_it = {**parts, "fits": round(share, 3)}
            found.append(_symbol_hit(row, symbol, score * (0.5 + 0.5 * share), signals_of_it, request))
    return found, near


def _meant(
    symbols: Sequence[IndexedSymbol], near: Near | None, request: SearchRequest
) -> list[tuple[IndexedSymbol, float]]:
    """The declaration of a file that comes nearest to what was asked, if that is nearer than the file as a whole."""
    if near is None or near.text == 0:
        return []
    symbol = told_of(symbols)[near.text - 1]
    return [(symbol, near.value)] if _is_wanted(request)(symbol.kind) else []


def _shown(
    sources: SearchContext, request: SearchRequest, hits: list[Hit], near: Mapping[int, Near]
) -> tuple[Hit, ...]:
    """The hits, with what in the files that were found by words or meaning says why."""
    wanted = terms_to_show(_rarities(sources, question_of(request.text)))
    shown: list[Hit] = []
    for place, hit in enumerate(hits):
        if hit.kind != "file" or hit.snippet:
            shown.append(hit)
            continue
        row = sources.view.files[sources.view.numbers[hit.file]]
        symbols = sources.index.symbols(row.id)
        fits = [*fitting(symbols, wanted, _is_wanted(request)), *_meant(symbols, near.get(row.id), request)]
        fits.sort(key=lambda item: -item[1])
        inside = tuple(dict.fromkeys(_inside(row, symbol) for symbol, _ in fits))[:_INSIDE]
        share = fits[0][1] if fits else 0.0
        line, snippet = (inside[0].line, inside[0].snippet) if inside else (1, _of_file(row))
        if share < _SAYS_ENOUGH and place < _READ and sources.read is not None:
            best = best_line(sources.read(hit.file), wanted)
            if best is not None and best.share > share:
                line, snippet = best.number, best.text
        known = {(one.name, one.line) for one in inside}
        more = (*inside, *(one for one in hit.symbols if (one.name, one.line) not in known))
        shown.append(replace(hit, line=line, snippet=snippet, symbols=more[:_INSIDE]))
    return tuple(shown)


def _texts(sources: SearchContext, request: SearchRequest) -> list[Hit]:
    """Packages, notes, documents and summaries that say most of what was asked."""
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
        least = 0.0 if id in answering else 0.3 if request.kind else _SAYS_MOST[row.kind]
        if part < least or (request.kind and row.kind != request.kind) or not _is_allowed_text(request, row):
            continue
        score = _BY_WORDS * min(1.0, part * (0.9 + 1 / (10 + row.length)) + _RAISED[row.kind] - 0.1)
        if id in answering:  # somebody has thought about the very question, whatever the code's words are
            score = _BY_WORDS + 0.009 * answering[id]
        signals = {"cover": round(part, 3)} if request.explain else {}
        found.append((Hit(row.kind, row.name, row.file, 0, round(score, 6), "", (), signals), id))
    found.sort(key=lambda item: (-item[0].score, item[0].kind, item[0].name))
    kept = found if request.kind else found[: max(_MOST_TEXTS, min(len(answering), _MOST_ANSWERS))]
    return [_with_text(hit, sources.index, id) for hit, id in kept]


def _with_text(hit: Hit, index: SearchIndex, id: int) -> Hit:
    text = index.text(id)
    return hit if text is None else replace(hit, line=text.line, snippet=about(text.title, text.text))


def _one_place_each(found: Iterable[Hit]) -> list[Hit]:
    """One hit for each file, the best; what else was found in it stands inside. Other kinds stay as they are."""
    places: dict[str, Hit] = {}
    others: dict[tuple[str, str], Hit] = {}
    for hit in sorted(found, key=lambda hit: -hit.score):
        if hit.kind in TEXT_KINDS:
            others.setdefault((hit.kind, hit.name), hit)
            continue
        first = places.get(hit.file)
        if first is None:
            places[hit.file] = hit
            continue
        added = (
            hit.symbols if hit.kind == "file" else (InnerHit(hit.kind, hit.name, hit.line, hit.snippet), *hit.symbols)
        )
        known = {(one.name, one.line) for one in first.symbols} | {(first.name, first.line)}
        more = tuple(one for one in added if (one.name, one.line) not in known)
        signals = {**hit.signals, **first.signals} if first.signals else first.signals
        places[hit.file] = replace(first, symbols=(*first.symbols, *more)[:_INSIDE], signals=signals)
    return [*places.values(), *others.values()]


def _each_once(found: Iterable[Hit]) -> list[Hit]:
    kept: dict[tuple[str, str, int], Hit] = {}
    for hit in sorted(found, key=lambda hit: -hit.score):
        kept.setdefault((hit.name, hit.file, hit.line), hit)
    return list(kept.values())


def _favoured(hit: Hit, favour: Mapping[str, float]) -> Hit:
    """What was rated useful or not stands a little higher or lower."""
    worth = favour.get(hit.name, 0.0) or favour.get(hit.file, 0.0)
    if not worth:
        return hit
    signals = {**hit.signals, "rated": round(worth, 3)} if hit.signals else hit.signals
    return replace(hit, score=round(hit.score * (1 + worth), 4), signals=signals)


def _rarities(sources: SearchContext, question: Question) -> dict[str, float]:
    """How much each term of a question says, those that occur nowhere left out."""
    total = len(sources.view.files)
    numbers = {term: len(sources.index.postings(FILES, term).documents) for term in question.terms}
    return {term: rarity(number, total) for term, number in numbers.items() if number}


def _parts(signals: Mapping[str, Mapping[int, float]], file: int) -> dict[str, float]:
    """What a file's score is made of, in the order of the weights."""
    return {
        name: round(_BY_WORDS * weight / TOTAL * signals[name][file], 4)
        for name, weight in WEIGHTS.items()
        if signals.get(name, {}).get(file)
    }


def _is_for_symbols(request: SearchRequest) -> bool:
    return request.kind == "symbol" or request.kind in SYMBOL_KINDS


def _is_wanted(request: SearchRequest) -> Callable[[str], bool]:
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
    """Whether a path or an import path is below what was given, or fits it as a glob."""
    place = glob.strip("/")
    return any(
        f"{text}/".startswith(f"{place}/") or fnmatchcase(text, glob) or fnmatchcase(text, f"{place}/*")
        for text in (path, package)
    )


def _symbol_hit(
    row: FileRow, symbol: IndexedSymbol, score: float, signals: Mapping[str, float], request: SearchRequest
) -> Hit:
    name = symbol.qualified_name(row.package)
    hit = Hit(symbol.kind, name, row.path, symbol.line, round(score, 4), symbol.about)
    return replace(hit, signals=signals) if request.explain else hit


def _inside(row: FileRow, symbol: IndexedSymbol) -> InnerHit:
    return InnerHit(symbol.kind, symbol.qualified_name(row.package), symbol.line, symbol.about)


def _of_file(row: FileRow) -> str:
    return f"package {row.package}"
