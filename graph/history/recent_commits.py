"""The newest commits, in `cache.db`: the commits that changed a file, and the commit of each of its lines (blame).

A look-up by path takes a millisecond. `golore.learner.checkout.git_activity` reads the commits from git. Times are
seconds since 1970 and are shown as dates: an age would become wrong on a stored card.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.files.cache_tables import (
    CacheTables,
    OpenTables,
    memory_tables,
    open_tables,
    read_table_meta,
    transaction,
)
from golore.graph.history.housekeeping import is_housekeeping

_VERSION: Final = "1"
_SUBJECT_LENGTH: Final = 100
"""Most characters of a commit's subject in a line."""
_CONSIDERED: Final = 5
"""If so many commits of a file in a row say nothing about it, no commit is shown for it."""
_MOST_FILES: Final = 10
"""A commit that changes more files than this says nothing about one of them."""
_TABLES: Final = {
    "recent_commits": (
        "(number INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL, author TEXT NOT NULL, "
        "subject TEXT NOT NULL, files INTEGER NOT NULL)"
    ),
    "recent_touches": "(path TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY(path, number)) WITHOUT ROWID",
    "recent_blames": "(path TEXT PRIMARY KEY, key TEXT NOT NULL, hunks BLOB NOT NULL)",
}
_CACHE_TABLES: Final = CacheTables(_VERSION, "recent_notes", _TABLES)


class RecentCommit(NamedTuple):
    """A commit. `files` is the number of Go files that it touched."""

    id: str
    time: int
    author: str
    subject: str
    files: int = 0


class RecentCommits(OpenTables):
    """Open it with `open_recent_commits` and use it as a context manager. Commits are numbered, the newest is 0."""

    @property
    def head(self) -> str:
        """The HEAD that the commits were read at; empty if none were read."""
        return read_table_meta(self._connection, _CACHE_TABLES, "head")

    @property
    def roots(self) -> frozenset[str]:
        """The oldest commits of a shallow clone: what they seem to change may be older."""
        return frozenset(read_table_meta(self._connection, _CACHE_TABLES, "roots").split())

    def commits(self, limit: int) -> list[RecentCommit]:
        """The newest commits that touched Go files."""
        return self._select(
            "SELECT id, time, author, subject, files FROM recent_commits ORDER BY number LIMIT ?", limit
        )

    def commits_of(self, path: str, limit: int) -> list[RecentCommit]:
        """The newest commits that touched a file, also under its earlier names."""
        statement = (
            "SELECT c.id, c.time, c.author, c.subject, c.files FROM recent_touches t JOIN recent_commits c "
            "ON c.number = t.number WHERE t.path = ? ORDER BY t.number LIMIT ?"
        )
        return self._select(statement, path, limit)

    def newest(self) -> dict[str, RecentCommit]:
        """The last commit of every file in the history, by path."""
        statement = (
            "SELECT t.path, c.id, c.time, c.author, c.subject, c.files FROM "
            "(SELECT path, min(number) AS number FROM recent_touches GROUP BY path) t "
            "JOIN recent_commits c ON c.number = t.number"
        )
        return {row[0]: RecentCommit(*row[1:]) for row in self._connection.execute(statement)}

    def replace(
        self, head: str, roots: Iterable[str], commits: Sequence[RecentCommit], touched: Iterable[tuple[str, int]]
    ) -> None:
        """Replace the stored history. `touched` pairs a path with the index of a commit in `commits`."""
        connection = self._connection
        with transaction(connection):
            for table in ("recent_commits", "recent_touches"):
                connection.execute(f"DELETE FROM {table}")
            rows = ((number, *commit) for number, commit in enumerate(commits))
            connection.executemany("INSERT INTO recent_commits VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("INSERT OR IGNORE INTO recent_touches VALUES (?, ?)", touched)
            meta = (("head", head), ("roots", " ".join(sorted(roots))))
            connection.executemany("INSERT OR REPLACE INTO recent_notes VALUES (?, ?)", meta)

    def blame(self, path: str, key: str) -> bytes | None:
        """The encoded blame of a file, as passed to `set_blame` with the same key; None if the key differs."""
        statement = "SELECT hunks FROM recent_blames WHERE path = ? AND key = ?"
        found = self._connection.execute(statement, (path, key)).fetchone()
        return found[0] if found else None

    def set_blame(self, path: str, key: str, hunks: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO recent_blames VALUES (?, ?, ?)", (path, key, hunks))

    def _select(self, statement: str, *values: object) -> list[RecentCommit]:
        return [RecentCommit(*row) for row in self._connection.execute(statement, values)]


def open_recent_commits(store_directory: Path, *, write: bool = True) -> RecentCommits | None:
    """Open the stored history. If it is missing, `write` creates its tables; a reader gets None."""
    connection = open_tables(store_directory, _CACHE_TABLES, write=write)
    return RecentCommits(connection) if connection is not None else None


def create_recent_commits(store_directory: Path) -> RecentCommits:
    """Open the stored history for writing. Creates the tables if they are missing."""
    recent = open_recent_commits(store_directory)
    assert recent is not None
    return recent


def recent_commits_in_memory() -> RecentCommits:
    """Empty tables that are not stored, for a store that cannot be written."""
    return RecentCommits(memory_tables(_CACHE_TABLES))


class LastCommits:
    """Looks up the last commit of a file, for its card. Call `close` after use."""

    def __init__(self, store_directory: Path) -> None:
        self._recent = open_recent_commits(store_directory, write=False)
        self._roots = self._recent.roots if self._recent is not None else frozenset[str]()

    def close(self) -> None:
        if self._recent is not None:
            self._recent.close()

    def line_of(self, card_path: str) -> str:
        """One line about the last commit of a file that is neither a mass edit nor housekeeping; empty if it is
        unknown, as at the end of a shallow clone."""
        if self._recent is None or not card_path.endswith(".go"):
            return ""
        found = self._recent.commits_of(card_path, _CONSIDERED)
        for commit in found:
            if commit.id in self._roots:
                break
            if commit.files <= _MOST_FILES and not is_housekeeping(commit.subject):
                title = "Last commit" if commit is found[0] else "Last commit but for mass edits and housekeeping"
                return f"{title}: {commit_line(commit)}"
        return ""


def last_commit_line(store_directory: Path, card_path: str) -> str:
    """`LastCommits.line_at` for a single look-up."""
    last_commits = LastCommits(store_directory)
    try:
        return last_commits.line_of(card_path)
    finally:
        last_commits.close()


def commit_line(commit: RecentCommit) -> str:
    """A commit on one line, with its subject in quotation marks."""
    subject = " ".join(commit.subject.replace("“", '"').replace("”", '"').split())
    if len(subject) > _SUBJECT_LENGTH:
        subject = f"{subject[: _SUBJECT_LENGTH - 1].rstrip()}…"
    return f"{date_of(commit.time)} by {commit.author}: “{subject}”"


def date_of(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()
