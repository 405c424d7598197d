"""What there is to draft, in which order: from the bottom up, most depended-upon first.

A file comes after those of its symbols that matter, a package after its files, the repository last; among files those
go first on which most depends. So a run that ends early has written what is worth most. What is up to date, or was
written by a better source, is left alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final, NamedTuple

from golore.graph.cards.page_rank import importance
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import all_current
from golore.graph.knowledge.summary_inputs import SUMMED_UP
from golore.graph.model.edge_kinds import USES
from golore.graph.model.entities import REPOSITORY_ID

_SYMBOLS: Final = 4
"""Of a file that have summaries of their own, at most."""
_USERS: Final = 2
"""Other files that must use a symbol for it to matter."""
_LINES: Final = 3
"""A shorter declaration says what it is by itself."""


class Task(NamedTuple):
    """Something to summarize, after the tasks (by number) that it needs."""

    level: str
    subject: str
    needs: tuple[int, ...] = ()


class _QueueSymbol(NamedTuple):
    id: str
    file: str
    kind: str
    lines: int


def tasks(store: Store, knowledge: Knowledge) -> list[Task]:
    """All that has no summary that is up to date."""
    rows = store.columns("MATCH (f:File) WHERE NOT f.test AND NOT f.generated RETURN f.id, f.package")
    package_of: dict[str, str] = dict(zip(*rows, strict=True)) if rows and rows[0] else {}
    symbols, users, ranks = _depended_upon(store, package_of)
    done = {(one.level, one.subject) for one in all_current(knowledge) if one.source != "model" or not one.doubt}
    found: list[Task] = []

    def add(level: str, subject: str, needs: list[int]) -> list[int]:
        """The number of the new task, or what it would have needed."""
        if (level, subject) in done:
            return needs
        found.append(Task(level, subject, tuple(needs)))
        return [len(found) - 1]

    by_file: defaultdict[str, list[int]] = defaultdict(list)
    for at in symbols:
        by_file[symbols[at].file].append(at)
    waiting = Counter(package_of.values())
    parts: defaultdict[str, list[int]] = defaultdict(list)
    packages: list[int] = []
    for path in sorted(package_of, key=lambda one: (-ranks.get(one, 0.0), one)):
        best = sorted(by_file[path], key=lambda at: (-users[at], symbols[at].id))
        chosen = [at for at in best if _matters(symbols[at], users[at])][:_SYMBOLS]
        needs = [number for at in chosen for number in add("symbol", symbols[at].id, [])]
        package = package_of[path]
        parts[package] += add("file", path, needs)
        waiting[package] -= 1
        if not waiting[package]:
            packages += add("package", package, parts[package])
    if package_of:
        add("repository", REPOSITORY_ID, packages)
    return found


def _matters(symbol: _QueueSymbol, users: int) -> bool:
    return users >= _USERS and symbol.lines >= _LINES and symbol.kind in SUMMED_UP


def _depended_upon(
    store: Store, package_of: dict[str, str]
) -> tuple[dict[int, _QueueSymbol], Counter[int], dict[str, float]]:
    """Symbols by their place in the table, how many other files use each, and how important files are."""
    columns = store.columns("MATCH (s:Symbol) RETURN offset(id(s)), s.id, s.file, s.kind, s.end_line - s.line + 1")
    everything = {at: _QueueSymbol(*row) for at, *row in zip(*columns, strict=True)} if columns and columns[0] else {}
    pairs: set[tuple[int, str]] = set()
    uses: Counter[tuple[str, str]] = Counter()
    for label in USES:
        edges = store.columns(f"MATCH (a:Symbol)-[:{label}]->(b:Symbol) RETURN offset(id(a)), offset(id(b))")
        for source, target in zip(*edges, strict=True) if edges else ():
            user, used = everything[source].file, everything[target].file
            if user != used and user in package_of and used in package_of:
                pairs.add((target, user))
                uses[user, used] += 1
    users = Counter(target for target, _ in pairs)
    symbols = {at: symbol for at, symbol in everything.items() if symbol.file in package_of}
    return symbols, users, importance(package_of, uses)
