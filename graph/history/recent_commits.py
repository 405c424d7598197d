"""The newest commits in `cache.db`: which of them changed a file, and who wrote which of its lines.

Looked up by path, in a millisecond; `golore.learner.checkout.git_activity` reads them from git. Times are
seconds since 1970 and are shown as dates: an age would become wrong on a stored card.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.files.cache_tables import CacheTables, OpenTables, open_tables, read_table_meta, transaction

_VERSION: Final = "1"
_SUBJECT: Final = 100
_TABLES: Final = {
    "recent_commits": (
        "(number INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL, author TEXT NOT NULL, "
        "subject TEXT NOT NULL, files INTEGER NOT NULL)"
    ),
    "recent_touches": "(path TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY(path, number)) WITHOUT ROWID",
    "recent_blames": "(path TEXT PRIMARY KEY, key TEXT NOT NULL, hunks BLOB NOT NULL)",
}


_DRAWER: Final = CacheTables(_VERSION, "recent_notes", _TABLES)


class RecentCommit(NamedTuple):
    """A commit. `files` are the Go files that it touched."""

    id: str
    time: int
    author: str
    subject: str
    files: int = 0


class RecentCommits(OpenTables):
    """Open it with `open_recent_commits` and use it as a context manager. Commits have numbers, the newest 0."""

    @property
    def head(self) -> str:
        """The commit that all this was read at; empty where nothing was."""
        return read_table_meta(self._run, _DRAWER, "head")

    @property
    def roots(self) -> frozenset[str]:
        """Commits behind which a shallow clone knows nothing: what they seem to change may be older."""
        return frozenset(read_table_meta(self._run, _DRAWER, "roots").split())

    def commits(self, limit: int) -> list[RecentCommit]:
        """The newest that touched Go files."""
        return self._changes(
            "SELECT id, time, author, subject, files FROM recent_commits ORDER BY number LIMIT ?", limit
        )

    def commits_of(self, path: str, limit: int) -> list[RecentCommit]:
        """The newest that touched a file, also under the names it had before."""
        statement = (
            "SELECT c.id, c.time, c.author, c.subject, c.files FROM recent_touches t JOIN recent_commits c "
            "ON c.number = t.number WHERE t.path = ? ORDER BY t.number LIMIT ?"
        )
        return self._changes(statement, path, limit)

    def newest(self) -> dict[str, RecentCommit]:
        """The last commit of every file that the history has."""
        statement = (
            "SELECT t.path, c.id, c.time, c.author, c.subject, c.files FROM "
            "(SELECT path, min(number) AS number FROM recent_touches GROUP BY path) t "
            "JOIN recent_commits c ON c.number = t.number"
        )
        return {row[0]: RecentCommit(*row[1:]) for row in self._run.execute(statement)}

    def replace(
        self, head: str, roots: Iterable[str], commits: Sequence[RecentCommit], touched: Iterable[tuple[str, int]]
    ) -> None:
        """Put this history in the place of the last."""
        run = self._run
        with transaction(run):
            for table in ("recent_commits", "recent_touches"):
                run.execute(f"DELETE FROM {table}")
            rows = ((number, *commit) for number, commit in enumerate(commits))
            run.executemany("INSERT INTO recent_commits VALUES (?, ?, ?, ?, ?, ?)", rows)
            run.executemany("INSERT OR IGNORE INTO recent_touches VALUES (?, ?)", touched)
            notes = (("head", head), ("roots", " ".join(sorted(roots))))
            run.executemany("INSERT OR REPLACE INTO recent_notes VALUES (?, ?)", notes)

    def blame(self, path: str, key: str) -> bytes | None:
        """Who wrote the lines of a file, for the text and the commit that the key names."""
        statement = "SELECT hunks FROM recent_blames WHERE path = ? AND key = ?"
        found = self._run.execute(statement, (path, key)).fetchone()
        return found[0] if found else None

    def set_blame(self, path: str, key: str, hunks: bytes) -> None:
        self._run.execute("INSERT OR REPLACE INTO recent_blames VALUES (?, ?, ?)", (path, key, hunks))

    def _changes(self, statement: str, *values: object) -> list[RecentCommit]:
        return [RecentCommit(*row) for row in self._run.execute(statement, values)]


def open_recent_commits(store_directory: Path, *, write: bool = True) -> RecentCommits | None:
    """The history of a store. A reader gets None where there is none; a writer makes the tables."""
    connection = open_tables(store_directory, _DRAWER, write=write)
    return RecentCommits(connection) if connection is not None else None


def create_recent_commits(store_directory: Path) -> RecentCommits:
    recent = open_recent_commits(store_directory)
    assert recent is not None
    return recent


class LastCommits:
    """The last change of each file, for cards; looked up by path."""

    def __init__(self, store_directory: Path) -> None:
        self._recent = open_recent_commits(store_directory, write=False)
        self._roots = self._recent.roots if self._recent is not None else frozenset[str]()

    def close(self) -> None:
        if self._recent is not None:
            self._recent.close()

    def line_at(self, place: str) -> str:
        """One line on the last commit of a file; nothing where it is not known, as behind a shallow clone's end."""
        if self._recent is None or not place.endswith(".go"):
            return ""
        found = self._recent.commits_of(place, 1)
        if not found or found[0].id in self._roots:
            return ""
        return f"Last commit: {commit_line(found[0])}"


def line_about(store_directory: Path, place: str) -> str:
    changes = LastCommits(store_directory)
    try:
        return changes.line_at(place)
    finally:
        changes.close()


def commit_line(change: RecentCommit) -> str:
    """A commit in a line; what its author said is quoted."""
    subject = " ".join(change.subject.replace("“", '"').replace("”", '"').split())
    if len(subject) > _SUBJECT:
        subject = f"{subject[: _SUBJECT - 1].rstrip()}…"
    return f"{date_of(change.time)} by {change.author}: “{subject}”"


def date_of(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()
