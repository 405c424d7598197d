"""`golore context`: the card of a file, a package, the repository or a symbol, and the files that belong to it.

The cards are made by a learn and only looked up here; another length than the usual one is made from the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.cards.card_builder import card_text, declaration_text
from golore.graph.cards.card_store import Card, CardStore, open_card_store
from golore.graph.database.store import Store
from golore.graph.errors import StoreMissing, UsageError
from golore.learner.checkout.discovery import digest
from golore.learner.checkout.freshness import changes_since
from golore.mcp_server.services.open_store import OpenRepository, open_repository
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.targets import Target, find_target
from golore.mcp_server.text.output import print_json, print_lines

_SHOWN: Final = 10


class ContextAnswer(NamedTuple):
    """`stale`: a file that this is about has changed since it was learned; None where that cannot be told."""

    path: str
    kind: str
    text: str
    related: tuple[tuple[str, str], ...]
    stale: bool | None


def run_context(text: str, start: Path, *, as_json: bool, budget: int | None) -> int:
    named = Path(text)
    # An absolute path may lie in another repository than the one here.
    here = named if named.is_absolute() and named.exists() else start
    with open_repository(here) as opened, closing(_card_store_of(opened.repository)) as card_store:
        context = _context(opened, card_store, find_target(opened, text), text, budget)
    if as_json:
        print_json(_document(context))
    else:
        print_lines(_lines(context))
    return 0


def _card_store_of(repository: LearnedRepository) -> CardStore:
    card_store = open_card_store(repository.store, write=False)
    if card_store is None:
        raise StoreMissing(f"There are no cards in {repository.store}. Run `golore learn` to make them.")
    return card_store


def _context(
    opened: OpenRepository, card_store: CardStore, target: Target, text: str, budget: int | None
) -> ContextAnswer:
    path = target.card_path
    card = card_store.card(path, silent=True) or Card(path, "", "")
    if target.level == "symbol":
        return _symbol_context(opened, card_store, target, card, text)
    if target.level == "file":
        shown = card.text if budget is None else card_text(opened.store, card_store, path, budget)
        return ContextAnswer(path, "file", shown, card.related, _is_stale(opened.repository, card))
    shown = card.text if budget is None else _cut(card.text, budget)
    stale = _is_changed(opened.repository, opened.store, path)
    return ContextAnswer(path, target.level, shown, card.related, stale)


def _symbol_context(
    opened: OpenRepository, card_store: CardStore, target: Target, card: Card, text: str
) -> ContextAnswer:
    symbols = target.symbols
    if not symbols:
        raise UsageError(f"{text} is declared outside the repository. `golore users {text}` lists who uses it.")
    lines = [declaration_text(opened.store, card_store, symbol.file, symbol.qualified_name) for symbol in symbols]
    with AnnotationReader(opened.repository.store) as annotation_reader:
        lines += [f"- {line}" for line in annotation_reader.of_nodes(symbol.id for symbol in symbols)]
        documents = annotation_reader.documents_of(symbol.id for symbol in symbols)
        lines += ["Documents:", *(f"- {line}" for line in documents)] if documents else []
    stale = _is_stale(opened.repository, card)
    return ContextAnswer(symbols[0].file, "symbol", "\n".join(filter(None, lines)), card.related, stale)


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
    yield context.text or "There is nothing to add to its own text."
    if context.related:
        yield "Related:"
        yield from (f"- {file}: {why}" for file, why in context.related[:_SHOWN])
        if len(context.related) > _SHOWN:
            yield f"- {len(context.related) - _SHOWN} more with --json"
