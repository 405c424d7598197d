"""The context of a file, a package, the repository or a symbol: its card and the related files.

A learn makes the cards; here they are only read. With a budget, the card of a file is built from the graph, and other
texts are cut. What builds texts is imported when it is needed, which is rare and takes as long as a question.
"""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.cards.card_store import Card, CardStore, open_card_store
from golore.graph.database.store import Store
from golore.graph.errors import StoreMissing, UsageError
from golore.graph.queries.answers import Ref
from golore.graph.queries.names.short_names import ShortNames
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest
from golore.learner.checkout.freshness import changes_since
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.targets import Target, find_target


class ContextAnswer(NamedTuple):
    """`stale`: a file that the text describes has changed since it was learned; None if that is unknown."""

    path: str
    kind: str
    text: str
    related: tuple[tuple[str, str], ...]
    stale: bool | None

    def _repr_html_(self) -> str:
        from golore.graph.diagrams.html import text_html

        return text_html(self.path or "the repository", self.text)


def context_of(opened: OpenRepository, text: str, budget: int | None = None) -> ContextAnswer:
    """The card of a target and its related files. With a budget, in characters, the text is made to fit."""
    with closing(_card_store_of(opened.repository)) as card_store:
        return _context(opened, card_store, find_target(opened, text), text, budget)


def _card_store_of(repository: LearnedRepository) -> CardStore:
    card_store = open_card_store(repository.store, write=False)
    if card_store is None:
        raise StoreMissing(f"There are no cards in {repository.store}. Run `golore learn` to make them.")
    return card_store


def _context(
    opened: OpenRepository, card_store: CardStore, target: Target, text: str, budget: int | None
) -> ContextAnswer:
    path = target.card_path
    card = card_store.card(path, include_empty=True) or Card(path, "", "")
    if target.level == "symbol":
        answer = _symbol_context(opened, card_store, target, card, text)
        return answer if budget is None else answer._replace(text=_cut(answer.text, budget))
    if target.level == "file":
        shown = card.text if budget is None else _card_text(opened.store, card_store, path, budget)
        return ContextAnswer(path, "file", shown, card.related, _is_stale(opened.repository, card))
    shown = card.text if budget is None else _cut(card.text, budget)
    stale = _is_changed(opened.repository, opened.store, path)
    return ContextAnswer(path, target.level, shown, card.related, stale)


def _symbol_context(
    opened: OpenRepository, card_store: CardStore, target: Target, card: Card, text: str
) -> ContextAnswer:
    symbols = target.symbols
    if not symbols:
        raise UsageError(f"{text} is declared outside the repository. `golore users {text}` lists its users.")
    lines = [_declaration_text(opened.store, card_store, symbol) for symbol in symbols]
    with AnnotationReader(opened.repository.store, naming=ShortNames(opened.store)) as annotation_reader:
        lines += [f"- {line}" for line in annotation_reader.note_lines_of(symbol.id for symbol in symbols)]
        documents = annotation_reader.documents_of(symbol.id for symbol in symbols)
        lines += ["Documents:", *(f"- {line}" for line in documents)] if documents else []
    stale = _is_stale(opened.repository, card)
    return ContextAnswer(symbols[0].file, "symbol", "\n".join(filter(None, lines)), card.related, stale)


def _declaration_text(store: Store, card_store: CardStore, symbol: Ref) -> str:
    """The line about a declaration that a learn has stored; if there is none, one that is made of the graph."""
    for line in card_store.symbols(symbol.name):
        if (line.path, line.qualified_name) == (symbol.file, symbol.qualified_name):
            return line.text
    from golore.graph.cards.card_builder import declaration_text

    return declaration_text(store, card_store, symbol.file, symbol.qualified_name)


def _card_text(store: Store, card_store: CardStore, path: str, longest: int) -> str:
    from golore.graph.cards.card_builder import card_text

    return card_text(store, card_store, path, longest)


def _is_stale(repository: LearnedRepository, card: Card) -> bool:
    if not card.digest:  # not learned, such as a file in testdata; its card only has history
        return False
    try:
        return digest(read_regular(repository.root / card.path, SOURCE_LIMIT, follow=True)) != card.digest
    except OSError:
        return True


def _is_changed(repository: LearnedRepository, store: Store, path: str) -> bool | None:
    changes = changes_since(repository.root, store)
    if changes is None:
        return None
    prefix = "" if path in ("", "./") else path
    is_repository = path == ""
    return any(
        changed.startswith(prefix) and changed.endswith(".go") and (is_repository or "/" not in changed[len(prefix) :])
        for changed in changes.paths
    )


def _cut(text: str, budget: int) -> str:
    if len(text) <= budget:
        return text
    kept = text[:budget].rpartition("\n")[0]
    left_out = len(text[len(kept) :].strip().splitlines())
    return f"{kept}\n… {left_out} lines left out"
