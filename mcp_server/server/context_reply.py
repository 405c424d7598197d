"""What an agent is told of a file, a package, a symbol or a repository: the card, or for a symbol what the graph knows.

Cards are made by a learn and only looked up here.
"""

from __future__ import annotations

from contextlib import closing
from os.path import normpath
from pathlib import PurePosixPath
from typing import Final

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.cards.card_builder import card_text
from golore.graph.cards.card_store import Card, open_card_store
from golore.graph.errors import StoreMissing, UsageError
from golore.graph.queries import questions
from golore.graph.queries.answers import Answer, Meaning, Ref, SymbolDetails
from golore.mcp_server.server.open_repositories import OpenRepository
from golore.mcp_server.server.reply_text import (
    BUDGET,
    CHARACTERS,
    Reply,
    ReplySection,
    answer_reply,
    fit_reply,
    location,
    name,
    not_one_text,
    staleness_lines,
)
from golore.mcp_server.services.summary_history import STRUCTURAL, summary_of

_NEAR: Final = 5
_RELATED: Final = 10
_ROOM: Final = 120
"""Characters kept for the words on what was left out."""
_WHOLE: Final = frozenset(("", ".", "./", "/"))


def context_reply(asked: OpenRepository, target: str, budget: int) -> str:
    """Everything about a target within a budget of tokens."""
    behind = staleness_lines(asked)
    path = relative(asked, target.strip())
    if path in _WHOLE:
        return fit_reply(_card_reply(asked, "", budget, behind), budget)
    if path.endswith(".go"):
        _require_file(asked, path)
        return fit_reply(_card_reply(asked, path, budget, behind), budget)
    directory = _package_directory(asked, path)
    if directory is not None:
        return fit_reply(_card_reply(asked, f"{directory or '.'}/", budget, behind), budget)
    found = asked.names.find(path)
    if len(found.meanings) != 1:
        raise UsageError(not_one_text(found))
    return fit_reply(symbol_reply(asked, found.meanings[0], behind), budget)


def relative(asked: OpenRepository, target: str) -> str:
    """A path below the root as the graph has it; anything else as it is."""
    if target.startswith("/"):
        pure = PurePosixPath(normpath(target))
        if not pure.is_relative_to(asked.repository.root):
            raise UsageError(f"{target} is not below {asked.repository.root}. Give a path of this repository.")
        return str(pure.relative_to(asked.repository.root))
    return target.removeprefix("./")


def _card_reply(asked: OpenRepository, path: str, budget: int, behind: tuple[str, ...]) -> Reply:
    """The card of a file ("dir/file.go"), a package ("dir/") or the repository (""), and the files that go with it."""
    card_store = open_card_store(asked.repository.store, write=False)
    if card_store is None:
        raise StoreMissing("There are no cards in the store, which an older golore made. Call memory_learn first.")
    with closing(card_store):
        card = card_store.card(path, silent=True) or Card(path, "", "")
        room = budget * CHARACTERS
        is_usual = not path.endswith(".go") or budget == BUDGET
        text = (
            card.text if is_usual else card_text(asked.store, card_store, path, room - len("\n".join(behind)) - _ROOM)
        )
        related = tuple(f"{file}: {why}" for file, why in card.related[:_RELATED])
    sections = (ReplySection("Related files:", related),) if related else ()
    return Reply((text or "There is nothing to tell beyond what its own text says.",), sections, behind)


def symbol_reply(asked: OpenRepository, subject: Meaning, behind: tuple[str, ...] = ()) -> Reply:
    """A declaration and what lies around it."""
    head: list[str] = []
    sections: list[ReplySection] = []
    for portrait in questions.show(asked.store, subject).declarations:
        head += _portrait_lines(portrait)
        if not portrait.symbol.external:
            quality, text = summary_of(asked.store, "symbol", portrait.symbol.id)
            head += [f"  summary ({quality}): {text}"] if quality != STRUCTURAL else []
        if portrait.members:
            rows = tuple(f"{member.kind} {member.name}  {location(member)}" for member in portrait.members)
            sections.append(ReplySection(f"members ({len(rows):,}):", rows))
    used = questions.users(asked.store, subject)
    shown = answer_reply(used)
    around = [*_retitled(used, shown), *_tests(asked, subject)]
    if subject.first.kind in questions.TYPES or subject.first.kind == "imethod":
        other = questions.implementers(asked.store, subject)
        around += _retitled(other, answer_reply(other))
    with AnnotationReader(asked.repository.store) as annotation_reader:
        noted = annotation_reader.of_nodes(symbol.id for symbol in subject.symbols)
        told = annotation_reader.documents_of(symbol.id for symbol in subject.symbols)
    notes = (ReplySection("notes, as written by people and agents:", noted),) if noted else ()
    documents = (ReplySection("documents and examples that name it:", told),) if told else ()
    return Reply(tuple(head), (*notes, *around, *documents, *sections), (*shown.tail, *behind))


def _retitled(answer: Answer, reply: Reply) -> list[ReplySection]:
    return [ReplySection(f"{answer.question}, {section.title}", section.rows) for section in reply.sections]


def _tests(asked: OpenRepository, subject: Meaning) -> list[ReplySection]:
    answer = questions.tests(asked.store, subject)
    return _retitled(answer, answer_reply(answer))


def _portrait_lines(shown: SymbolDetails) -> list[str]:
    symbol = shown.symbol
    lines = [f"{symbol.qualified_name} ({symbol.kind}, {location(symbol)})"]
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


def _require_file(asked: OpenRepository, path: str) -> None:
    if not _exists(asked, path):
        base = path.rpartition("/")[2]
        rows = asked.store.rows(
            "MATCH (f:File) WHERE f.path ENDS WITH $base RETURN f.path ORDER BY size(f.path), f.path LIMIT $most",
            {"base": base, "most": _NEAR},
        )
        near = ", ".join(other for (other,) in rows)
        hint = f"Did you mean {near}?" if near else "Give its path from the root; memory_learn if it is new."
        raise UsageError(f"{path} is not in the graph. {hint}")


def _exists(asked: OpenRepository, path: str) -> bool:
    return any(True for _ in asked.store.rows("MATCH (f:File {id: $path}) RETURN f.id", {"path": path}))


def _package_directory(asked: OpenRepository, target: str) -> str | None:
    """The directory of a package that is named by it or by its import path."""
    wanted = target.rstrip("/")
    statement = "MATCH (p:Package) WHERE p.dir = $name OR p.path = $name RETURN p.dir ORDER BY p.test, p.id LIMIT 1"
    return next((directory for (directory,) in asked.store.rows(statement, {"name": wanted})), None)
