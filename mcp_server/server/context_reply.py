"""What an agent is told of a file, a package, a symbol or a repository: the card, or for a symbol what the graph knows.

Cards are made by a learn and only looked up here.
"""

from __future__ import annotations

from contextlib import closing
from os.path import normpath
from pathlib import PurePosixPath
from typing import Final

from golore.graph.cards.annotations import Lorebook
from golore.graph.cards.card_builder import card_text
from golore.graph.cards.card_store import Card, open_deck
from golore.graph.errors import StoreMissing, UsageError
from golore.graph.queries import questions
from golore.graph.queries.answers import Answer, Meaning, Portrait, Ref
from golore.mcp_server.server.open_repositories import Opened
from golore.mcp_server.server.reply_text import (
    BUDGET,
    CHARACTERS,
    Reply,
    Section,
    answer_reply,
    fitted,
    name,
    not_one_text,
    place,
    standing,
)
from golore.mcp_server.services.summary_history import STRUCTURAL, told_summary

_NEAR: Final = 5
_RELATED: Final = 10
_ROOM: Final = 120
"""Characters kept for the words on what was left out."""
_WHOLE: Final = frozenset(("", ".", "./", "/"))


def context_reply(asked: Opened, target: str, budget: int) -> str:
    """Everything about a target within a budget of tokens."""
    behind = standing(asked)
    path = relative(asked, target.strip())
    if path in _WHOLE:
        return fitted(_card_reply(asked, "", budget, behind), budget)
    if path.endswith(".go"):
        _require_file(asked, path)
        return fitted(_card_reply(asked, path, budget, behind), budget)
    directory = _package_directory(asked, path)
    if directory is not None:
        return fitted(_card_reply(asked, f"{directory or '.'}/", budget, behind), budget)
    found = asked.names.find(path)
    if len(found.meanings) != 1:
        raise UsageError(not_one_text(found))
    return fitted(symbol_reply(asked, found.meanings[0], behind), budget)


def relative(asked: Opened, target: str) -> str:
    """A path below the root as the graph has it; anything else as it is."""
    if target.startswith("/"):
        pure = PurePosixPath(normpath(target))
        if not pure.is_relative_to(asked.place.root):
            raise UsageError(f"{target} is not below {asked.place.root}. Give a path of this repository.")
        return str(pure.relative_to(asked.place.root))
    return target.removeprefix("./")


def _card_reply(asked: Opened, path: str, budget: int, behind: tuple[str, ...]) -> Reply:
    """The card of a file ("dir/file.go"), a package ("dir/") or the repository (""), and the files that go with it."""
    deck = open_deck(asked.place.store, write=False)
    if deck is None:
        raise StoreMissing("There are no cards in the store, which an older golore made. Call memory_learn first.")
    with closing(deck):
        card = deck.card(path, silent=True) or Card(path, "", "")
        room = budget * CHARACTERS
        is_usual = not path.endswith(".go") or budget == BUDGET
        text = card.text if is_usual else card_text(asked.store, deck, path, room - len("\n".join(behind)) - _ROOM)
        related = tuple(f"{file}: {why}" for file, why in card.related[:_RELATED])
    sections = (Section("Related files:", related),) if related else ()
    return Reply((text or "There is nothing to tell beyond what its own text says.",), sections, behind)


def symbol_reply(asked: Opened, subject: Meaning, behind: tuple[str, ...] = ()) -> Reply:
    """A declaration and what lies around it."""
    head: list[str] = []
    sections: list[Section] = []
    for portrait in questions.show(asked.store, subject).declarations:
        head += _portrait_lines(portrait)
        if not portrait.symbol.external:
            quality, text = told_summary(asked.store, "symbol", portrait.symbol.id)
            head += [f"  summary ({quality}): {text}"] if quality != STRUCTURAL else []
        if portrait.members:
            rows = tuple(f"{member.kind} {member.name}  {place(member)}" for member in portrait.members)
            sections.append(Section(f"members ({len(rows):,}):", rows))
    used = questions.users(asked.store, subject)
    shown = answer_reply(used)
    around = [*_retitled(used, shown), *_tests(asked, subject)]
    if subject.first.kind in questions.TYPES or subject.first.kind == "imethod":
        other = questions.implementers(asked.store, subject)
        around += _retitled(other, answer_reply(other))
    with Lorebook(asked.place.store) as book:
        noted = book.of_nodes(symbol.id for symbol in subject.symbols)
        told = book.documents_of(symbol.id for symbol in subject.symbols)
    notes = (Section("notes, as written by people and agents:", noted),) if noted else ()
    documents = (Section("documents and examples that name it:", told),) if told else ()
    return Reply(tuple(head), (*notes, *around, *documents, *sections), (*shown.tail, *behind))


def _retitled(answer: Answer, reply: Reply) -> list[Section]:
    return [Section(f"{answer.question}, {section.title}", section.rows) for section in reply.sections]


def _tests(asked: Opened, subject: Meaning) -> list[Section]:
    answer = questions.tests(asked.store, subject)
    return _retitled(answer, answer_reply(answer))


def _portrait_lines(shown: Portrait) -> list[str]:
    symbol = shown.symbol
    lines = [f"{symbol.qualified_name} ({symbol.kind}, {place(symbol)})"]
    facts = [
        shown.signature,
        "deprecated" if shown.deprecated else "",
        f"built when {shown.constraint}" if shown.constraint else "",
        f"belongs to {shown.owner}" if shown.owner else "",
        _joined("embeds", [link.symbol for link in shown.embeds]),
    ]
    lines += [f"  {fact}" for fact in facts if fact]
    return [*lines, *(f"  // {line}".rstrip() for line in shown.doc.splitlines())]


def _joined(word: str, symbols: list[Ref]) -> str:
    return f"{word} {', '.join(name(symbol) for symbol in symbols)}" if symbols else ""


def _require_file(asked: Opened, path: str) -> None:
    if not _exists(asked, path):
        base = path.rpartition("/")[2]
        rows = asked.store.rows(
            "MATCH (f:File) WHERE f.path ENDS WITH $base RETURN f.path ORDER BY size(f.path), f.path LIMIT $most",
            {"base": base, "most": _NEAR},
        )
        near = ", ".join(other for (other,) in rows)
        hint = f"Did you mean {near}?" if near else "Give its path from the root; memory_learn if it is new."
        raise UsageError(f"{path} is not in the graph. {hint}")


def _exists(asked: Opened, path: str) -> bool:
    return any(True for _ in asked.store.rows("MATCH (f:File {id: $path}) RETURN f.id", {"path": path}))


def _package_directory(asked: Opened, target: str) -> str | None:
    """The directory of a package that is named by it or by its import path."""
    wanted = target.rstrip("/")
    statement = "MATCH (p:Package) WHERE p.dir = $name OR p.path = $name RETURN p.dir ORDER BY p.test, p.id LIMIT 1"
    return next((directory for (directory,) in asked.store.rows(statement, {"name": wanted})), None)
