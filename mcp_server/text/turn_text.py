"""What the edits of an agent's turn touch, in a few lines: the shortest form of what a change affects.

Only facts: a test that can reach the change is named, and whether to run it is for the agent to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from golore.graph.changes.affected import Affected
from golore.graph.changes.changed_symbols import ChangedDeclaration
from golore.graph.phrases import counted, listed
from golore.graph.queries.answers import Reached

LENGTH: Final = 480
"""Characters; with the lines around it, the agent gets some 600."""
_NAMES: Final = 4
_FILES: Final = 3
_REST: Final = "All of it: golore affected"


def turn_text(found: Affected) -> str:
    """At most `LENGTH` characters; empty if no declaration changed."""
    if not found.changed:
        return ""
    lines: list[str] = []
    left = LENGTH - len(_REST) - 1
    is_cut = False
    for line in _lines(found):
        if len(line) < left:
            lines.append(line)
            left -= len(line) + 1
        else:
            is_cut = True
    return "\n".join([*lines, _REST] if is_cut else lines)


def _lines(found: Affected) -> Iterator[str]:
    yield f"Changed: {listed([_changed(one) for one in found.changed], _NAMES)}."
    tests = len(found.tests.tests)
    if not tests:
        yield "No test that reaches it is known."
    else:
        yield f"{counted(tests, 'test')} can reach it:" if tests > 1 else "1 test can reach it:"
        yield from found.commands
    edited = {file.path for file in found.files}
    users = _files(found.resolved, edited)
    if users:
        yield f"Used in {counted(len(users), 'other file')}: {listed(users, _FILES)}."
    perhaps = [file for file in _files(found.candidates, edited) if file not in users]
    if perhaps:
        yield f"Perhaps used through interfaces in {counted(len(perhaps), 'more file')}: {listed(perhaps, _FILES)}."
    if found.breaking:
        names = [one.change.qualified_name.rpartition("/")[2] for one in found.breaking]
        yield f"Breaks importers: {listed(names, _NAMES)}."
    for one in found.companions[:1]:
        yield f"Usually changed together: {one.file} ({one.shared} of {one.commits} commits of {one.changed})."


def _changed(one: ChangedDeclaration) -> str:
    how = one.change.how
    return one.change.current.local_name if how == "body" else f"{one.change.current.local_name} ({how})"


def _files(reached: Iterable[Reached], edited: set[str]) -> list[str]:
    """The files of users, nearest first, without those that were edited."""
    ordered = sorted(reached, key=lambda one: one.depth)
    return list({one.symbol.file: None for one in ordered if one.symbol.file not in edited})
