"""The page of a symbol: who uses it, what it uses, and what is known about it.

The answers are those of the commands `callers`, `callees`, `users`, `implementers` and `tests`, with the same numbers;
only beside callees, the unresolved uses are those in the body, not those of the symbol's own name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.history.recent_commits import date_of, open_recent_commits
from golore.graph.queries import questions
from golore.graph.queries.answers import Answer, Link, Meaning, NameMatches, Ref, UnresolvedUses
from golore.graph.queries.edges import in_order, inbound
from golore.mcp_server.services.knowledge.current_summary import written_summary
from golore.mcp_server.view.drawing.neighbours import Box, neighbours_picture
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_DRAWN: Final = 14
"""Most boxes of a side, with the ones for the rest and for tests."""
_LISTED: Final = 100
"""Rows of a list. The command prints the others."""
_COMMITS: Final = 5
QUESTIONS: Final = {"callers": questions.callers, "callees": questions.callees, "users": questions.users}


class Row(NamedTuple):
    """A link as lists show it. `style` is `resolved` or `candidate`; `lines` are addresses of sites by line."""

    symbol: Ref
    name: str
    address: str
    style: str
    how: str
    via: str
    place: str
    place_address: str
    lines: tuple[tuple[int, str], ...]


class Column(NamedTuple):
    """An answer as the page shows it. `tests` are the rows in test files. `question` can be asked of each row again."""

    title: str
    question: str
    resolved: int
    candidates: int
    unresolved: int
    rows: tuple[Row, ...]
    tests: tuple[Row, ...]
    left_out: int
    """rows of code that are not listed; of tests, see `more_tests`"""
    more_tests: int
    by_shape: int
    """what an interface would make possible if the type got into it, which it does nowhere here"""
    inside: tuple[tuple[str, str, tuple[tuple[int, str], ...]], ...] = ()
    """of callees: the unresolved uses in the body: name, reason, and lines with addresses"""


def symbol_page(visit: Visit, text: str) -> Page:
    matches = visit.opened.names.find(text)
    if len(matches.meanings) != 1:
        return _unclear_page(visit, matches)
    subject = matches.meanings[0]
    shown = questions.show(visit.store, subject)
    incoming, outgoing = _columns(visit, subject)
    inside = _unresolved_inside(visit, subject)
    columns = [_column(visit, *answer) for answer in (*incoming, *outgoing)]
    columns = [
        # Uses of the subject's own name say nothing about what it calls.
        one._replace(unresolved=sum(len(lines) for _, _, lines in inside), inside=tuple(inside))
        if one.question == "callees"
        else one
        for one in columns
    ]
    name = visit.short_name(subject.first)
    values: dict[str, Any] = {
        "name": name,
        "id": subject.first.id,
        "listed": _LISTED,
        "subject": subject,
        "declarations": [
            (details, _place(visit, details.symbol), visit.short_text(details.owner) if details.owner else "")
            for details in shown.declarations
        ],
        "members": [
            (member, visit.links.symbol(member.id)) for details in shown.declarations for member in details.members
        ],
        "picture": _picture(visit, name, incoming, outgoing),
        "columns": columns,
        "unresolved": _unresolved(visit, incoming[0][2]),
        "outside": incoming[0][2].unresolved.outside,
        "tests": _column(visit, "Tests", "", questions.tests(visit.store, subject)),
        "package_address": _package_address(visit, subject.first),
        **_knowledge(visit, subject),
    }
    return Page("symbol.html", name, values, "symbol")


def neighbours_part(visit: Visit, text: str, question: str, first: int) -> Page:
    """Rows that unfold below a row of a list: the answer to the same question about that row's symbol; or, from `first`
    on, the next rows of a long list."""
    matches = visit.opened.names.find(text)
    found: list[tuple[Link, str]] = []
    if len(matches.meanings) == 1 and question in QUESTIONS:
        links = _styled(QUESTIONS[question](visit.store, matches.meanings[0]))
        found = sorted(links, key=lambda one: one[0].symbol.test)  # stable: tests last
    rows = tuple(_row(visit, *one) for one in found[first : first + _LISTED])
    values = {"rows": rows, "question": question, "name": text, "next": first + _LISTED}
    return Page("rows.html", "", {**values, "left_out": max(0, len(found) - first - _LISTED)})


def _columns(visit: Visit, subject: Meaning) -> tuple[list[tuple[str, str, Answer]], list[tuple[str, str, Answer]]]:
    """The answers on the left and on the right of the symbol: title, question, answer."""
    store, kind = visit.store, subject.first.kind
    if kind in questions.CALLABLE:
        left = [("Callers", "callers", questions.callers(store, subject))]
        others = [link for symbol in subject.symbols for link in inbound(store, symbol, ("REFERENCES",))]
        if others:
            as_value = Answer("users", subject, in_order(others), (), UnresolvedUses(subject.first.name, 0))
            left.append(("Used as a value", "users", as_value))
    else:
        left = [("Users", "users", questions.users(store, subject))]
    right: list[tuple[str, str, Answer]] = []
    if kind in questions.CALLING and not subject.first.external:
        right.append(("Callees", "callees", questions.callees(store, subject)))
    if kind in questions.TYPES or kind == "imethod":
        found = questions.implementers(store, subject)
        title = "Implementers" if found.question == "implementers" else "Interfaces it satisfies"
        right.append((title, "", found))
    return left, right


def _column(visit: Visit, title: str, question: str, answer: Answer) -> Column:
    links = _styled(answer)
    code = [(link, style) for link, style in links if not link.symbol.test]
    tests = [(link, style) for link, style in links if link.symbol.test]
    return Column(
        title,
        question,
        len(answer.resolved),
        len(answer.candidates),
        answer.unresolved.sites,
        tuple(_row(visit, *one) for one in code[:_LISTED]),
        tuple(_row(visit, *one) for one in tests[:_LISTED]),
        max(0, len(code) - _LISTED),
        max(0, len(tests) - _LISTED),
        answer.by_shape,
    )


def _styled(answer: Answer) -> list[tuple[Link, str]]:
    return [
        *((link, "resolved") for link in answer.resolved),
        *((link, "candidate") for link in answer.candidates),
    ]


def _row(visit: Visit, link: Link, style: str) -> Row:
    symbol, links = link.symbol, visit.links
    how = "" if link.how in ("calls", "implements", "tests") else link.access or link.how
    via = visit.short_text(link.via) if link.via else ""
    place = f"{symbol.file}:{symbol.line}" if symbol.file else symbol.source or "outside the repository"
    lines = tuple((line, links.file(link.file, line)) for line in link.sites[:8])
    return Row(
        symbol,
        visit.short_name(symbol),
        links.symbol(symbol.id),
        style,
        "by pointer" if link.pointer else how,
        via,
        place,
        links.file(symbol.file, symbol.line) if symbol.file else "",
        lines,
    )


def _picture(
    visit: Visit,
    name: str,
    incoming: Sequence[tuple[str, str, Answer]],
    outgoing: Sequence[tuple[str, str, Answer]],
) -> str:
    left = _boxes(visit, [answer for *_, answer in incoming])
    right = _boxes(visit, [answer for *_, answer in outgoing])
    sites = incoming[0][2].unresolved.sites
    plural = "use" if sites == 1 else "uses"
    below = [Box(f"{sites:,} unresolved {plural} of this name", "#unresolved", "unresolved")] if sites else []
    label = f"{name}: {len(left)} boxes lead to it, it leads to {len(right)}"
    return neighbours_picture(name, left, right, below, label)


def _boxes(visit: Visit, answers: Sequence[Answer]) -> list[Box]:
    """A box for each symbol, resolved ones first; the rest and the tests are one box each."""
    code: dict[str, tuple[Ref, str]] = {}
    tests: dict[str, str] = {}
    for style in ("resolved", "candidate"):
        for answer in answers:
            for link in answer.resolved if style == "resolved" else answer.candidates:
                symbol = link.symbol
                if symbol.test:
                    tests.setdefault(symbol.id, style)
                else:
                    code.setdefault(symbol.id, (symbol, style))
    found = list(code.values())
    room = _DRAWN - bool(tests)
    rest = len(found) - room + 1 if len(found) > room else 0
    drawn = [(symbol, visit.short_name(symbol), style) for symbol, style in (found[: room - 1] if rest else found)]
    names = Counter(name for _, name, _ in drawn)
    boxes = [
        Box(_distinct(name, symbol, names[name]), visit.links.symbol(symbol.id), style, symbol.qualified_name)
        for symbol, name, style in drawn
    ]
    if rest:
        boxes.append(Box(f"{rest:,} more in the list below", "#lists", found[-1][1]))
    if tests:
        perhaps = sum(style == "candidate" for style in tests.values())
        words = [f"{len(tests) - perhaps:,} in test files"] if perhaps < len(tests) else []
        words += [f"{perhaps:,} candidates in test files"] if perhaps else []
        style = "candidate" if perhaps == len(tests) else "resolved"
        boxes.append(Box(", ".join(words), "#lists", style))
    return boxes


def _distinct(name: str, symbol: Ref, number: int) -> str:
    """A name in a picture; with its file if it is there more than once, as `init` may be."""
    return f"{name} in {symbol.file.rpartition('/')[2]}" if number > 1 and symbol.file else name


def _unresolved(visit: Visit, answer: Answer) -> list[tuple[str, str, str]]:
    """Examples of unresolved uses of the name: place, address and reason."""
    return [
        (f"{use.file}:{use.line}", visit.links.file(use.file, use.line), use.reason)
        for use in answer.unresolved.examples
    ]


def _unresolved_inside(visit: Visit, subject: Meaning) -> list[tuple[str, str, tuple[tuple[int, str], ...]]]:
    """The unresolved uses in a declaration: name, reason, and lines with addresses."""
    statement = "MATCH (u:Unresolved) WHERE u.source IN $ids RETURN u.name, u.reason, u.file, u.sites ORDER BY u.id"
    return [
        (name, reason, tuple((line, visit.links.file(file, line)) for line in map(int, sites.split())))
        for name, reason, file, sites in visit.store.rows(statement, {"ids": list(subject.ids)})
    ]


def _place(visit: Visit, symbol: Ref) -> str:
    return visit.links.file(symbol.file, symbol.line) if symbol.file else ""


def _package_address(visit: Visit, symbol: Ref) -> str:
    return visit.links.map(symbol.file.rpartition("/")[0]) if symbol.file else ""


def _knowledge(visit: Visit, subject: Meaning) -> dict[str, Any]:
    """The summary, notes, documents and history of a symbol."""
    directory = visit.opened.repository.store
    inside = [symbol for symbol in subject.symbols if not symbol.external]
    summaries = [written_summary(visit.store, "symbol", symbol.id) for symbol in inside]
    with AnnotationReader(directory) as annotations:
        notes = annotations.note_lines_of(symbol.id for symbol in inside)
        documents = annotations.documents_of(symbol.id for symbol in inside)
    return {
        "summaries": [summary for summary in summaries if summary is not None],
        "notes": notes,
        "documents": documents,
        "commits": commits_of(visit, inside[0].file) if inside else [],
    }


def commits_of(visit: Visit, path: str) -> list[tuple[str, str, str]]:
    """The newest commits of a file: date, author and subject."""
    recent = open_recent_commits(visit.opened.repository.store, write=False)
    if recent is None:
        return []
    with recent:
        return [(date_of(one.time), one.author, one.subject) for one in recent.commits_of(path, _COMMITS)]


def _unclear_page(visit: Visit, matches: NameMatches) -> Page:
    """The choice between several meanings of a name, or similar names if it has none."""
    found = [meaning.first for meaning in matches.meanings] or list(matches.suggestions)
    choices = [
        (visit.short_name(one), visit.links.symbol(one.id), one.kind, f"{one.file}:{one.line}" if one.file else "")
        for one in found
    ]
    title = f"{matches.text} has {len(found):,} meanings" if matches.meanings else f"Nothing is named {matches.text}"
    values = {"choices": choices, "is_known": bool(matches.meanings), "text": matches.text}
    return Page("choice.html", title, values, status=200 if matches.meanings else 404)
