"""API changes as text and as JSON."""

from __future__ import annotations

from typing import Any, Final

from golore.graph.changes.api_change import ApiChange, Release
from golore.graph.changes.broken_users import BreakingChange, BreakingReport
from golore.graph.phrases import counted, joined, listed
from golore.graph.queries.answers import Link
from golore.graph.queries.names.short_names import Naming
from golore.mcp_server.text.output import to_json_value
from golore.mcp_server.text.replies import Reply, Section, location

_USERS: Final = 3


def breaking_reply(report: BreakingReport, name: Naming) -> Reply:
    numbers = [
        counted(len(report.breaking), "breaking change"),
        counted(len(report.compatible), "compatible change"),
    ]
    if report.uncertain:
        numbers.insert(1, f"{len(report.uncertain):,} that may break")
    head = f"{report.base}..{report.target}: {joined(numbers)} of the exported API."
    parts = (("breaking", report.breaking), ("may break: a type is not known", report.uncertain))
    sections = [
        Section(f"{title} ({len(changes):,})", tuple(row for one in changes for row in _rows(one, name)))
        for title, changes in parts
        if changes
    ]
    if report.compatible:
        rows = tuple(_row(change, name) for change in report.compatible)
        sections.append(Section(f"compatible ({len(rows):,})", rows))
    return Reply((head,), tuple(sections), tuple(map(_release, report.releases)))


def _rows(one: BreakingChange, name: Naming) -> list[tuple[str, ...]]:
    """A change, then the declarations before and after, then its users."""
    change = one.change
    rows = [_row(change, name)]
    texts = (("-", change.before), ("+", change.after))
    rows += [("", f"{sign} {text}", "") for sign, text in texts if text and change.before != change.after]
    users = [f"{name(link.symbol.qualified_name)} ({_site(link)})" for link in one.users]
    users += [f"unresolved in {use.file}:{use.line}" for use in one.unresolved]
    return [*rows, ("", f"used by {listed(users, _USERS)}", "")] if users else rows


def _site(link: Link) -> str:
    return f"{link.file}:{link.sites[0]}" if link.sites else location(link.symbol)


def _row(change: ApiChange, name: Naming) -> tuple[str, ...]:
    where = f"{change.file}:{change.line}" if change.line else f"{change.file or '.'}/"
    return where, name(change.qualified_name), change.what


def _release(release: Release) -> str:
    part = f"{release.module or 'Without a module'}: semantic versioning asks for a new {release.bump} version"
    return f"{part}, {release.version}." if release.version else f"{part}."


def change_document(one: BreakingChange) -> dict[str, Any]:
    return {
        **to_json_value(one.change),
        "users": [
            {"symbol": link.symbol.qualified_name, "how": link.how, "file": link.file, "sites": list(link.sites)}
            for link in one.users
        ],
        "unresolved": to_json_value(one.unresolved),
    }
