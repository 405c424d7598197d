"""`golore context`: the card of a file, a package, the repository or a symbol, and the files that belong to it.

The cards are made by a learn and only looked up here; another length than the usual one is made from the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.cards.card_builder import card_text, declaration_text
from golore.graph.cards.card_store import Card, CardStore, open_card_store
from golore.graph.database.store import Store
from golore.graph.errors import StoreMissing, UsageError
from golore.graph.queries.name_resolver import Names
from golore.learner.checkout.discovery import digest
from golore.learner.checkout.freshness import changes_since
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.text import answer_text
from golore.mcp_server.text.output import print_json, print_lines

_NEAR: Final = 5
_SHOWN: Final = 10
_WHOLE: Final = frozenset(("", ".", "./", "/"))


class ContextAnswer(NamedTuple):
    """`stale`: a file that this is about has changed since it was learned; None where that cannot be told."""

    path: str
    kind: str
    text: str
    related: tuple[tuple[str, str], ...]
    stale: bool | None


def run_context(target: str, start: Path, *, as_json: bool, budget: int | None) -> int:
    repository = _repository_of(target, start)
    with open_current_store(repository) as store, closing(_deck_of(repository)) as card_store:
        context = _context(repository, store, card_store, target, start, budget)
    if isinstance(context, list):
        print("\n".join(context), file=sys.stderr)
        return 1
    if as_json:
        print_json(_document(context))
    else:
        print_lines(_lines(context))
    return 0


def _repository_of(target: str, start: Path) -> LearnedRepository:
    """The repository that is meant: a whole path names its own."""
    named = Path(target)
    return find_repository(named if named.is_absolute() and named.exists() else start)


def _deck_of(repository: LearnedRepository) -> CardStore:
    card_store = open_card_store(repository.store, write=False)
    if card_store is None:
        raise StoreMissing(f"There are no cards in {repository.store}. Run `golore learn` to have them made.")
    return card_store


def _context(
    repository: LearnedRepository, store: Store, card_store: CardStore, target: str, start: Path, budget: int | None
) -> ContextAnswer | list[str]:
    """What is known of the target; or why that is not one thing."""
    for path in _as_paths(repository, target, start):
        card = card_store.card(path, silent=True)
        if card is not None and path.endswith(".go"):
            text = card.text if budget is None else card_text(store, card_store, path, budget)
            return ContextAnswer(path, "file", text, card.related, _is_stale(repository, card))
        if card is not None:
            kind = "package" if path else "repository"
            text = card.text if budget is None else _cut(card.text, budget)
            return ContextAnswer(path, kind, text, card.related, _is_changed(repository, store, path))
    if target.endswith(".go"):
        raise UsageError(_no_file(card_store, target))
    return _symbol_context(repository, store, card_store, target)


def _as_paths(repository: LearnedRepository, target: str, start: Path) -> Iterator[str]:
    """The names that the deck may have for what was asked for: below where we are, below the root, by import path."""
    if target in _WHOLE and start.resolve() == repository.root.resolve():
        yield ""
    root = repository.root.resolve()
    for base in dict.fromkeys((Path.cwd(), start.resolve(), root)):
        path = (base / target).resolve()
        if path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            yield relative if target.endswith(".go") else "./" if relative == "." else f"{relative}/"


def _symbol_context(
    repository: LearnedRepository, store: Store, card_store: CardStore, target: str
) -> ContextAnswer | list[str]:
    rows = list(store.rows("MATCH (p:Package) WHERE p.path = $path AND NOT p.test RETURN p.dir", {"path": target}))
    if rows:
        path = f"{rows[0][0] or '.'}/"
        card = card_store.card(path, silent=True) or Card(path, "", "")
        return ContextAnswer(path, "package", card.text, card.related, _is_changed(repository, store, path))
    found = Names(store).find(target)
    if len(found.meanings) != 1:
        return list(answer_text.not_one_lines(found))
    symbols = [symbol for symbol in found.meanings[0].symbols if not symbol.external]
    if not symbols:
        raise UsageError(f"{target} lies outside the repository. `golore users {target}` tells who uses it.")
    texts = [declaration_text(store, card_store, symbol.file, symbol.qualified_name) for symbol in symbols]
    with AnnotationReader(repository.store) as annotation_reader:
        texts += [f"- {line}" for line in annotation_reader.of_nodes(symbol.id for symbol in symbols)]
        documents = annotation_reader.documents_of(symbol.id for symbol in symbols)
        texts += ["Documents:", *(f"- {line}" for line in documents)] if documents else []
    card = card_store.card(symbols[0].file, silent=True)
    related = card.related if card is not None else ()
    stale = _is_stale(repository, card) if card is not None else None
    return ContextAnswer(symbols[0].file, "symbol", "\n".join(text for text in texts if text), related, stale)


def _no_file(card_store: CardStore, target: str) -> str:
    name = target.rpartition("/")[2]
    near = [path for path in card_store.paths() if path == name or path.endswith(f"/{name}")]
    if near:
        near.sort(key=lambda path: (path.count("/"), path))
        return f"{target} is not in the graph. Did you mean {' or '.join(near[:_NEAR])}?"
    return f"{target} is not in the graph. Give a Go file's path from the root; run `golore learn` if it is new."


def _is_stale(repository: LearnedRepository, card: Card) -> bool:
    if not card.digest:  # a file that is not learned, as those in testdata: only the history knows it
        return False
    try:
        return digest((repository.root / card.path).read_bytes()) != card.digest
    except OSError:
        return True


def _is_changed(repository: LearnedRepository, store: Store, path: str) -> bool | None:
    changes = changes_since(repository.root, store)
    if changes is None:
        return None
    prefix = "" if path in ("", "./") else path
    deeper = path == ""
    return any(
        one.startswith(prefix) and one.endswith(".go") and (deeper or "/" not in one[len(prefix) :])
        for one in changes.paths
    )


def _cut(text: str, budget: int) -> str:
    if len(text) <= budget:
        return text
    kept = text[:budget].rpartition("\n")[0]
    left = len(text[len(kept) :].strip().splitlines())
    return f"{kept}\n… {left} lines left out"


def _document(context: ContextAnswer) -> dict[str, Any]:
    return {
        "path": context.path,
        "kind": context.kind,
        "text": context.text,
        "related": [{"file": file, "why": why} for file, why in context.related],
        "stale": context.stale,
    }


def _lines(context: ContextAnswer) -> Iterator[str]:
    yield context.path or "the repository"
    if context.stale:
        yield "It has changed since it was learned; lines may have moved. `golore learn` brings this up to date."
    yield context.text or "There is nothing to tell beyond what its own text says."
    if context.related:
        yield "Related:"
        yield from (f"- {file}: {why}" for file, why in context.related[:_SHOWN])
        if len(context.related) > _SHOWN:
            yield f"- {len(context.related) - _SHOWN} more with --json"
