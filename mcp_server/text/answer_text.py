"""Answers as text: short lines, most certain first, and always how much is left out or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

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
    SymbolAnswer,
    SymbolDetails,
    UnresolvedUses,
)
from golore.mcp_server.text.output import columns, styled

_SITES: Final = 4
_MEANINGS: Final = 20
_MEMBERS: Final = 40
_OUTSIDE: Final = 4
_NONE: Final = {
    "callers": "No callers of {} are known",
    "callees": "No calls in {} are known",
    "users": "No users of {} are known",
    "implementers": "No implementations of {} are known",
    "implements": "{} implements no interface that is known",
}
TITLES: Final = {
    "callers": "Callers of {}",
    "callees": "What {} calls",
    "users": "Users of {}",
    "implementers": "Implementations of {}",
    "implements": "Interfaces that {} implements",
    "tests": "Tests that exercise {}",
}


def answer_lines(answer: Answer, limit: int) -> list[str]:
    name = answer.subject.name
    lines = _heading(TITLES[answer.question].format(name), answer.subject)
    if answer.resolved:
        lines += _section("resolved", [_link_row(answer, link) for link in answer.resolved], limit)
    if answer.candidates:
        lines += _section(
            "candidates, through interfaces", [_link_row(answer, link) for link in answer.candidates], limit
        )
    if not answer.resolved and not answer.candidates:
        return [*lines, *_nothing(_NONE[answer.question].format(name), answer.unresolved)]
    if not answer.resolved:
        lines.append(f"{_NONE[answer.question].format(name)} for certain.")
    return [*lines, *_doubt_lines(answer.unresolved)]


def impact_lines(found: Impact, limit: int) -> list[str]:
    name = found.subject.name
    lines = _heading(f"What a change of {name} may reach, in {counted(found.depth, 'step')}", found.subject)
    parts = (("resolved", found.resolved), ("candidates, through interfaces", found.candidates), ("tests", found.tests))
    for title, reached in parts:
        if reached:
            lines += _section(title, [_reached_row(one) for one in reached], limit)
    if not any(reached for _, reached in parts):
        return [*lines, *_nothing(f"Nothing that uses {name} is known", found.unresolved)]
    if not found.complete:
        lines.append("This may not be all: use a larger --depth, or ask about what is listed.")
    return [*lines, *_doubt_lines(found.unresolved)]


def route_lines(route: Route) -> list[str]:
    if not route.steps:
        sentence = f"No way from {route.source.name} to {route.target.name} is known"
        if not route.complete:
            sentence += " among the nearest calls"
        return _nothing(sentence, route.unresolved)
    rows: list[tuple[str, str, str]] = []
    for at, step in enumerate(route.steps):
        where = f"{step.file}:{_sites(step.sites)}" if step.sites else location(step.symbol)
        rows.append((f"{step.how or 'from'}", step.symbol.qualified_name, where if at else location(step.symbol)))
    calls = counted(len(route.steps) - 1, "step")
    certainty = "" if route.certain else ", possible through interfaces only"
    return [styled(f"{route.source.name} → {route.target.name}: {calls}{certainty}", "bold"), *columns(rows)]


def show_lines(shown: SymbolAnswer) -> list[str]:
    lines: list[str] = []
    for portrait in shown.declarations:
        lines += [*_portrait_lines(portrait), ""]
    return [*lines[:-1], *_doubt_lines(shown.unresolved)]


def not_one_lines(found: NameMatches) -> list[str]:
    """Why a name could not be taken: what it may mean, or what is close to it."""
    if found.meanings:
        first = f"golore: {found.text!r} is ambiguous: it may mean {counted(len(found.meanings), 'symbol')}."
        rows = [
            (symbol.kind, meaning.name if len(meaning.symbols) > 1 else symbol.id, location(symbol))
            for meaning in found.meanings[:_MEANINGS]
            for symbol in meaning.symbols[:1]
        ]
        left = len(found.meanings) - len(rows)
        rest = [f"  and {left:,} more"] if left else []
        return [f"{first} Name one of them in full.", *columns(rows), *rest]
    first = f"golore: Nothing is named {found.text!r}."
    if not found.suggestions:
        return [f"{first} Run `golore learn` if it is new."]
    rows = [(symbol.kind, symbol.qualified_name, location(symbol)) for symbol in found.suggestions]
    return [f"{first} Similar names:", *columns(rows)]


def table_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["No rows."]
    names = list(rows[0])
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    return columns(cells, indent=0)


def location(symbol: Ref) -> str:
    return f"{symbol.file}:{symbol.line}" if symbol.file else f"outside ({symbol.source or 'unknown'})"


def _cell(value: object) -> str:
    return " ".join(str(value).split())


def _heading(title: str, subject: Meaning) -> list[str]:
    first = subject.first
    twins = f", and {counted(len(subject.symbols) - 1, 'twin')} for other builds" if len(subject.symbols) > 1 else ""
    return [styled(title, "bold") + f"  ({first.kind}, {location(first)}{twins})"]


def _section(title: str, rows: Sequence[Sequence[str]], limit: int) -> list[str]:
    lines = [f"{title} ({len(rows):,})", *columns(rows[:limit])]
    if len(rows) > limit:
        lines.append(f"  and {len(rows) - limit:,} more: use --limit to see them")
    return lines


def _link_row(answer: Answer, link: Link) -> tuple[str, str, str]:
    where = location(link.symbol)
    note = ""
    if answer.question in ("callers", "users"):
        where = f"{link.file}:{_sites(link.sites)}" if link.sites else where
        note = "" if answer.question == "callers" else link.how
    elif answer.question == "callees":
        note = f"at {_sites(link.sites)}"
    elif link.how == "implements" and link.symbol.kind != "method":
        note = "by pointer" if link.pointer else "by value"
    if link.via:
        note = f"{note} via {link.via}".strip()
    return (where, link.symbol.qualified_name, note)


def _reached_row(one: Reached) -> tuple[str, str, str, str]:
    return (str(one.depth), location(one.symbol), one.symbol.qualified_name, f"{one.how} {one.through}")


def _sites(sites: Sequence[int]) -> str:
    shown = ",".join(map(str, sites[:_SITES]))
    return shown if len(sites) <= _SITES else f"{shown},…"


def _nothing(sentence: str, doubt: UnresolvedUses) -> list[str]:
    if not doubt.sites:
        return [f"{sentence}, and no unresolved site bears the name {doubt.name}.", *outside_lines(doubt)]
    verb = "bears" if doubt.sites == 1 else "bear"
    return [
        f"{sentence}, but {counted(doubt.sites, 'unresolved site')} {verb} the name {doubt.name}:",
        *_examples(doubt),
        *outside_lines(doubt),
    ]


def _doubt_lines(doubt: UnresolvedUses) -> list[str]:
    if not doubt.sites:
        return outside_lines(doubt)
    verb = "bears" if doubt.sites == 1 else "bear"
    head = f"{counted(doubt.sites, 'unresolved site')} {verb} the name {doubt.name}:"
    return [head, *_examples(doubt), *outside_lines(doubt)]


def outside_lines(doubt: UnresolvedUses) -> list[str]:
    """What is said of calls that come from outside, if there may be any."""
    if not doubt.outside:
        return []
    outside = listed(doubt.outside, _OUTSIDE)
    return [f"Its type satisfies {outside} from outside; calls through those, out of sight, are not counted."]


def _examples(doubt: UnresolvedUses) -> list[str]:
    lines = columns([(f"{use.file}:{use.line}", use.source, use.reason) for use in doubt.examples])
    if doubt.sites > len(doubt.examples):
        lines.append(f"  and {doubt.sites - len(doubt.examples):,} more")
    return lines


def _portrait_lines(shown: SymbolDetails) -> list[str]:
    symbol = shown.symbol
    lines = [styled(symbol.qualified_name, "bold") + f"  ({symbol.kind}, {location(symbol)})"]
    if shown.signature:
        lines.append(f"  {shown.signature}")
    if shown.doc:
        lines += ["", *(f"  {line}".rstrip() for line in shown.doc.splitlines()), ""]
    facts = [
        ("deprecated", "yes" if shown.deprecated else ""),
        ("built when", shown.constraint),
        ("tag", shown.tag),
        ("belongs to", shown.owner),
        ("callers", str(shown.callers or "")),
        ("callees", str(shown.callees or "")),
        ("users", str(shown.users or "")),
        ("implementers", str(shown.implementers or "")),
        ("implements", _names(link.symbol for link in shown.implements)),
        ("embeds", _names(link.symbol for link in shown.embeds)),
        ("tested by", _names(shown.tests)),
    ]
    lines += columns([fact for fact in facts if fact[1]])
    if shown.members:
        lines.append(f"  members ({len(shown.members):,})")
        rows = [(member.kind, member.name, location(member)) for member in shown.members[:_MEMBERS]]
        lines += columns(rows, indent=4)
        if len(shown.members) > _MEMBERS:
            lines.append(f"    and {len(shown.members) - _MEMBERS:,} more")
    return lines


def _names(symbols: Iterable[Ref]) -> str:
    return listed([symbol.qualified_name for symbol in symbols], _SITES)
