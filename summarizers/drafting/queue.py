"""The drafts to write, in order: bottom-up, the most used code first.

A file comes after its most used symbols, a package after its files, the repository last. Files are ordered by rank, so
that a run that ends early has written the most useful summaries. Summaries that are up to date, and those that were not
written by a local model, are left alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final, NamedTuple

from golore.graph.cards.page_rank import page_ranks
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import all_current
from golore.graph.knowledge.summary_inputs import SUMMED_UP
from golore.graph.model.edge_kinds import USES
from golore.graph.model.entities import REPOSITORY_ID

_MOST_SYMBOLS: Final = 4
"""Limit of symbols per file that get summaries of their own."""
_FEWEST_USERS: Final = 2
"""A symbol gets a summary only if at least this many other files use it."""
_FEWEST_LINES: Final = 3
"""Shorter declarations get no summary, because they explain themselves."""


class Task(NamedTuple):
    """Something to summarize. `needs`: indexes of the tasks that come first."""

    level: str
    subject: str
    needs: tuple[int, ...] = ()


class _QueueSymbol(NamedTuple):
    id: str
    file: str
    kind: str
    lines: int


def tasks(store: Store, knowledge: Knowledge) -> list[Task]:
    """The tasks, in the order in which they are best done. A task comes after those that it needs."""
    rows = store.columns("MATCH (f:File) WHERE NOT f.test AND NOT f.generated RETURN f.id, f.package")
    package_of: dict[str, str] = dict(zip(*rows, strict=True)) if rows and rows[0] else {}
    symbols, users, ranks = _symbol_users(store, package_of)
    done = {(one.level, one.subject) for one in all_current(knowledge) if one.source != "model" or not one.doubt}
    found: list[Task] = []

    def add(level: str, subject: str, needs: list[int]) -> list[int]:
        """Add a task unless it is done. Returns what its dependents need: its index, or `needs` if it is done."""
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
        chosen = [at for at in best if _deserves_summary(symbols[at], users[at])][:_MOST_SYMBOLS]
        needs = [number for at in chosen for number in add("symbol", symbols[at].id, [])]
        package = package_of[path]
        parts[package] += add("file", path, needs)
        waiting[package] -= 1
        if not waiting[package]:
            packages += add("package", package, parts[package])
    if package_of:
        add("repository", REPOSITORY_ID, packages)
    return found


def _deserves_summary(symbol: _QueueSymbol, users: int) -> bool:
    return users >= _FEWEST_USERS and symbol.lines >= _FEWEST_LINES and symbol.kind in SUMMED_UP


def _symbol_users(
    store: Store, package_of: dict[str, str]
) -> tuple[dict[int, _QueueSymbol], Counter[int], dict[str, float]]:
    """Symbols by offset in the node table, the number of other files that use each, and the rank of each file."""
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
    return symbols, users, page_ranks(package_of, uses)
