"""The page of a file: its source with a gutter that says what the graph knows of each line, and its card beside it.

A large file is shown in windows. If the file has changed since it was learned, the marks and links of the lines that
are still the same move with them, and the other lines are marked as changed. Where the learned text is not known (see
`learned_lines`), lines are shown without marks and links, which would be wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from typing import Any, Final, NamedTuple

from golore.graph.cards.card_store import Card, open_card_store
from golore.graph.cards.stored_ranks import StoredRanks
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import PinnedNote, notes_in
from golore.graph.model.edge_kinds import USES
from golore.graph.phrases import counted
from golore.graph.queries.edges import external_from, symbol_columns, symbol_from
from golore.graph.queries.questions import CALLABLE
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest as digest_of
from golore.mcp_server.services.knowledge.current_summary import written_summary
from golore.mcp_server.view.card_sections import card_parts
from golore.mcp_server.view.file_facts import NOT_USED, reasons, used_from
from golore.mcp_server.view.go_source import DECLARED, Use, source_lines, use_form
from golore.mcp_server.view.learned_lines import LearnedLines, learned_lines
from golore.mcp_server.view.pages.symbol import commits_of
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit, parent_directories
from markupsafe import Markup

_OUTLINE: Final = 400
_DEEPEST: Final = 6
"""Steps from a file to a field: of a struct that is declared in a field, and so on."""


class Declared(NamedTuple):
    """A declaration of the file."""

    id: str
    kind: str
    name: str
    line: int
    address: str


Mark = tuple[str, str, str, str]
"""The class, the sign, the meaning and the address of a mark in the gutter."""


class Line(NamedTuple):
    number: int
    text: Markup
    marks: tuple[Mark, ...]


def file_page(visit: Visit, path: str, first: int) -> Page:
    rows = list(
        visit.store.rows(
            "MATCH (f:File {id: $id}) RETURN f.digest, f.package, f.test, f.generated, f.constraint, f.problems",
            {"id": path},
        )
    )
    if not rows:
        return _document_page(visit, path, first)
    digest, package, is_test, is_generated, constraint, problems = rows[0]
    known: dict[str, Any] = {
        "path": path,
        "reasons": [] if is_test else _reasons(visit, path),
        "parents": [(name, visit.links.map(directory)) for name, directory in parent_directories(path)],
        "facts": [
            fact
            for fact in (
                "test file" if is_test else "",
                "generated" if is_generated else "",
                f"built when {constraint}" if constraint else "",
            )
            if fact
        ],
        "problems": problems,
        "commits": commits_of(visit, path),
        **_card(visit, path),
    }
    if not visit.has_source:
        return Page("published_file.html", path, {**known, **_published(visit, path)}, "file")
    source, is_current = _source(visit, path, digest)
    places = LearnedLines() if is_current else learned_lines(visit.opened.repository.root, path, digest, source)
    window = visit.links.window
    total = source.count("\n") + (not source.endswith("\n"))
    first = max(1, min(first, total))
    last = min(first + window - 1, total)
    declared: list[Declared] = []
    uses: dict[tuple[int, str], Use] = {}
    marks: dict[int, list[Mark]] = {}
    changed: list[int] = []
    if places is not None:
        declared = _declared(visit, path, places)
        uses = _uses(visit, path, package, declared, first, last, places)
        changed = places.changed(1, total)
        marks = _marks(visit, path, declared, places, changed, places.learned(first, last))
    text = source_lines(source, first, last - first + 1, uses)
    values: dict[str, Any] = {
        **known,
        "lines": [Line(first + at, line, tuple(marks.get(first + at, ()))) for at, line in enumerate(text)],
        "is_current": is_current,
        "is_known": places is not None,
        "changed": len(changed),
        "first": first,
        "last": first + len(text) - 1,
        "total": total,
        "windows": [(start, visit.links.file(path, start)) for start in range(1, total + 1, window)],
        "outline": [one for one in declared if one.kind not in ("field", "imethod")][:_OUTLINE],
    }
    return Page("file.html", path, values, "file")


def _published(visit: Visit, path: str) -> dict[str, Any]:
    """What a file declares, with the marks that its lines would have, where its text is not known."""
    places = LearnedLines()
    declared = _declared(visit, path, places)
    last = max((one.line for one in declared), default=0)
    marks = _marks(visit, path, declared, places, [], (1, last))
    return {"outline": declared[:_OUTLINE], "left_out": max(0, len(declared) - _OUTLINE), "marks": marks}


def _reasons(visit: Visit, path: str) -> list[str]:
    """Who uses the file, how often it changes and which of its functions tests reach."""
    functions = "MATCH (f:File {id: $id})-[:CONTAINS]->(s:Symbol) WHERE s.kind IN ['func', 'method'] "
    (total,), *_ = visit.store.rows(f"{functions} RETURN count(*)", {"id": path})
    tested = "MATCH (f:File {id: $id})-[:CONTAINS]->(s:Symbol)<-[:TESTS]-(:Symbol) WHERE s.kind IN ['func', 'method'] "
    (reached,), *_ = visit.store.rows(f"{tested} RETURN count(DISTINCT s.id)", {"id": path})
    commits = 0
    card_store = open_card_store(visit.opened.repository.store, write=False)
    if card_store is not None:
        with closing(card_store):
            history = StoredRanks(card_store).coupled(path)
            commits = history.commits if history is not None else 0
    return reasons(used_from(visit.store, [path]).get(path, NOT_USED), commits, total, reached)


def _source(visit: Visit, path: str, digest: str) -> tuple[str, bool]:
    """The text of a file, and whether it is the one that was learned."""
    try:
        data = read_regular(visit.opened.repository.root / path, SOURCE_LIMIT, follow=True)
    except OSError:
        return "", False
    return data.decode("utf-8", "replace"), digest_of(data) == digest


def _document_page(visit: Visit, path: str, first: int) -> Page:
    """A document of the repository, as plain text."""
    is_known = any(
        True for _ in visit.store.rows("MATCH (d:Doc) WHERE d.path = $path RETURN d.id LIMIT 1", {"path": path})
    )
    if not is_known:
        raise UsageError(f"{path} is not in the graph.")
    if not visit.has_source:
        raise UsageError(f"This server has no text of {path}: only what was published about the code.")
    data = read_regular(visit.opened.repository.root / path, SOURCE_LIMIT, follow=True)
    text = data.decode("utf-8", "replace").split("\n")
    window = visit.links.window
    first = max(1, min(first, len(text)))
    values: dict[str, Any] = {
        "path": path,
        "parents": [],
        "lines": [(first + at, line) for at, line in enumerate(text[first - 1 : first - 1 + window])],
        "first": first,
        "total": len(text),
        "windows": [(start, visit.links.file(path, start)) for start in range(1, len(text) + 1, window)],
    }
    return Page("document.html", path, values, "knowledge")


def _declared(visit: Visit, path: str, places: LearnedLines) -> list[Declared]:
    """The declarations of the file by line, with the fields and methods of its types; without those whose line has
    changed since."""
    # From the file on: a condition on the symbol's file would scan all symbols, 30 ms and more at 200,000. A method may
    # be in another file than its type.
    contained = f"MATCH (f:File {{id: $file}})-[:CONTAINS*1..{_DEEPEST}]->(s:Symbol)"
    statement = f"{contained} RETURN s.id, s.kind, s.name, s.line, s.file"
    found = {
        id: Declared(id, kind, name, place, visit.links.symbol(id))
        for id, kind, name, line, file in visit.store.rows(statement, {"file": path})
        if file == path and (place := places.current(line))
    }
    return sorted(found.values(), key=lambda one: (one.line, one.id))


def _counts(visit: Visit, path: str, label: str, lines: tuple[int, int]) -> Counter[str]:
    """How many edges of a label lead to each declaration on these lines, which are the learned ones."""
    statement = (
        f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol)<-[e:{label}]-(a:Symbol) "
        "WHERE s.line >= $first AND s.line <= $last RETURN s.id, count(*)"
    )
    return Counter(dict(visit.store.rows(statement, {"id": path, "first": lines[0], "last": lines[1]})))


def _uses(
    visit: Visit, path: str, package: str, declared: list[Declared], first: int, last: int, places: LearnedLines
) -> dict[tuple[int, str], Use]:
    """What the names on the lines of a window mean. A name that means several symbols on one line is left out."""
    found: defaultdict[tuple[int, str], dict[str, Use]] = defaultdict(dict)
    learned_first, learned_last = places.learned(first, last)
    for label in USES:
        for target, columns, make in (
            ("Symbol", symbol_columns("b"), symbol_from),
            ("External", "b.id, b.kind, b.name, b.package, b.source", external_from),
        ):
            statement = (
                f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(a:Symbol)-[e:{label}]->(b:{target}) "
                f"WHERE a.line <= $last AND a.end_line >= $first RETURN e.sites, {columns}"
            )
            given = {"id": path, "first": learned_first, "last": learned_last}
            for sites, *row in visit.store.rows(statement, given):
                symbol = make(row)
                use = None
                for line in map(places.current, map(int, sites.split())):
                    if first <= line <= last:
                        use = use or Use(
                            use_form(symbol.kind, symbol.package == package),
                            visit.links.symbol(symbol.id),
                            f"{symbol.kind} {symbol.qualified_name}",
                        )
                        found[line, symbol.name][symbol.id] = use
    uses = {key: next(iter(several.values())) for key, several in found.items() if len(several) == 1}
    for one in declared:
        if first <= one.line <= last:
            uses[one.line, one.name] = Use(DECLARED, one.address, f"{one.kind} {one.name}: callers and callees")
    return {key: use for key, use in uses.items() if use.address}


def _marks(
    visit: Visit, path: str, declared: list[Declared], places: LearnedLines, changed: list[int], lines: tuple[int, int]
) -> dict[int, list[Mark]]:
    """What the gutter shows, by line; declarations are counted on these learned `lines` only. `changed` are the current
    lines that were not learned."""
    marks: defaultdict[int, list[Mark]] = defaultdict(list)
    for line in changed:
        marks[line].append(("changed", "±", "changed since the last learn", ""))
    for line, number in places.removed.items():
        words = f"{counted(number, 'line')} before this one removed since the last learn"
        marks[line].append(("changed", f"−{number:,}", words, ""))
    callers, users, tests, implementers = (
        _counts(visit, path, label, lines) for label in ("CALLS", "|".join(USES), "TESTS", "IMPLEMENTS")
    )
    for one in declared:
        for kind, sign, numbers, words in (
            ("callers", "◂", callers, "callers") if one.kind in CALLABLE else ("users", "◂", users, "users"),
            ("tests", "✓", tests, "tests reach it"),
            ("implementers", "◇", implementers, "implementers"),
        ):
            if number := numbers[one.id]:
                marks[one.line].append((kind, f"{sign}{number:,}", f"{one.name}: {number:,} {words}", one.address))
    unresolved: defaultdict[int, list[str]] = defaultdict(list)
    statement = "MATCH (u:Unresolved) WHERE u.file = $file RETURN u.name, u.reason, u.sites"
    for name, reason, sites in visit.store.rows(statement, {"file": path}):
        for line in map(places.current, map(int, sites.split())):
            unresolved[line].append(f"{name} ({reason})")
    unresolved.pop(0, None)  # on lines that have changed
    for line, names in unresolved.items():
        marks[line].append(("unresolved", f"?{len(names)}", f"unresolved: {', '.join(sorted(names))}", ""))
    declared_at = {one.id: one.line for one in declared}
    for note in _notes(visit, path):
        sign = "✎!" if note.anchor.drifted else "✎"
        text = f"{note.kind}: {note.text}" + (f" ({note.anchor.drifted})" if note.anchor.drifted else "")
        marks[declared_at.get(note.anchor.target, 1)].append(("note", sign, text, visit.links.page("knowledge")))
    return marks


def _notes(visit: Visit, path: str) -> list[PinnedNote]:
    directory = visit.opened.repository.store
    if not Knowledge.exists(directory):
        return []
    with Knowledge.open(directory) as knowledge:
        return [note for note in notes_in(knowledge, [path]) if note.status == "active"]


def _card(visit: Visit, path: str) -> dict[str, Any]:
    """The card of a file, with its related files, and its summary."""
    card_store = open_card_store(visit.opened.repository.store, write=False)
    card = Card(path, "", "")
    if card_store is not None:
        with closing(card_store):
            card = card_store.card(path, include_empty=True) or card
    related = [(file, visit.links.file(file), why) for file, why in card.related[:8]]
    return {
        "card": card_parts(visit, card.text),
        "related": related,
        "summary": written_summary(visit.store, "file", path),
    }
