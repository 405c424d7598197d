"""The change page: what the working tree, or a branch, changes; what uses that, which tests to run, and what breaks.

The answer is that of `golore affected`. Of a change of more than a thousand Go files, only the directories are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from golore.graph.changes.changed_symbols import ChangedDeclaration
from golore.graph.errors import ChangeTooLarge
from golore.graph.queries.answers import Reached, Ref
from golore.graph.queries.symbol_steps import open_steps
from golore.learner.changes.compared_files import Request
from golore.mcp_server.services.change_effects import affected
from golore.mcp_server.text.affected_text import affected_reply
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_LISTED: Final = 200
_MOST_FILES: Final = 1_000
"""Go files that differ. More take seconds and hundreds of megabytes, while other pages wait."""


def change_page(visit: Visit, base: str) -> Page:
    """`base`: compare with the newest commit in common with this revision; empty compares the files with HEAD."""
    opened, steps = visit.opened, open_steps(visit.store)
    try:
        found = affected(opened.repository.root, visit.store, Request(base.strip(), most=_MOST_FILES), steps=steps)
    except ChangeTooLarge as failure:
        return _large_page(visit, base, failure)
    opened.adjacency_job.consider(visit.store.directory, steps)
    reply = affected_reply(found, visit.short_text)
    files = found.files[:_LISTED]
    rows = visit.store.rows("MATCH (f:File) WHERE f.id IN $paths RETURN f.id", {"paths": [one.path for one in files]})
    learned = {path for (path,) in rows}
    values: dict[str, Any] = {
        "base": base,
        "headline": reply.head[0],
        "remarks": reply.tail,
        "changed": [_changed(visit, one) for one in found.changed[:_LISTED]],
        "changed_count": len(found.changed),
        "most": _LISTED,
        "files_count": len(found.files),
        "files": [(one.path, one.how, visit.links.file(one.path) if one.path in learned else "") for one in files],
        "breaking": [
            (visit.short_text(one.change.qualified_name), one.change.what, one.change.file, len(one.users))
            for one in found.breaking
        ],
        "used": (("Used by", len(found.resolved), _reached(visit, found.resolved)),)
        + (
            (
                (
                    "Perhaps used by, through interfaces or values",
                    len(found.candidates),
                    _reached(visit, found.candidates),
                ),
            )
            if found.candidates
            else ()
        ),
        "tests": [(one.symbol.name, *_place(visit, one.symbol)) for one in found.tests.tests[:_LISTED]],
        "tests_count": len(found.tests.tests) + found.tests_left_out,
        "commands": found.commands,
        "descriptions": found.descriptions,
        "companions": [(one, visit.links.file(one.file)) for one in found.companions],
        "has_changes": found.has_changes,
    }
    return Page("change.html", "Change", values, "change")


def _large_page(visit: Visit, base: str, failure: ChangeTooLarge) -> Page:
    """Where the files are that differ, if there are too many to follow what they affect."""
    numbers = Counter(path.rpartition("/")[0] for path in failure.paths)
    directories = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:_LISTED]
    learned = {one.dir for one in visit.packages.values()}
    values: dict[str, Any] = {
        "base": base,
        "message": str(failure),
        "directories": [
            (path or ".", visit.links.map(path) if path in learned else "", number) for path, number in directories
        ],
        "left_out": max(0, len(numbers) - _LISTED),
    }
    return Page("large_change.html", "Change", values, "change")


def _changed(visit: Visit, one: ChangedDeclaration) -> tuple[str, str, str, str, str]:
    """Name, address, how, place and its address. What was removed is in no file any more."""
    change, current = one.change, one.change.current
    how = f"{change.how} changed" if change.how in ("body", "signature") else change.how
    if change.before is not None and change.how in ("renamed", "moved"):
        how += f" from {change.before.local_name if change.how == 'renamed' else change.before.file}"
    place = f"{current.file}:{current.line}"
    if not one.symbols:
        return current.local_name, "", how, place, ""
    symbol = one.symbols[0]
    return (
        visit.short_name(symbol),
        visit.links.symbol(symbol.id),
        how,
        place,
        visit.links.file(symbol.file, symbol.line),
    )


def _reached(visit: Visit, found: Iterable[Reached]) -> list[tuple[int, str, str, str, str]]:
    """Distance, name, address, place and its address."""
    return [
        (one.depth, visit.short_name(one.symbol), visit.links.symbol(one.symbol.id), *_place(visit, one.symbol))
        for one in list(found)[:_LISTED]
    ]


def _place(visit: Visit, symbol: Ref) -> tuple[str, str]:
    return f"{symbol.file}:{symbol.line}", visit.links.file(symbol.file, symbol.line)
