"""Answers as text, in two styles: aligned lines with full names for people, compact lines with short names for agents.

The contents are the same in both styles: resolved first, then candidates, and always the number of unresolved uses. The
style decides how symbols are named and how rows are laid out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from golore.graph.phrases import counted, listed
from golore.graph.queries.answers import (
    Answer,
    Impact,
    Link,
    Meaning,
    NameMatches,
    Reached,
    Ref,
    Route,
    SymbolDetails,
    UnresolvedUses,
)
from golore.graph.queries.names.short_names import Naming
from golore.graph.safety.visible_text import visible_block, visible_line
from golore.mcp_server.text.output import cell_text, columns, fitted_columns, line_width, styled, wrapped
from golore.mcp_server.text.pager import is_terminal

DEFAULT_BUDGET: Final = 2_000
SMALLEST, LARGEST = 200, 20_000
CHARACTERS_PER_TOKEN: Final = 3
"""Fewest characters per token: names and paths of Go code have fewer characters per token than prose."""
_SITES: Final = 4
_OUTSIDE: Final = 4
_MATCHES: Final = 15
_MEMBERS: Final = 40
_LEFT_OUT: Final = 100
"""Characters reserved for the sentence that says what was left out."""
_ABOUT_USERS: Final = ("callers", "users", "reads", "writes")
_TITLES: Final = {
    "callers": "Callers of {}",
    "callees": "What {} calls",
    "users": "Users of {}",
    "reads": "Reads of {}",
    "writes": "Writes of {}",
    "implementers": "Implementations of {}",
    "implements": "Interfaces that {} implements",
    "tests": "Tests that reach {}",
}
_NONE: Final = {
    "callers": "No callers are known",
    "callees": "No calls in it are known",
    "users": "No users are known",
    "reads": "No reads are known",
    "writes": "No writes are known",
    "implementers": "No implementations are known",
    "implements": "It implements no known interface",
    "tests": "No tests that reach it are known",
}
_OTHER_USES: Final = {
    "read": "reads",
    "write": "assignments",
    "address": "address taken",
    "literal": "set in literals",
}
_AMONG: Final = "Uses among these declarations are left out."
CANDIDATES: Final = "candidates, through interfaces"
POSSIBLE: Final = "candidates, through interfaces or function values"


@dataclass(frozen=True, slots=True)
class Section:
    """A title and rows of cells. `place`: the cell that has the file and line; on a terminal, rows are grouped by the
    directories, which are the packages, of these."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """`head`, `block` and `tail` are shown in full; of each section, as many rows as fit. A line of head or tail and a
    cell stay on their line, whatever they contain. `block` may have several lines, such as a card."""

    head: tuple[str, ...]
    sections: tuple[Section, ...] = ()
    tail: tuple[str, ...] = ()
    block: str = ""

    def with_tail(self, *lines: str) -> Reply:
        return replace(self, tail=(*self.tail, *lines))


def full_name(qualified_name: str) -> str:
    """For people: `example.com/shop/store.Memory.Save`."""
    return qualified_name


def people_lines(reply: Reply, limit: int) -> list[str]:
    """The reply in columns, with at most `limit` rows of each section, and its first line in bold. On a terminal, rows
    are grouped by package, and lines are wrapped to its width; elsewhere each row is one line, for other programs."""
    if is_terminal(sys.stdout):
        return _terminal_lines(reply, limit, line_width())
    lines = plain_lines(reply, limit)
    return [styled(lines[0], "bold"), *lines[1:]] if reply.head else lines


def _terminal_lines(reply: Reply, limit: int, width: int) -> list[str]:
    lines = [styled(line, "bold") for line in wrapped(reply.head[0], width)] if reply.head else []
    for sentence in reply.head[1:]:
        lines += wrapped(sentence, width)
    lines += reply.block.split("\n") if reply.block else ()
    for section in reply.sections:
        lines.append(styled(section.title, "bold"))
        lines += _grouped_rows(section, limit, width)
        if len(section.rows) > limit:
            lines.append(f"  and {len(section.rows) - limit:,} more: use --limit to see them")
    for line in reply.tail:
        lines += wrapped(line, width)
    return lines


def _grouped_rows(section: Section, limit: int, width: int) -> list[str]:
    """The rows of a section, below the directories of their files."""
    if section.place is None:
        return fitted_columns(section.rows[:limit], width)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in section.rows[:limit]:
        directory, slash, file = row[section.place].rpartition("/")
        groups.setdefault(f"{directory}{slash}" or "./", []).append(
            (*row[: section.place], file, *row[section.place + 1 :])
        )
    lines: list[str] = []
    for directory, rows in groups.items():
        lines += [f"  {directory}", *fitted_columns(rows, width, indent=4)]
    return lines


def plain_lines(reply: Reply, limit: int) -> list[str]:
    """`people_lines` without style."""
    lines = [*reply.head, *(reply.block.split("\n") if reply.block else ())]
    for section in reply.sections:
        lines += [section.title, *columns(section.rows[:limit])]
        if len(section.rows) > limit:
            lines.append(f"  and {len(section.rows) - limit:,} more: use --limit to see them")
    return [*lines, *reply.tail]


def agent_text(reply: Reply, budget: int) -> str:
    """The reply within a budget of tokens."""
    reply = _visible_reply(reply)
    tail = "".join(f"\n{line}" for line in reply.tail)
    room = budget * CHARACTERS_PER_TOKEN - len(tail)
    low, high = 0, max((len(section.rows) for section in reply.sections), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_agent_text(reply, middle, budget)) <= room:
            low = middle
        else:
            high = middle - 1
    return f"{_cut(_agent_text(reply, low, budget), room, budget)}{tail}"


def _visible_reply(reply: Reply) -> Reply:
    return Reply(
        tuple(visible_line(line, kept="\t") for line in reply.head),
        tuple(
            Section(
                visible_line(section.title), tuple(tuple(map(cell_text, row)) for row in section.rows), section.place
            )
            for section in reply.sections
        ),
        tuple(visible_line(line, kept="\t") for line in reply.tail),
        visible_block(reply.block),
    )


def answer_reply(answer: Answer, name: Naming) -> Reply:
    head = _heading(_TITLES[answer.question], answer.subject)
    sections: list[Section] = []
    is_about_users = answer.question in _ABOUT_USERS
    if answer.resolved:
        sections.append(_section("resolved", [_link_row(answer, link, name) for link in answer.resolved], 0))
    if answer.candidates:
        title = POSSIBLE if answer.question == "tests" else CANDIDATES
        sections.append(_section(title, [_link_row(answer, link, name) for link in answer.candidates], 0))
    if not sections:
        head.append(_nothing(_NONE[answer.question], answer.unresolved, is_about_users=is_about_users))
    elif not answer.resolved:
        head.append(f"{_NONE[answer.question]} for certain.")
    if answer.other_accesses:
        counts = [f"{_OTHER_USES[access]} {number:,}" for access, number in answer.other_accesses]
        head.append(f"Other uses: {', '.join(counts)}.")
    if answer.subject.is_group and sections and answer.question in (*_ABOUT_USERS, "callees"):
        head.append(_AMONG)
    if answer.by_shape:
        head.append(_by_shape(answer, is_about_users=is_about_users))
    # Unresolved uses of the name may be further users; they say nothing about callees, implementations or tests.
    return Reply(tuple(head), tuple(sections), unresolved_lines(answer.unresolved, name) if is_about_users else ())


def _by_shape(answer: Answer, *, is_about_users: bool) -> str:
    if is_about_users:
        return (
            "Its type satisfies interfaces that nothing here puts it into. Not listed: "
            f"{counted(answer.by_shape, 'call')} through those."
        )
    return (
        f"Not listed: {counted(answer.by_shape, 'method')} of types that satisfy the interface, but that nothing here "
        "puts into it."
    )


def impact_reply(found: Impact, name: Naming) -> Reply:
    head = _heading(f"What a change of {{}} may reach within {counted(found.depth, 'step')}", found.subject)
    parts = (("resolved", found.resolved), (POSSIBLE, found.candidates), ("tests", found.tests))
    sections = [_section(title, [_reached_row(one, name) for one in reached], 1) for title, reached in parts if reached]
    if not sections:
        head.append(_nothing("Nothing that uses it is known", found.unresolved, is_about_users=True))
    elif found.subject.is_group:
        head.append(_AMONG)
    if sections and not found.complete:
        head.append("This may not be all: the search stopped at its depth or at its limit of symbols.")
    return Reply(tuple(head), tuple(sections), unresolved_lines(found.unresolved, name))


def route_reply(route: Route, name: Naming) -> Reply:
    ends = f"{name(route.source.name)} to {name(route.target.name)}"
    if not route.steps:
        nearest = "" if route.complete else " among the nearest calls"
        sentence = _nothing(f"No path from {ends} is known{nearest}", route.unresolved, is_about_users=True)
        return Reply((sentence,), (), unresolved_lines(route.unresolved, name))
    certainty = "" if route.certain else ", possible through interfaces or function values"
    rows = [("from", name(route.steps[0].symbol.qualified_name), location(route.steps[0].symbol))]
    for step in route.steps[1:]:
        where = f"{step.file}:{_sites(step.sites)}" if step.sites else location(step.symbol)
        rows.append((step.how, name(step.symbol.qualified_name), where))
    return Reply(
        (f"From {ends}: {counted(len(route.steps) - 1, 'step')}{certainty}",), (Section("steps", tuple(rows)),)
    )


def matches_reply(matches: NameMatches) -> Reply:
    """Why a name was not accepted: what it may mean, or the names that are similar."""
    if matches.meanings:
        rows = [
            (symbol.kind, meaning.name if len(meaning.symbols) > 1 else symbol.id, location(symbol))
            for meaning in matches.meanings
            for symbol in meaning.symbols[:1]
        ]
        left = len(rows) - _MATCHES
        title = f"{matches.text!r} is ambiguous: it may mean {counted(len(rows), 'symbol')}. Give one of these names:"
        tail = (f"  and {left:,} more",) if left > 0 else ()
        return Reply((title,), (Section("", tuple(rows[:_MATCHES])),), tail)
    title = f"Nothing is named {matches.text!r}."
    if matches.suggestions:
        rows = [(symbol.kind, symbol.qualified_name, location(symbol)) for symbol in matches.suggestions]
        return Reply((f"{title} Similar names:",), (Section("", tuple(rows)),))
    return Reply((title,))


def details_lines(details: SymbolDetails) -> list[str]:
    """Everything known about a declaration, for people."""
    symbol = details.symbol
    lines = [styled(symbol.qualified_name, "bold") + f"  ({symbol.kind}, {location(symbol)})"]
    if details.signature:
        lines.append(f"  {details.signature}")
    if details.doc:
        lines += ["", *(f"  {line}".rstrip() for line in details.doc.splitlines()), ""]
    facts = [
        ("deprecated", "yes" if details.deprecated else ""),
        ("built when", details.constraint),
        ("tag", details.tag),
        ("belongs to", details.owner),
        ("callers", str(details.callers or "")),
        ("through interfaces", _candidate_callers(details.candidate_callers)),
        ("from outside", f"may be called through {listed(details.outside, _SITES)}" if details.outside else ""),
        ("callees", str(details.callees or "")),
        ("users", str(details.users or "")),
        ("implementers", str(details.implementers or "")),
        ("implements", _names(link.symbol for link in details.implements)),
        ("embeds", _names(link.symbol for link in details.embeds)),
        ("tested by", _names(details.tests)),
    ]
    lines += columns([fact for fact in facts if fact[1]])
    if details.members:
        lines.append(f"  members ({len(details.members):,})")
        rows = [(member.kind, member.name, location(member)) for member in details.members[:_MEMBERS]]
        lines += columns(rows, indent=4)
        if len(details.members) > _MEMBERS:
            lines.append(f"    and {len(details.members) - _MEMBERS:,} more")
    return lines


def _candidate_callers(number: int) -> str:
    return f"{number:,} more may call it" if number else ""


def outline_lines(group: Meaning, naming: Naming) -> list[str]:
    """The declarations of a file or of some of its lines, for people."""
    rows = [(str(symbol.line), symbol.kind, naming(symbol.qualified_name)) for symbol in group.symbols]
    return [styled(group.name, "bold") + f"  ({counted(len(rows), 'declaration')})", *columns(rows)]


def location(symbol: Ref) -> str:
    return f"{symbol.file}:{symbol.line}" if symbol.file else f"outside ({symbol.source or 'unknown'})"


def unresolved_lines(unresolved: UnresolvedUses, name: Naming) -> tuple[str, ...]:
    """The unresolved uses of a name, and the interfaces outside the repository through which it may be called."""
    lines: list[str] = []
    if unresolved.sites:
        rows = [(f"{use.file}:{use.line}", name(use.source), use.reason) for use in unresolved.examples]
        lines = [f"{_unresolved_uses(unresolved)}:", *columns(rows)]
        if unresolved.sites > len(rows):
            lines.append(f"  and {unresolved.sites - len(rows):,} more")
    if unresolved.outside:
        outside = listed(unresolved.outside, _OUTSIDE)
        lines.append(
            f"Its type also satisfies {outside}, declared outside the repository; calls from there are not counted."
        )
    return tuple(lines)


def _unresolved_uses(unresolved: UnresolvedUses) -> str:
    verb = "has" if unresolved.sites == 1 else "have"
    return f"{counted(unresolved.sites, 'unresolved use')} {verb} the name {_name_of(unresolved)}"


def _name_of(unresolved: UnresolvedUses) -> str:
    return unresolved.name or "of one of its declarations"


def _nothing(sentence: str, unresolved: UnresolvedUses, *, is_about_users: bool) -> str:
    if not is_about_users:
        return f"{sentence}."
    if not unresolved.sites:
        return f"{sentence}, and no unresolved use has the name {_name_of(unresolved)}."
    return f"{sentence} for certain."  # the unresolved uses are listed below


def _agent_text(reply: Reply, most: int, budget: int) -> str:
    lines = [*reply.head, *([reply.block] if reply.block else ())]
    left_out = 0
    for section in reply.sections:
        lines += [f"{section.title}:"] if section.title else []
        lines += [f"  {'  '.join(cell for cell in row if cell)}" for row in section.rows[:most]]
        left = max(0, len(section.rows) - most)
        left_out += left
        if left:
            lines.append(f"  … {left:,} more")
    if left_out:
        lines.append(f"Left out: {counted(left_out, 'row')}; raise `budget` (now {budget}) to see more.")
    return "\n".join(lines)


def _cut(text: str, room: int, budget: int) -> str:
    """Cut a text at the last line that fits; only needed if the head alone is too long."""
    if len(text) <= room:
        return text
    kept = text[: max(0, room - _LEFT_OUT)]
    kept = kept[: kept.rfind("\n")] if "\n" in kept else kept
    return f"{kept}\n… {len(text) - len(kept):,} more characters left out; raise `budget` (now {budget}) to see them."


def _heading(title: str, subject: Meaning) -> list[str]:
    """The title with the full name, in both styles: a reader may need it to ask again."""
    first = subject.first
    about = f"{first.kind}, {location(first)}"
    if subject.is_group:
        about = counted(len(subject.symbols), "declaration")
    elif len(subject.symbols) > 1:
        about += f", and {counted(len(subject.symbols) - 1, 'twin')} for other builds"
    explanation = [subject.explanation] if subject.explanation else []
    return [f"{title.format(subject.name)} ({about})", *explanation]


def _section(title: str, rows: Sequence[tuple[str, ...]], place: int) -> Section:
    return Section(f"{title} ({len(rows):,})", tuple(rows), place)


def _link_row(answer: Answer, link: Link, name: Naming) -> tuple[str, ...]:
    where, how = location(link.symbol), ""
    if answer.question in (*_ABOUT_USERS, "tests"):
        where = f"{link.file}:{_sites(link.sites)}" if link.sites else where
        how = link.access or link.how if answer.question == "users" and not link.subject else ""
    elif answer.question == "callees":
        how = f"at {_sites(link.sites)}"
    elif link.how == "implements" and link.symbol.kind != "method":
        how = "by pointer" if link.pointer else "by value"
    if link.subject:
        how = f"{_of_group(answer, link)} {name(link.subject)}{how and ', '}{how}"
    if link.via:
        is_handed_over = answer.question == "tests" and link.evidence
        how = f"{link.evidence if is_handed_over else f'{how} via'} {name(link.via)}".strip()
    return (where, name(link.symbol.qualified_name), how)


def _of_group(answer: Answer, link: Link) -> str:
    """The words between a row and the declaration that it is about, if the question is about several."""
    if answer.question == "callees":
        return "called by"
    if answer.question == "implements":
        return "by"
    return f"{link.access} of" if link.access else link.how


def _reached_row(one: Reached, name: Naming) -> tuple[str, ...]:
    where = f" at {_sites(one.sites)}" if one.sites else ""
    how = f"{one.how} {name(one.through)}{where}"
    return (str(one.depth), location(one.symbol), name(one.symbol.qualified_name), how)


def _sites(sites: Sequence[int]) -> str:
    shown = ",".join(map(str, sites[:_SITES]))
    return shown if len(sites) <= _SITES else f"{shown},…"


def _names(symbols: Iterable[Ref]) -> str:
    return listed([symbol.qualified_name for symbol in symbols], _SITES)
