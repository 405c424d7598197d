"""`golore context`: the card of a file, a package, the repository or a symbol, and the files that belong to it.

The cards are made by a learn and only looked up here; another length than the usual one is made from the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.cards.annotations import Lorebook
from golore.graph.cards.card_builder import card_text, declaration_text
from golore.graph.cards.card_store import Card, Deck, open_deck
from golore.graph.database.store import Store
from golore.graph.errors import StoreMissing, UsageError
from golore.graph.queries.name_resolver import Names
from golore.learner.checkout.discovery import digest
from golore.learner.checkout.freshness import changes_since
from golore.mcp_server.services.open_store import open_renewed
from golore.mcp_server.services.repository import Place, find_place
from golore.mcp_server.text import answer_text
from golore.mcp_server.text.output import print_json, print_lines

_NEAR: Final = 5
_SHOWN: Final = 10
_WHOLE: Final = frozenset(("", ".", "./", "/"))


class Context(NamedTuple):
    """`stale`: a file that this is about has changed since it was learned; None where that cannot be told."""

    path: str
    kind: str
    text: str
    related: tuple[tuple[str, str], ...]
    stale: bool | None


def run_context(target: str, start: Path, *, as_json: bool, budget: int | None) -> int:
    place = _place_of(target, start)
    with open_renewed(place) as store, closing(_deck_of(place)) as deck:
        context = _context(place, store, deck, target, start, budget)
    if isinstance(context, list):
        print("\n".join(context), file=sys.stderr)
        return 1
    if as_json:
        print_json(_document(context))
    else:
        print_lines(_lines(context))
    return 0


def _place_of(target: str, start: Path) -> Place:
    """The repository that is meant: a whole path names its own."""
    named = Path(target)
    return find_place(named if named.is_absolute() and named.exists() else start)


def _deck_of(place: Place) -> Deck:
    deck = open_deck(place.store, write=False)
    if deck is None:
        raise StoreMissing(f"There are no cards in {place.store}. Run `golore learn` to have them made.")
    return deck


def _context(
    place: Place, store: Store, deck: Deck, target: str, start: Path, budget: int | None
) -> Context | list[str]:
    """What is known of the target; or why that is not one thing."""
    for path in _as_paths(place, target, start):
        card = deck.card(path, silent=True)
        if card is not None and path.endswith(".go"):
            text = card.text if budget is None else card_text(store, deck, path, budget)
            return Context(path, "file", text, card.related, _is_stale(place, card))
        if card is not None:
            kind = "package" if path else "repository"
            text = card.text if budget is None else _cut(card.text, budget)
            return Context(path, kind, text, card.related, _is_changed(place, store, path))
    if target.endswith(".go"):
        raise UsageError(_no_file(deck, target))
    return _symbol_context(place, store, deck, target)


def _as_paths(place: Place, target: str, start: Path) -> Iterator[str]:
    """The names that the deck may have for what was asked for: below where we are, below the root, by import path."""
    if target in _WHOLE and start.resolve() == place.root.resolve():
        yield ""
    root = place.root.resolve()
    for base in dict.fromkeys((Path.cwd(), start.resolve(), root)):
        path = (base / target).resolve()
        if path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            yield relative if target.endswith(".go") else "./" if relative == "." else f"{relative}/"


def _symbol_context(place: Place, store: Store, deck: Deck, target: str) -> Context | list[str]:
    rows = list(store.rows("MATCH (p:Package) WHERE p.path = $path AND NOT p.test RETURN p.dir", {"path": target}))
    if rows:
        path = f"{rows[0][0] or '.'}/"
        card = deck.card(path, silent=True) or Card(path, "", "")
        return Context(path, "package", card.text, card.related, _is_changed(place, store, path))
    found = Names(store).find(target)
    if len(found.meanings) != 1:
        return list(answer_text.not_one_lines(found))
    symbols = [symbol for symbol in found.meanings[0].symbols if not symbol.external]
    if not symbols:
        raise UsageError(f"{target} lies outside the repository. `golore users {target}` tells who uses it.")
    texts = [declaration_text(store, deck, symbol.file, symbol.qualified_name) for symbol in symbols]
    with Lorebook(place.store) as book:
        texts += [f"- {line}" for line in book.of_nodes(symbol.id for symbol in symbols)]
        documents = book.documents_of(symbol.id for symbol in symbols)
        texts += ["Documents:", *(f"- {line}" for line in documents)] if documents else []
    card = deck.card(symbols[0].file, silent=True)
    related = card.related if card is not None else ()
    stale = _is_stale(place, card) if card is not None else None
    return Context(symbols[0].file, "symbol", "\n".join(text for text in texts if text), related, stale)


def _no_file(deck: Deck, target: str) -> str:
    name = target.rpartition("/")[2]
    near = [path for path in deck.paths() if path == name or path.endswith(f"/{name}")]
    if near:
        near.sort(key=lambda path: (path.count("/"), path))
        return f"{target} is not in the graph. Did you mean {' or '.join(near[:_NEAR])}?"
    return f"{target} is not in the graph. Give a Go file's path from the root; run `golore learn` if it is new."


def _is_stale(place: Place, card: Card) -> bool:
    if not card.digest:  # a file that is not learned, as those in testdata: only the history knows it
        return False
    try:
        return digest((place.root / card.path).read_bytes()) != card.digest
    except OSError:
        return True


def _is_changed(place: Place, store: Store, path: str) -> bool | None:
    changes = changes_since(place.root, store)
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


def _document(context: Context) -> dict[str, Any]:
    return {
        "path": context.path,
        "kind": context.kind,
        "text": context.text,
        "related": [{"file": file, "why": why} for file, why in context.related],
        "stale": context.stale,
    }


def _lines(context: Context) -> Iterator[str]:
    yield context.path or "the repository"
    if context.stale:
        yield "It has changed since it was learned; lines may have moved. `golore learn` brings this up to date."
    yield context.text or "There is nothing to tell beyond what its own text says."
    if context.related:
        yield "Related:"
        yield from (f"- {file}: {why}" for file, why in context.related[:_SHOWN])
        if len(context.related) > _SHOWN:
            yield f"- {len(context.related) - _SHOWN} more with --json"
