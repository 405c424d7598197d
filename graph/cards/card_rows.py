"""Builds the rows of cards for a share of the files: what `card_builder` stores.

Several processes can build different shares at the same time. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from golore.graph.cards.annotations import AnnotationReader, Annotations
from golore.graph.cards.card_plan import CardPlan
from golore.graph.cards.card_text import file_texts, symbol_texts
from golore.graph.cards.card_users import Users
from golore.graph.cards.package_cards import PackageUse, PackageUses, package_texts
from golore.graph.cards.related_files import Surroundings
from golore.graph.cards.related_reasons import related_files
from golore.graph.cards.stored_ranks import to_json
from golore.graph.database.graph_tables import GraphTables
from golore.graph.history.co_change import FileHistory
from golore.graph.progress import Progress
from golore.graph.queries.file_facts import FileFacts, WholeGraph

_SYMBOL_LINE_KINDS: Final = frozenset(("func", "method", "struct", "interface", "type", "alias", "var", "const"))

CardRow = tuple[str, str, str, str, str]
"""The arguments of a `Card`."""
SymbolRow = tuple[str, str, str, str, int, str]
"""The arguments of a `SymbolLine`."""


class CardRows(NamedTuple):
    """The rows of one share."""

    cards: list[CardRow]
    symbols: list[SymbolRow]
    packages: list[tuple[str, str]]
    """card path ("dir/") and text of each directory, without annotations"""
    importers: dict[str, int]
    """directory → number of other directories that use it, without tests"""


class ShareFacts(NamedTuple):
    """What the graph says about the files of a share of a plan."""

    tables: GraphTables
    plan: CardPlan
    number: int
    graph: WholeGraph


def facts_of_share(tables: GraphTables, plan: CardPlan, number: int = 0) -> ShareFacts:
    return ShareFacts(tables, plan, number, WholeGraph(tables, plan.shares[number], plan.plain))


def build_rows(found: ShareFacts, annotation_reader: AnnotationReader, progress: Progress | None = None) -> CardRows:
    """Build the rows of a share, and its part of the cards of files that are not learned. Uses up the facts."""
    tables, plan, number, graph = found
    share, ranks, coupled, around = plan.shares[number], plan.ranks, plan.coupled, plan.around
    if progress is not None:
        progress.stage("Cards", len(share))
    cards: list[CardRow] = []
    symbols: list[SymbolRow] = []
    package_uses = PackageUses()
    for path in share:
        facts = graph.take_facts(path)
        users = Users(facts, ranks)
        cards.append(card_row(facts, coupled.get(path), around, users, annotation_reader.annotations_at(path)))
        symbols.extend(symbol_rows(facts, users))
        package_uses.add(facts)
        if progress is not None:
            progress.tick(1)
    cards += [_unlearned_row(path, coupled.get(path), around) for path in plan.unlearned[number :: len(plan.shares)]]

    def use_of(directory: str, _: object) -> PackageUse:
        return package_uses.of(directory)

    packages = list(package_texts(tables, share, use_of, ranks, coupled.get))
    return CardRows(cards, symbols, packages, package_uses.importer_counts())


def card_row(
    facts: FileFacts, coupled: FileHistory | None, around: Surroundings, users: Users, annotations: Annotations
) -> CardRow:
    main, own = file_texts(facts, coupled, users, annotations=annotations)
    return facts.path, facts.digest, main, to_json(related_files(facts, coupled, around)), own


def symbol_rows(facts: FileFacts, users: Users) -> Iterator[SymbolRow]:
    """Lines about the declarations that a prompt may name: those that other files can use or do use."""
    if facts.test or facts.generated:
        return
    wanted = [
        symbol
        for symbol in facts.symbols
        if symbol.kind in _SYMBOL_LINE_KINDS and symbol.name != "_" and (symbol.exported or symbol in users.by_symbol)
    ]
    for symbol, text in symbol_texts(facts, wanted, users):
        yield symbol.name, symbol.qualified_name, symbol.kind, symbol.file, symbol.line, text


def _unlearned_row(path: str, coupled: FileHistory | None, around: Surroundings) -> CardRow:
    no_facts = FileFacts(path, "", "", path.endswith("_test.go"), False, "", (), (), (), (), (), (), (), (), {}, ())
    return path, "", "", to_json(related_files(no_facts, coupled, around)), ""
