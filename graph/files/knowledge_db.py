"""`knowledge.db`: what cannot be derived again from files, such as notes and summaries. The door to it, no more.

It stands beside the graph, not in it: a graph can be made anew from files at any time, by another golore or another
engine, and a note can be written while a long learn holds the graph. Notes and summaries are put into the graph, too,
where questions and exports find them (see `projecting`); this file is what counts. Every write waits for the disk.
What the tables mean is the affair of the modules that fill them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from golore.graph.errors import StoreBusy, StoreDamaged, StoreError, StoreMismatch

KNOWLEDGE_NAME: Final = "knowledge.db"
PENDING_NAME: Final = "incoming.json"
"""A store with this file in it is to become another one first (see `settling`)."""
APPLICATION: Final = 0x676F6B6E
"""Marks the file as ours: "gokn" in ASCII."""
_WAIT: Final = 10.0

_STEPS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE changes(number INTEGER PRIMARY KEY CHECK (number = 0), count INTEGER NOT NULL);
    INSERT INTO changes VALUES (0, 0);
    """,
    """
    CREATE TABLE notes(id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, subject TEXT NOT NULL,
                       author TEXT NOT NULL, source TEXT NOT NULL, created TEXT NOT NULL, confirmed TEXT NOT NULL,
                       tags TEXT NOT NULL, done TEXT NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX notes_by_revision ON notes(revision);
    CREATE TABLE note_anchors(note TEXT PRIMARY KEY REFERENCES notes(id) ON DELETE CASCADE, level TEXT NOT NULL,
                              target TEXT NOT NULL, name TEXT NOT NULL, place TEXT NOT NULL, home_level TEXT NOT NULL,
                              home TEXT NOT NULL, home_name TEXT NOT NULL, file TEXT NOT NULL, written TEXT NOT NULL,
                              now TEXT NOT NULL, body TEXT NOT NULL, size INTEGER NOT NULL, names INTEGER NOT NULL,
                              seen TEXT NOT NULL, evidence TEXT NOT NULL, fate TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX note_anchors_by_place ON note_anchors(place);
    CREATE INDEX note_anchors_by_target ON note_anchors(target);
    CREATE INDEX note_anchors_by_file ON note_anchors(file);
    CREATE INDEX note_anchors_astray ON note_anchors(fate) WHERE fate <> '';
    CREATE TABLE note_trail(note TEXT NOT NULL REFERENCES notes(id) ON DELETE CASCADE, home TEXT NOT NULL,
                            file TEXT NOT NULL, PRIMARY KEY(note, home)) WITHOUT ROWID;
    CREATE TABLE note_lookalikes(note TEXT NOT NULL REFERENCES notes(id) ON DELETE CASCADE, other TEXT NOT NULL,
                                 PRIMARY KEY(note, other)) WITHOUT ROWID;
    CREATE TABLE note_successions(newer TEXT NOT NULL, older TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE INDEX note_successions_by_newer ON note_successions(newer);
    CREATE TABLE forgotten_notes(id TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE note_state(number INTEGER PRIMARY KEY CHECK (number = 0), revision INTEGER NOT NULL);
    INSERT INTO note_state VALUES (0, 0);
    """,
    """
    CREATE TABLE summaries(
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, level TEXT NOT NULL,
        text TEXT NOT NULL, quality TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
        inputs TEXT NOT NULL, created TEXT NOT NULL, supersedes TEXT NOT NULL, current INTEGER NOT NULL,
        doubt TEXT NOT NULL, reason TEXT NOT NULL);
    CREATE INDEX summaries_by_subject ON summaries(level, subject);
    CREATE UNIQUE INDEX summaries_that_count ON summaries(level, subject) WHERE current;
    CREATE UNIQUE INDEX summaries_in_a_chain ON summaries(supersedes) WHERE supersedes <> '';
    CREATE TABLE summary_parts(
        summary TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, place TEXT NOT NULL, digest TEXT NOT NULL,
        now TEXT NOT NULL, PRIMARY KEY(summary, kind, subject)) WITHOUT ROWID;
    CREATE INDEX summary_parts_by_place ON summary_parts(place);
    CREATE INDEX summary_parts_by_subject ON summary_parts(kind, subject);
    CREATE TABLE summary_places(place TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE summary_refusals(
        level TEXT NOT NULL, subject TEXT NOT NULL, inputs TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
        reason TEXT NOT NULL, created TEXT NOT NULL, PRIMARY KEY(level, subject, inputs, model, prompt)) WITHOUT ROWID;
    CREATE TABLE summary_tally(name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE summary_state(number INTEGER NOT NULL, copied TEXT NOT NULL);
    INSERT INTO summary_state VALUES (0, '');
    """,
    """
    CREATE TABLE ratings(number INTEGER PRIMARY KEY, item TEXT NOT NULL, useful INTEGER NOT NULL, at TEXT NOT NULL,
                         by TEXT NOT NULL);
    CREATE INDEX ratings_by_item ON ratings(item);
    """,
    """
    ALTER TABLE note_anchors ADD COLUMN signature TEXT NOT NULL DEFAULT '';
    """,
)
"""Statements by the version they lead from: the first makes an empty file one of version 1. A step that has been
released is never edited; a change of the tables is another step."""


class Knowledge:
    """Open it with `Knowledge.open` and use it as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    @classmethod
    def open(cls, store_directory: Path, *, wait: float = _WAIT) -> Self:
        """The knowledge of a store; an empty one is made where there is none."""
        if (store_directory / PENDING_NAME).exists():
            from golore.graph.files.handover import finish_handover

            finish_handover(store_directory, wait=wait)
        return cls.at(store_directory / KNOWLEDGE_NAME, wait=wait)

    @classmethod
    def at(cls, path: Path, *, wait: float = _WAIT) -> Self:
        """The knowledge in a certain file, such as that of a snapshot."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
        except (OSError, sqlite3.Error) as failure:
            raise _explained(path, failure) from failure
        try:
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {pragma}").fetchone()
            _bring_up_to_date(connection, path)
        except sqlite3.Error as failure:
            connection.close()
            raise _explained(path, failure) from failure
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    @classmethod
    def exists(cls, store_directory: Path) -> bool:
        return (store_directory / KNOWLEDGE_NAME).exists()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def changes(self) -> int:
        """How often something was written here; who keeps a copy compares it."""
        return next(self.rows("SELECT count FROM changes"))[0]

    def rows(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as failure:
            raise _explained(self._path, failure) from failure

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """All of a block's writes, or none of them."""
        run = self._connection
        try:
            run.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(run)
                run.execute("UPDATE changes SET count = count + 1")
                run.execute("COMMIT")
            except BaseException:
                if run.in_transaction:  # a full disk ends it by itself
                    run.execute("ROLLBACK")
                raise
        except sqlite3.Error as failure:
            raise _explained(self._path, failure) from failure


class Transaction:
    """What is written here is there for others when its block has ended."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Returns how many rows it has touched."""
        return self._connection.execute(statement, values).rowcount

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(statement, rows)

    def rows(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(statement, values)


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    if _version_of(connection, path) == len(_STEPS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited.
        for step in _STEPS[_version_of(connection, path) :]:
            for statement in filter(str.strip, step.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(_STEPS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION and version > len(_STEPS):
        raise StoreMismatch(f"{path} was written by a newer golore. Upgrade golore; nothing was changed.")
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION and not is_empty:
        raise StoreMismatch(f"{path} is not golore's own. Move it away; nothing was changed.")
    return version


def _explained(path: Path, failure: Exception) -> StoreError:
    """What is wrong, in a sentence. A damaged file is kept: nothing in it could be made again."""
    if isinstance(failure, sqlite3.Error):
        code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return StoreBusy(f"{path} is being written by another process. Try again.")
        if code == sqlite3.SQLITE_FULL:
            return StoreError(f"The disk that holds {path} is full. Make room and try again.")
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return StoreDamaged(
                f"{path} is damaged ({failure}). It holds notes and summaries and was left as it is: "
                "restore a snapshot, or move it away to begin with none."
            )
    return StoreError(f"{path} cannot be used: {failure}. Check who owns it.")
