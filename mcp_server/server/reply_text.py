"""Answers as an agent gets them: short lines without padding, cut to a budget, with a word on what was left out.

Symbols are named as Go code would (`store.Memory.Save`), which is enough to ask about them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from golore.graph.phrases import counted, listed
from golore.graph.queries.answers import Answer, Impact, Link, Meaning, NameMatches, Reached, Ref, Route, UnresolvedUses
from golore.mcp_server.server.open_repositories import OpenRepository
from golore.mcp_server.text.answer_text import TITLES, outside_lines

BUDGET: Final = 2_000
SMALLEST, LARGEST = 200, 20_000
CHARACTERS: Final = 3
"""In a token, at least: names and paths of Go code have fewer of them to a token than prose."""
_NOTE: Final = 100
"""Characters that the word on what was left out may need."""
_SITES: Final = 4
_NAMED: Final = 5
_MEANINGS: Final = 15
_ABOUT_USERS: Final = ("callers", "users")
_NONE: Final = {
    "callers": "No callers are known",
    "callees": "No calls in it are known",
    "users": "No users are known",
    "implementers": "No implementations are known",
    "implements": "It implements no interface that is known",
    "tests": "No tests that exercise it are known",
}


@dataclass(frozen=True, slots=True)
class ReplySection:
    title: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """Of the sections as many rows are shown as fit; `head` and `tail` always are."""

    head: tuple[str, ...]
    sections: tuple[ReplySection, ...] = ()
    tail: tuple[str, ...] = ()


def fit_reply(reply: Reply, budget: int) -> str:
    """The text of a reply within a budget of tokens."""
    tail = "".join(f"\n{line}" for line in reply.tail)
    room = budget * CHARACTERS - len(tail)
    low, high = 0, max((len(section.rows) for section in reply.sections), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_text(reply, middle, budget)) <= room:
            low = middle
        else:
            high = middle - 1
    return f"{_cut(_text(reply, low, budget), room, budget)}{tail}"


def _cut(text: str, room: int, budget: int) -> str:
    """A text ended at a line where the room is; only where what must be said is too much."""
    if len(text) <= room:
        return text
    kept = text[: max(0, room - _NOTE)]
    kept = kept[: kept.rfind("\n")] if "\n" in kept else kept
    return f"{kept}\n… {len(text) - len(kept):,} more characters left out; raise `budget` (now {budget}) to see them."


def _text(reply: Reply, rows: int, budget: int) -> str:
    lines = [*reply.head]
    left_out = 0
    for section in reply.sections:
        lines.append(section.title)
        lines += [f"  {row}" for row in section.rows[:rows]]
        left = max(0, len(section.rows) - rows)
        left_out += left
        if left:
            lines.append(f"  … {left:,} more")
    if left_out:
        lines.append(f"Left out: {counted(left_out, 'row')}; raise `budget` (now {budget}) to see more.")
    return "\n".join(lines)


def answer_reply(answer: Answer) -> Reply:
    head = [_heading(TITLES[answer.question], answer.subject)]
    sections: list[ReplySection] = []
    if answer.resolved:
        sections.append(_section("resolved", (_link_row(answer, link) for link in answer.resolved)))
    elif not answer.candidates:
        doubt = _but(answer.unresolved) if answer.question in _ABOUT_USERS else ""
        head.append(f"{_NONE[answer.question]}{doubt}.")
    if answer.candidates:
        rows = (_link_row(answer, link) for link in answer.candidates)
        sections.append(_section("candidates, possible through an interface", rows))
    # Uses that bear the name are doubts about who uses it, not about what it does.
    is_about_users = answer.question in _ABOUT_USERS
    return Reply(tuple(head), tuple(sections), _doubts(answer.unresolved) if is_about_users else ())


def impact_reply(found: Impact) -> Reply:
    head = [_heading(f"What a change of {{}} may reach within {counted(found.depth, 'step')}", found.subject)]
    parts = (
        ("certain", found.resolved),
        ("possible, through an interface", found.candidates),
        ("tests to run", found.tests),
    )
    sections = tuple(_section(title, map(_reached_row, reached)) for title, reached in parts if reached)
    if not sections:
        head.append(f"Nothing that uses it is known{_but(found.unresolved)}.")
    elif not found.complete:
        head.append("Not all: the search stopped at its depth or at its limit of symbols.")
    return Reply(tuple(head), sections, _doubts(found.unresolved))


def route_reply(route: Route) -> Reply:
    ends = f"{_spoken(route.source.name)} to {_spoken(route.target.name)}"
    if not route.steps:
        nearest = "" if route.complete else " among the nearest calls"
        return Reply((f"No way from {ends} is known{nearest}{_but(route.unresolved)}.",), (), _doubts(route.unresolved))
    certainty = "" if route.certain else ", possible through interfaces only"
    rows = [f"{name(route.steps[0].symbol)}  {location(route.steps[0].symbol)}"]
    for step in route.steps[1:]:
        where = f"{step.file}:{_sites(step.sites)}" if step.sites else location(step.symbol)
        rows.append(f"→ {step.how} {name(step.symbol)}  {where}")
    return Reply(
        (f"From {ends}: {counted(len(route.steps) - 1, 'step')}{certainty}",), (ReplySection("steps:", tuple(rows)),)
    )


def not_one_text(found: NameMatches) -> str:
    """Why a name could not be taken: what it may mean, or what is close to it."""
    if found.meanings:
        rows = [
            f"  {symbol.kind} {meaning.name if len(meaning.symbols) > 1 else symbol.id}  {location(symbol)}"
            for meaning in found.meanings[:_MEANINGS]
            for symbol in meaning.symbols[:1]
        ]
        if len(found.meanings) > len(rows):
            rows.append(f"  … {len(found.meanings) - len(rows):,} more; memory_search lists them")
        many = counted(len(found.meanings), "symbol")
        return "\n".join([f"{found.text!r} may mean {many}. Ask again with one of these names in full:", *rows])
    if found.suggestions:
        rows = [f"  {symbol.kind} {symbol.qualified_name}  {location(symbol)}" for symbol in found.suggestions]
        return "\n".join([f"Nothing is named {found.text!r}. Similar names:", *rows])
    return f"Nothing is named {found.text!r} or alike. Try memory_search, or memory_learn if the code is new."


def staleness_lines(asked: OpenRepository) -> tuple[str, ...]:
    """A line where the graph is behind the files or may be; nothing where it is level with them."""
    lines: list[str] = []
    changes = asked.changes
    do = "A learn is running now." if asked.is_being_learned else "Call memory_learn to bring the graph up to date."
    if asked.is_outdated:
        lines.append(f"An older golore made this graph. {do}")
    if changes is None:
        lines.append("It cannot be told whether files have changed since the last learn. Call memory_learn to be sure.")
    elif len(changes):
        count = counted(len(changes), "file")
        lines.append(f"Behind the files: {count} changed since the last learn ({listed(changes.paths, _NAMED)}). {do}")
    return tuple(lines)


def name(symbol: Ref) -> str:
    return _spoken(symbol.qualified_name)


def location(symbol: Ref) -> str:
    return f"{symbol.file}:{symbol.line}" if symbol.file else f"outside ({symbol.source or 'unknown'})"


def _spoken(qualified_name: str) -> str:
    return qualified_name.rpartition("/")[2]


def _heading(title: str, subject: Meaning) -> str:
    first = subject.first
    twins = f", and {counted(len(subject.symbols) - 1, 'twin')} for other builds" if len(subject.symbols) > 1 else ""
    return f"{title.format(subject.name)} ({first.kind}, {location(first)}{twins})"


def _section(title: str, rows: Iterable[str]) -> ReplySection:
    listed = tuple(rows)
    return ReplySection(f"{title} ({len(listed):,}):", listed)


def _link_row(answer: Answer, link: Link) -> str:
    where, note = location(link.symbol), ""
    if answer.question in ("callers", "users", "tests"):
        where = f"{link.file}:{_sites(link.sites)}" if link.sites else where
        note = link.how if answer.question == "users" else ""
    elif answer.question == "callees":
        note = f"at {_sites(link.sites)}"
    elif link.how == "implements" and link.symbol.kind != "method":
        note = "by pointer" if link.pointer else "by value"
    if link.via:
        note = f"{note} via {_spoken(link.via)}".strip()
    return f"{where}  {name(link.symbol)}{f'  {note}' if note else ''}"


def _reached_row(one: Reached) -> str:
    return f"{one.depth}  {location(one.symbol)}  {name(one.symbol)}  {one.how} {_spoken(one.through)}"


def _sites(sites: Sequence[int]) -> str:
    shown = ",".join(map(str, sites[:_SITES]))
    return shown if len(sites) <= _SITES else f"{shown},…"


def _but(doubt: UnresolvedUses) -> str:
    if doubt.sites:
        return ""
    return f", and no unresolved use bears the name {doubt.name}"


def _doubts(doubt: UnresolvedUses) -> tuple[str, ...]:
    outside = outside_lines(doubt)
    if not doubt.sites:
        return tuple(outside)
    verb = "bears" if doubt.sites == 1 else "bear"
    rows = [f"  {use.file}:{use.line}  {_spoken(use.source)}  {use.reason}" for use in doubt.examples]
    more = [f"  … {doubt.sites - len(rows):,} more"] if doubt.sites > len(rows) else []
    return (f"{counted(doubt.sites, 'unresolved use')} {verb} the name {doubt.name}:", *rows, *more, *outside)
