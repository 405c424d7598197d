"""What a change affects, as text, as Markdown for a pull request, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from golore.graph.changes.affected import Affected
from golore.graph.changes.change_set import DeclarationChange
from golore.graph.changes.changed_symbols import ChangedDeclaration
from golore.graph.changes.described import Companion, Description
from golore.graph.phrases import counted, joined
from golore.graph.queries.answers import Reached, Ref
from golore.graph.queries.names.short_names import Naming
from golore.mcp_server.text.breaking_text import change_document
from golore.mcp_server.text.output import to_json_value
from golore.mcp_server.text.replies import POSSIBLE, Reply, Section, location

_LONGEST: Final = 120
_FILES: Final = 10
_ROWS: Final = 20
"""Rows of each list in Markdown."""
_UNCERTAIN_TESTS: Final = "Some of these tests may not reach the change: there was too much code to follow."
_MORE_TESTS: Final = "More tests than these may reach the change: so much code uses it that the search stopped."
_INCOMPLETE: Final = "More code than this may use it: the search stopped at its depth or at its limit of symbols."


def affected_reply(found: Affected, name: Naming) -> Reply:
    if not found.has_changes:
        return Reply((f"No file differs between {found.base} and {found.target}.",))
    sections = [
        _section("changed", [_changed_row(one, name) for one in found.changed]),
        _section(
            "breaking", [(one.change.file, name(one.change.qualified_name), one.change.what) for one in found.breaking]
        ),
        _section("used by", [_reached_row(one, name) for one in found.resolved]),
        _section(POSSIBLE, [_reached_row(one, name) for one in found.candidates]),
        _section("files to look at", [(one.path, ", ".join(one.why)) for one in found.nearby[:_FILES]]),
        _section("described in", [_description_row(one, name) for one in found.descriptions]),
        _section("usually changed together, and not changed here", map(_companion_row, found.companions)),
        _section("tests to run", [(location(one.symbol), one.symbol.name) for one in found.tests.tests]),
        _section("commands", [(command,) for command in found.commands]),
    ]
    return Reply((_headline(found),), tuple(one for one in sections if one.rows), _remarks(found))


def _headline(found: Affected) -> str:
    counts = [
        counted(len(found.files), "changed file"),
        counted(len(found.changed), "declaration"),
        f"used by {counted(len(found.resolved), 'declaration')}",
        counted(len(found.tests.tests) + found.tests_left_out, "test") + " to run",
    ]
    if found.breaking:
        counts.append(counted(len(found.breaking), "breaking change"))
    return f"{found.base}..{found.target}: {joined(counts)}."


def _remarks(found: Affected) -> tuple[str, ...]:
    remarks: list[str] = []
    if found.tests_left_out:
        remarks.append(f"{counted(found.tests_left_out, 'test')} more may reach the change.")
    if found.tests.tests and not found.tests.is_exact:
        remarks.append(_UNCERTAIN_TESTS)
    if not found.tests.is_complete:
        remarks.append(_MORE_TESTS)
    if not found.is_complete:
        remarks.append(_INCOMPLETE)
    return tuple(remarks)


def _section(title: str, rows: Iterable[tuple[str, ...]]) -> Section:
    rows = tuple(rows)
    return Section(f"{title} ({len(rows):,})", rows)


def _changed_row(one: ChangedDeclaration, name: Naming) -> tuple[str, ...]:
    current = one.change.current
    return f"{current.file}:{current.line}", name(_name(one)), _how(one.change)


def _how(change: DeclarationChange) -> str:
    how = f"{change.how} changed" if change.how in ("body", "signature") else change.how
    if change.before is not None and change.how in ("renamed", "moved"):
        how += f" from {change.before.local_name if change.how == 'renamed' else change.before.file}"
    return f"{how} ({change.reason})" if change.reason else how


def _name(one: ChangedDeclaration) -> str:
    return one.symbols[0].qualified_name if one.symbols else one.change.current.local_name


def _reached_row(one: Reached, name: Naming) -> tuple[str, ...]:
    return str(one.depth), location(one.symbol), name(one.symbol.qualified_name), f"{one.how} {name(one.through)}"


def _description_row(one: Description, name: Naming) -> tuple[str, ...]:
    return one.place, one.kind, _short(one.text), name(one.subject)


def _companion_row(one: Companion) -> tuple[str, ...]:
    return one.file, f"{one.shared} of {one.commits} commits of {one.changed}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def affected_markdown(found: Affected) -> str:
    """A comment for a pull request. Names of code are in code spans, which keep Markdown from reading them."""
    if not found.has_changes:
        return f"No file differs between {_code(found.base)} and {_code(found.target)}.\n"
    lines = [f"### What this change affects\n\n{_headline(found)}\n"]
    parts: list[tuple[str, list[str]]] = [
        (
            "Breaking changes",
            [f"{_code(one.change.qualified_name)}: {_plain(one.change.what)}" for one in found.breaking],
        ),
        ("Changed", [f"{_code(_name(one))} {_plain(_how(one.change))}, {_at(one)}" for one in found.changed]),
        ("Used by", [_reached_item(one) for one in found.resolved]),
        ("May be used by, through interfaces or function values", [_reached_item(one) for one in found.candidates]),
        ("Files to look at", [f"{_code(one.path)}: {', '.join(one.why)}" for one in found.nearby[:_FILES]]),
        ("Described in", [f"{_code(one.place)} {one.kind}: {_plain(_short(one.text))}" for one in found.descriptions]),
        (
            "Usually changed together, and not changed here",
            [
                f"{_code(one.file)}: {one.shared} of {one.commits} commits of {_code(one.changed)}"
                for one in found.companions
            ],
        ),
    ]
    for title, items in parts:
        lines += _details(title, items)
    if found.commands:
        commands = "\n".join(found.commands)
        tests = counted(len(found.tests.tests), "test")
        lines.append(f"**Tests to run** ({tests})\n\n```sh\n{commands}\n```\n")
    lines += [f"{remark}\n" for remark in _remarks(found)]
    return "\n".join(lines)


def _details(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    more = [f"- and {len(items) - _ROWS:,} more"] if len(items) > _ROWS else []
    listed = "\n".join([*(f"- {item}" for item in items[:_ROWS]), *more])
    return [f"<details><summary>{title} ({len(items):,})</summary>\n\n{listed}\n\n</details>\n"]


def _reached_item(one: Reached) -> str:
    return f"{_code(one.symbol.qualified_name)} at distance {one.depth}, {_code(location(one.symbol))}"


def _at(one: ChangedDeclaration) -> str:
    return _code(f"{one.change.current.file}:{one.change.current.line}")


def _code(text: str) -> str:
    """A code span of any text: its fence is longer than the longest run of backquotes in it."""
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def _plain(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_[]<>#|~@" else character for character in text)


def affected_document(found: Affected) -> dict[str, Any]:
    """The contents for JSON."""
    return {
        "base": found.base,
        "target": found.target,
        "files": to_json_value(found.files),
        "changed": [_changed_document(one) for one in found.changed],
        "resolved": [_reached_document(one) for one in found.resolved],
        "candidates": [_reached_document(one) for one in found.candidates],
        "nearby": to_json_value(found.nearby),
        "packages": list(found.packages),
        "tests": [_test_document(one.symbol) for one in found.tests.tests],
        "tests_left_out": found.tests_left_out,
        "tests_exact": found.tests.is_exact,
        "tests_complete": found.tests.is_complete,
        "commands": list(found.commands),
        "breaking": [change_document(one) for one in found.breaking],
        "uncertain": [change_document(one) for one in found.uncertain],
        "descriptions": to_json_value(found.descriptions),
        "together": to_json_value(found.companions),
        "complete": found.is_complete,
    }


def _changed_document(one: ChangedDeclaration) -> dict[str, Any]:
    current = one.change.current
    return {
        "how": one.change.how,
        "kind": current.kind,
        "name": _name(one),
        "file": current.file,
        "line": current.line,
        "reason": one.change.reason,
        "before": to_json_value(one.change.before),
        "ids": [symbol.id for symbol in one.symbols],
    }


def _reached_document(one: Reached) -> dict[str, Any]:
    symbol = one.symbol
    return {
        "name": symbol.qualified_name,
        "kind": symbol.kind,
        "file": symbol.file,
        "line": symbol.line,
        "id": symbol.id,
        "depth": one.depth,
        "how": one.how,
        "through": one.through,
    }


def _test_document(test: Ref) -> dict[str, Any]:
    return {"file": test.file, "line": test.line, "name": test.name, "package": test.package.removesuffix("_test")}
