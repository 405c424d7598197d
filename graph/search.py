"""Search by words: names of symbols, packages and files first, then the words of doc comments.

A name that is exactly the text goes before one that begins with it, that before one that has it somewhere, and all of
them before texts that mention it. Words are compared as they are written, in any capitals: no stems, no synonyms, no
meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from golore.graph.errors import UsageError
from golore.graph.model import SYMBOL_KINDS
from golore.graph.names import Names, plain_name
from golore.graph.store import Store

KINDS: Final = (*SYMBOL_KINDS, "package", "file")
LIMIT: Final = 20
_MOST: Final = 5_000
"""Symbols that are looked at more closely; a text that is in more names than this should be longer."""
_READ: Final = 400
"""Of these, so many are read from the graph, the closest by name, where the kind does not matter."""
_SNIPPET: Final = 160
_EXACT, _SAME, _ENDING, _BEGINNING, _HOLDING, _WORDS, _DOC = 1.0, 0.95, 0.9, 0.8, 0.6, 0.5, 0.3
_NAMED: Final = 0.85
"""From here on something bears the very name, and texts that mention it are not looked for."""
_COLUMNS: Final = "s.id, s.kind, s.name, s.qualified_name, s.file, s.line, s.signature, s.doc"


@dataclass(frozen=True, slots=True)
class Hit:
    """`name` is the qualified name of a symbol, the import path of a package, or the path of a file."""

    kind: str
    name: str
    file: str
    line: int
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Hits:
    """The best, and how many more were found; that number is a lower bound where a search stopped early."""

    hits: tuple[Hit, ...]
    left_out: int


def search(store: Store, names: Names, text: str, *, kind: str = "", limit: int = LIMIT) -> Hits:
    """What a text may be looking for, best first."""
    if kind and kind not in KINDS:
        raise UsageError(f"There is no kind {kind!r}. Use one of {', '.join(KINDS)}.")
    spoken = plain_name(text) if len(text.split()) == 1 else " ".join(text.split())
    if not spoken:
        raise UsageError("There is nothing to search for. Give a name, a part of one, or words.")
    found: dict[tuple[str, str, str], Hit] = {}
    ids = [] if kind in ("package", "file") else _candidates(names, spoken)
    read = ids if kind else _closest(ids, spoken)
    for hit in _all_hits(store, read, spoken, kind):
        key = (hit.kind, hit.name, hit.file)
        if key not in found or found[key].score < hit.score:
            found[key] = hit
    is_named = any(hit.score >= _NAMED for hit in found.values())
    if len(found) < limit and not is_named and kind not in ("package", "file"):
        for hit in _mentioning(store, _words(spoken)):
            if not kind or hit.kind == kind:
                found.setdefault((hit.kind, hit.name, hit.file), hit)
    ordered = sorted(found.values(), key=lambda hit: (-hit.score, len(hit.name), hit.name, hit.file))
    return Hits(tuple(ordered[:limit]), max(0, len(ordered) - limit) + len(ids) - len(read))


def _candidates(names: Names, spoken: str) -> list[str]:
    """Ids of symbols that have the text in their names, or all of its words."""
    listed, words = names.load(), _words(spoken)
    if len(words) > 1 or {".", "/"} & set(spoken):
        return listed.holding_all(words, _MOST)
    return list(dict.fromkeys([*listed.ids(spoken, fold=False), *listed.holding(spoken, _MOST)]))


def _closest(ids: list[str], spoken: str) -> list[str]:
    """Those whose last names come closest, as far as that can be told from an id."""
    wanted = spoken.lower()

    def distance(id: str) -> tuple[bool, bool, bool, int, str]:
        name = id.rpartition(".")[2].lower()
        return (name != wanted, not id.lower().endswith(wanted), not name.startswith(wanted), len(name), id)

    return sorted(ids, key=distance)[:_READ]


def _all_hits(store: Store, ids: list[str], spoken: str, kind: str) -> Iterator[Hit]:
    words = _words(spoken)
    if kind in ("", "package"):
        yield from _packages(store, spoken, words)
    if kind in ("", "file"):
        yield from _files(store, spoken, words)
    for row in _rows(store, ids):
        if not kind or row[1] == kind:
            yield _symbol_hit(row, spoken)


def _rows(store: Store, ids: list[str]) -> Iterator[list[Any]]:
    if ids:
        yield from store.rows(f"UNWIND $ids AS i MATCH (s:Symbol {{id: i}}) RETURN {_COLUMNS}", {"ids": ids})


def _symbol_hit(row: list[Any], spoken: str, base: float = 0.0) -> Hit:
    _, kind, name, qualified, file, line, signature, doc = row
    score = base or _closeness(spoken, name, qualified)
    # Of names that fit alike, fields and tests are the ones that are least often meant.
    score -= 0.05 * (kind == "field") + 0.05 * file.endswith("_test.go")
    return Hit(kind, qualified, file, line, round(score, 3), _snippet(signature, doc))


def _closeness(spoken: str, name: str, qualified: str) -> float:
    wanted, folded, whole = spoken.lower(), name.lower(), qualified.lower()
    if name == spoken or qualified == spoken:
        return _EXACT
    if folded == wanted or whole == wanted:
        return _SAME
    if whole.endswith((f".{wanted}", f"/{wanted}")):
        return _ENDING
    if folded.startswith(wanted):
        return _BEGINNING + 0.05 * len(wanted) / len(folded)
    if wanted in folded:
        return _HOLDING + 0.05 * len(wanted) / len(folded)
    in_name = sum(word.lower() in folded for word in _words(spoken))
    return _WORDS + 0.05 * in_name / max(1, len(_words(spoken)))


def _packages(store: Store, spoken: str, words: list[str]) -> Iterator[Hit]:
    condition = " AND ".join(f"lower(p.path) CONTAINS $w{at}" for at in range(len(words)))
    statement = f"MATCH (p:Package) WHERE {condition} RETURN p.path, p.name, p.dir, p.doc, p.test ORDER BY p.id"
    for path, name, directory, doc, test in store.rows(statement, _numbered(words)):
        score = _closeness(spoken, name, path) - 0.05 * test
        yield Hit("package", path, f"{directory or '.'}/", 0, round(score, 3), _snippet(f"package {name}", doc))


def _files(store: Store, spoken: str, words: list[str]) -> Iterator[Hit]:
    condition = " AND ".join(f"lower(f.path) CONTAINS $w{at}" for at in range(len(words)))
    statement = (
        f"MATCH (f:File) WHERE {condition} RETURN f.path, f.package, f.lines, f.test ORDER BY f.path LIMIT {_MOST}"
    )
    for path, package, lines, test in store.rows(statement, _numbered(words)):
        name = path.rpartition("/")[2].removesuffix(".go")
        # A file stands after the symbols that are named alike: those say more.
        score = _closeness(spoken, name, path) - 0.03 - 0.05 * test
        yield Hit("file", path, path, 1, round(score, 3), f"{lines:,} lines, package {package}")


def _mentioning(store: Store, words: list[str]) -> Iterator[Hit]:
    """Symbols whose documentation has all the words; looks at every one."""
    condition = " AND ".join(f"lower(s.doc) CONTAINS $w{at}" for at in range(len(words)))
    statement = (
        f"MATCH (s:Symbol) WHERE {condition} RETURN {_COLUMNS} ORDER BY s.exported DESC, size(s.doc), s.id LIMIT 200"
    )
    for row in store.rows(statement, _numbered(words)):
        yield _symbol_hit(row, "", _DOC)


def _words(spoken: str) -> list[str]:
    """The words that count: short ones only where there are no others."""
    words = spoken.split()
    return [word for word in words if len(word) > 2] or words


def _numbered(words: list[str]) -> dict[str, str]:
    return {f"w{at}": word.lower() for at, word in enumerate(words)}


def _snippet(first: str, doc: str) -> str:
    told = " ".join(doc.split())
    text = f"{first} — {told}" if told and first else first or told
    return text if len(text) <= _SNIPPET else f"{text[: _SNIPPET - 1]}…"
