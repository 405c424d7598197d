"""The reply about a file, a package, a symbol or the repository: its card, or for a symbol the facts of the graph.

Cards are read from the card store. Only the card of a file at an unusual budget is rendered here.
"""

from __future__ import annotations

from contextlib import closing
from typing import Final

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.cards.card_builder import card_text
from golore.graph.cards.card_store import Card, open_card_store
from golore.graph.errors import StoreMissing
from golore.graph.queries import questions
from golore.graph.queries.answers import Answer, Meaning, Ref, SymbolDetails
from golore.graph.queries.names.short_names import Naming, ShortNames
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.services.knowledge.current_summary import STRUCTURAL, summary_of
from golore.mcp_server.services.targets import find_target
from golore.mcp_server.text.replies import (
    CHARACTERS_PER_TOKEN,
    DEFAULT_BUDGET,
    Reply,
    Section,
    agent_text,
    answer_reply,
    location,
)

_RELATED: Final = 10
_ROOM: Final = 120
"""Characters reserved for the sentence on what was left out."""


def context_reply(opened: OpenServedRepository, text: str, budget: int) -> str:
    """The reply about a target, within a budget of tokens."""
    behind = staleness_lines(opened)
    target = find_target(opened, text)
    if target.meaning is not None:
        return agent_text(symbol_reply(opened, target.meaning, behind), budget)
    return agent_text(_card_reply(opened, target.card_path, budget, behind), budget)


def _card_reply(opened: OpenServedRepository, path: str, budget: int, behind: tuple[str, ...]) -> Reply:
    """The card of a file ("dir/file.go"), a package ("dir/") or the repository (""), and its related files."""
    card_store = open_card_store(opened.repository.store, write=False)
    if card_store is None:
        raise StoreMissing("The store has no cards, because an older golore made it. Call memory_learn first.")
    with closing(card_store):
        card = card_store.card(path, include_empty=True) or Card(path, "", "")
        room = budget * CHARACTERS_PER_TOKEN
        is_stored = not path.endswith(".go") or budget == DEFAULT_BUDGET
        text = (
            card.text if is_stored else card_text(opened.store, card_store, path, room - len("\n".join(behind)) - _ROOM)
        )
        related = tuple((f"{file}: {why}",) for file, why in card.related[:_RELATED])
    sections = (Section("Related files", related),) if related else ()
    return Reply((), sections, behind, text or "There is nothing to add to its own text.")


def symbol_reply(opened: OpenServedRepository, subject: Meaning, behind: tuple[str, ...] = ()) -> Reply:
    """A declaration with its members, users, tests, implementations, notes and documents."""
    names = ShortNames(opened.store)
    head: list[str] = []
    sections: list[Section] = []
    for details in questions.show(opened.store, subject).declarations:
        head += _details_lines(details, names)
        if not details.symbol.external:
            quality, text = summary_of(opened.store, "symbol", details.symbol.id)
            head += [f"  summary ({quality}): {text}"] if quality != STRUCTURAL else []
        if details.members:
            rows = tuple((f"{member.kind} {member.name}", location(member)) for member in details.members)
            sections.append(Section(f"members ({len(rows):,})", rows))
    used = questions.users(opened.store, subject)
    shown = answer_reply(used, names)
    around = [*_retitled(used, shown), *_tests(opened, subject)]
    if subject.first.kind in questions.TYPES or subject.first.kind == "imethod":
        other = questions.implementers(opened.store, subject)
        around += _retitled(other, answer_reply(other, names))
    with AnnotationReader(opened.repository.store, naming=names) as annotation_reader:
        note_lines = annotation_reader.note_lines_of(symbol.id for symbol in subject.symbols)
        document_lines = annotation_reader.documents_of(symbol.id for symbol in subject.symbols)
    notes = (_lines_section("notes, as written by people and agents", note_lines),) if note_lines else ()
    documents = (_lines_section("documents and examples that name it", document_lines),) if document_lines else ()
    return Reply(tuple(head), (*notes, *around, *documents, *sections), (*shown.tail, *behind))


def _lines_section(title: str, lines: tuple[str, ...]) -> Section:
    return Section(title, tuple((line,) for line in lines))


def _retitled(answer: Answer, reply: Reply) -> list[Section]:
    return [Section(f"{answer.question}, {section.title}", section.rows) for section in reply.sections]


def _tests(opened: OpenServedRepository, subject: Meaning) -> list[Section]:
    answer = questions.tests(opened.store, subject)
    return _retitled(answer, answer_reply(answer, ShortNames(opened.store)))


def _details_lines(details: SymbolDetails, naming: Naming) -> list[str]:
    symbol = details.symbol
    lines = [f"{symbol.qualified_name} ({symbol.kind}, {location(symbol)})"]
    facts = [
        details.signature,
        "deprecated" if details.deprecated else "",
        f"built when {details.constraint}" if details.constraint else "",
        f"belongs to {details.owner}" if details.owner else "",
        _joined("embeds", [link.symbol for link in details.embeds], naming),
    ]
    lines += [f"  {fact}" for fact in facts if fact]
    return [*lines, *(f"  // {line}".rstrip() for line in details.doc.splitlines())]


def _joined(word: str, symbols: list[Ref], naming: Naming) -> str:
    return f"{word} {', '.join(naming(symbol.qualified_name) for symbol in symbols)}" if symbols else ""
