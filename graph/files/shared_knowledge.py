"""Keeps the knowledge of all worktrees of a repository equal, through one file in the user's state directory.

The shared file outlives worktrees and stores: `git worktree remove` and `git clean` delete a store, not the notes.
Every store keeps a complete `knowledge.db` of its own, because where a note belongs and whether a text is stale are
facts about a checkout. Triggers (see `knowledge_db`) list the rows that were written in a store; `synchronize` sends
these rows to the shared file and then takes over what other stores have sent. Both steps can be repeated after a kill.

Which stores belong together is decided by the learner, which writes the link file (`link_store`). Without it, a store
keeps its knowledge for itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from golore.graph.errors import StoreDamaged, StoreError
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.handover import rename_damaged
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, LINK_NAME, Knowledge
from golore.graph.files.knowledge_merge import SOURCE_ORDER
from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.state_directory import create_state_directory, state_directory

FOLDER: Final = "knowledge"
PLACE_NAME: Final = "repository"
"""File beside the shared knowledge with the path of the repository's git directory, for people."""
CARD: Final = "card"
"""Level of the rows of `received_state` whose subject is a card path; the other levels are those of summaries."""
_LINK_LIMIT: Final = 1 << 16


def link_store(store_directory: Path, name: str, git_directory: str) -> None:
    """Let a store share its knowledge under this name; an empty name ends that. The shared file is created when there
    is something to share."""
    path = store_directory / LINK_NAME
    if not name:
        path.unlink(missing_ok=True)
        return
    text = f"{name}\n{store_directory}\n{git_directory}".encode("utf-8", "surrogateescape")
    with suppress(OSError):
        if _read(path) != text:
            replace_file(path, text)


def shared_file(store_directory: Path) -> Path | None:
    """The file through which a store shares its knowledge, which need not exist; None if it does not. The link of a
    store that was copied or moved does not count."""
    name, _, rest = _read(store_directory / LINK_NAME).decode("utf-8", "surrogateescape").partition("\n")
    is_name = len(name) == 32 and all(letter in "0123456789abcdef" for letter in name)
    if not is_name or rest.partition("\n")[0] != str(store_directory):
        return None
    return Path(state_directory(), FOLDER, name, KNOWLEDGE_NAME)


def take_received(knowledge: Knowledge, levels: Sequence[str]) -> list[tuple[str, str]]:
    """What other worktrees have changed since the last call: level and subject of
    summaries, or `CARD` and the path of a card whose notes changed."""
    condition = f"level IN ({','.join('?' * len(levels))})"
    statement = f"SELECT level, subject FROM received_state WHERE {condition} ORDER BY 1, 2"
    received = [(level, subject) for level, subject in knowledge.rows(statement, levels)]
    if received:
        with knowledge.transaction() as run:
            run.run_many("DELETE FROM received_state WHERE level = ? AND subject = ?", received)
    return received


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, _LINK_LIMIT)
    except OSError:
        return b""


def synchronize(connection: sqlite3.Connection, store_directory: Path) -> None:
    """Send what was written in a store since the last time, and take over what others have sent.

    If the shared file cannot be used, nothing happens: the store has its knowledge, and the next call sends it. A
    damaged shared file is renamed, and made again from the stores.
    """
    shared = shared_file(store_directory)
    if shared is None or (not shared.exists() and not _has_unsent(connection)):
        return
    with suppress(OSError, sqlite3.Error, StoreError):
        try:
            _synchronize(connection, store_directory, shared)
        except StoreDamaged:
            rename_damaged(shared)
            _synchronize(connection, store_directory, shared)


def _has_unsent(connection: sqlite3.Connection) -> bool:
    """Whether there is something to send. All rows are, if the store has never shared anything."""
    statement = "SELECT EXISTS (SELECT 1 FROM unsent_state) OR ((SELECT hub FROM sharing_state) = '' AND ("
    statement += " OR ".join(f"EXISTS (SELECT 1 FROM {table})" for table in _KEYS) + "))"
    return bool(connection.execute(statement).fetchone()[0])


def _synchronize(connection: sqlite3.Connection, store_directory: Path, shared: Path) -> None:
    if not shared.exists():
        _create(shared, store_directory)
    try:
        connection.execute("ATTACH ? AS shared", (str(shared),))
        if not _is_ready(connection):
            connection.execute("DETACH shared")
            _create(shared, store_directory)
            connection.execute("ATTACH ? AS shared", (str(shared),))
        connection.execute("PRAGMA shared.synchronous = FULL")
        hub, count = _one(connection, "SELECT s.hub, c.count FROM shared.sharing_state s, shared.changes c")
        known_hub, seen = _one(connection, "SELECT hub, seen FROM main.sharing_state")
        if known_hub != hub:
            with _transaction(connection, "UPDATE main.sharing_state SET hub = ?, seen = -1", (hub,)):
                _mark_all_unsent(connection)
            seen = -1
        (last,) = _one(connection, "SELECT coalesce(max(number), 0) FROM main.unsent_state")
        if last:
            # One transaction writes to one file only. SQLite would not commit two files in one step, and a kill in
            # between must not remove rows from the list that were not sent.
            with _transaction(connection, "UPDATE shared.changes SET count = count + 1"):
                _send(connection)
        if last or seen != count:
            with _transaction(connection, "UPDATE main.sharing_state SET quiet = 1"):
                connection.execute("DELETE FROM main.unsent_state WHERE number <= ?", (last,))
                (count_now,) = _one(connection, "SELECT count FROM shared.changes")
                if count_now != seen + bool(last):  # somebody else has written, too
                    _receive(connection)
                connection.execute("UPDATE main.sharing_state SET seen = ?, quiet = 0", (count_now,))
    except sqlite3.DatabaseError as failure:
        code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            _check(shared)
        raise
    finally:
        with suppress(sqlite3.Error):
            connection.execute("DETACH shared")


def _is_ready(connection: sqlite3.Connection) -> bool:
    """Whether the shared file has the tables of this golore, and its creation was completed."""
    is_same = _one(connection, "PRAGMA shared.user_version") == _one(connection, "PRAGMA main.user_version")
    return is_same and bool(_one(connection, "SELECT hub FROM shared.sharing_state")[0])


def _create(shared: Path, store_directory: Path) -> None:
    """Create the shared file if necessary, or bring its tables up to date."""
    create_state_directory(FOLDER, shared.parent.name)
    with Knowledge.open_file(shared) as knowledge, knowledge.transaction() as run:
        # Quiet: the triggers list nothing in this file, which is sent to nobody.
        run.run("UPDATE sharing_state SET hub = lower(hex(randomblob(16))), quiet = 1 WHERE hub = ''")
    place = _read(store_directory / LINK_NAME).split(b"\n", 2)[-1]
    replace_file(shared.with_name(PLACE_NAME), place + b"\n")


def _check(shared: Path) -> None:
    """Raise `StoreDamaged` if it is the shared file that is damaged, and not the store's own."""
    with Knowledge.open_file(shared) as knowledge:
        if list(knowledge.rows("PRAGMA quick_check(1)")) != [("ok",)]:
            raise StoreDamaged(f"{shared} is damaged.")


@contextmanager
def _transaction(connection: sqlite3.Connection, first: str, values: tuple[object, ...] = ()) -> Generator[None]:
    """A transaction whose first statement acquires the lock of the file that is written."""
    connection.execute("BEGIN")
    try:
        connection.execute(first, values)
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _one(connection: sqlite3.Connection, statement: str) -> tuple[int, ...]:
    return connection.execute(statement).fetchone()


_RATING_KEY: Final = "item || char(31) || useful || char(31) || at || char(31) || by"
_SUCCESSION_KEY: Final = "newer || char(31) || older"
_KEYS: Final = {
    "notes": "id",
    "forgotten_notes": "id",
    "note_successions": _SUCCESSION_KEY,
    "events": "id",
    "ratings": _RATING_KEY,
    "summaries": "id",
}
"""The shared tables, each with the expression that the triggers list in `unsent_state`."""
_NOTE: Final = "id, kind, text, subject, author, source, created, confirmed, tags, done"
_NOTE_UPDATE: Final = ", ".join(f"{column} = excluded.{column}" for column in _NOTE.split(", ")[1:])
_ANCHOR: Final = (
    "note, level, target, name, place, home_level, home, home_name, file, written, now, body, size, names, evidence, "
    "fate, signature"
)
_SUMMARY: Final = "id, subject, level, text, quality, source, model, prompt, inputs, created"
_SUMMARY_COLUMNS: Final = ", ".join(f"s.{column}" for column in _SUMMARY.split(", "))


def _mark_all_unsent(connection: sqlite3.Connection) -> None:
    for table, key in _KEYS.items():
        connection.execute(f"INSERT OR REPLACE INTO main.unsent_state(part, key) SELECT '{table}', {key} FROM {table}")


def _unsent(table: str) -> str:
    return f"(SELECT key FROM main.unsent_state WHERE part = '{table}')"


def _send(connection: sqlite3.Connection) -> None:
    """Make the listed rows of the shared file equal to those of the store."""
    notes, forgotten, successions = _unsent("notes"), _unsent("forgotten_notes"), _unsent("note_successions")
    ratings, events = _unsent("ratings"), _unsent("events")
    of_note = f"note IN {notes} AND note IN (SELECT id FROM shared.notes)"
    statements = (
        "PRAGMA shared.secure_delete = ON",
        f"""DELETE FROM shared.forgotten_notes WHERE id IN {forgotten}
            AND id NOT IN (SELECT id FROM main.forgotten_notes)""",
        f"""INSERT OR IGNORE INTO shared.forgotten_notes
            SELECT id, 0 FROM main.forgotten_notes WHERE id IN {forgotten}""",
        f"""DELETE FROM shared.notes WHERE id IN (SELECT id FROM shared.forgotten_notes)
            OR (id IN {notes} AND id NOT IN (SELECT id FROM main.notes))""",
        f"""INSERT INTO shared.notes({_NOTE}, revision) SELECT {_NOTE}, 0 FROM main.notes WHERE id IN {notes}
            AND id NOT IN (SELECT id FROM shared.forgotten_notes) ON CONFLICT(id) DO UPDATE SET {_NOTE_UPDATE}""",
        # Where the code was found last is the best hint for a checkout that has not seen the note yet.
        f"""INSERT OR IGNORE INTO shared.note_trail SELECT s.note, s.home, s.file
            FROM shared.note_anchors s JOIN main.note_anchors m ON m.note = s.note
            WHERE s.note IN {notes} AND m.fate = '' AND m.home <> s.home""",
        f"""INSERT OR REPLACE INTO shared.note_anchors({_ANCHOR}, seen) SELECT {_ANCHOR}, '' FROM main.note_anchors
            WHERE {of_note} AND (fate = '' OR note NOT IN (SELECT note FROM shared.note_anchors))""",
        f"INSERT OR IGNORE INTO shared.note_trail SELECT note, home, file FROM main.note_trail WHERE {of_note}",
        f"INSERT OR IGNORE INTO shared.note_holds SELECT note, digest FROM main.note_holds WHERE {of_note}",
        f"DELETE FROM shared.note_lookalikes WHERE note IN {notes}",
        f"INSERT OR IGNORE INTO shared.note_lookalikes SELECT note, other FROM main.note_lookalikes WHERE {of_note}",
        f"DELETE FROM shared.note_successions WHERE {_SUCCESSION_KEY} IN {successions}",
        f"""INSERT OR IGNORE INTO shared.note_successions(newer, older)
            SELECT newer, older FROM main.note_successions WHERE {_SUCCESSION_KEY} IN {successions}""",
        f"DELETE FROM shared.ratings WHERE {_RATING_KEY} IN {ratings}",
        f"""INSERT INTO shared.ratings(item, useful, at, by)
            SELECT item, useful, at, by FROM main.ratings WHERE {_RATING_KEY} IN {ratings} ORDER BY number""",
        f"DELETE FROM shared.events WHERE id IN {events}",
        f"INSERT OR IGNORE INTO shared.events SELECT * FROM main.events WHERE id IN {events}",
    )
    for statement in statements:
        connection.execute(statement)
    listed = f"s.id IN {_unsent('summaries')}"
    is_better = f"({_rank('s')}, s.created) >= ({_rank('t')}, t.created)"
    removed = f"id IN {_unsent('summaries')}"
    _copy_summaries(connection, "main", "shared", listed=listed, removed=removed, is_better=is_better)


def _receive(connection: sqlite3.Connection) -> None:
    """Take over the rows of the shared file, except those that were written in the store meanwhile.

    A note's anchor is taken over with the note, and never afterwards. `received_state` lists the cards and the subjects
    that are affected, for the next learn.
    """
    revision = 1 + _one(connection, "SELECT revision FROM main.note_state")[0]
    notes, forgotten, successions = _unsent("notes"), _unsent("forgotten_notes"), _unsent("note_successions")
    events = _unsent("events")
    gone = f"id NOT IN (SELECT id FROM shared.notes) AND id NOT IN {notes}"
    own, new = "note IN (SELECT id FROM main.notes)", "note NOT IN (SELECT note FROM main.note_anchors)"
    pairs = "SELECT newer, older FROM {}.note_successions"
    changed_pairs = " UNION ".join(
        f"SELECT older FROM ({pairs.format(one)} EXCEPT {pairs.format(other)}) "
        f"WHERE {_SUCCESSION_KEY} NOT IN {successions}"
        for one, other in (("main", "shared"), ("shared", "main"))
    )
    ratings = f"{_RATING_KEY} NOT IN {_unsent('ratings')}"
    statements = (
        "PRAGMA main.secure_delete = ON",
        f"""INSERT OR IGNORE INTO main.received_state SELECT '{CARD}', place FROM main.note_anchors
            WHERE note IN (SELECT id FROM main.notes WHERE {gone})""",
        f"INSERT OR REPLACE INTO main.forgotten_notes SELECT id, {revision} FROM main.notes WHERE {gone}",
        f"DELETE FROM main.notes WHERE {gone}",
        f"""INSERT OR IGNORE INTO main.forgotten_notes
            SELECT id, {revision} FROM shared.forgotten_notes WHERE id NOT IN {forgotten}""",
        f"""INSERT INTO main.notes({_NOTE}, revision) SELECT {_NOTE}, {revision} FROM
            (SELECT {_NOTE} FROM shared.notes EXCEPT SELECT {_NOTE} FROM main.notes)
            WHERE id NOT IN {notes} AND id NOT IN {forgotten}
            ON CONFLICT(id) DO UPDATE SET {_NOTE_UPDATE}, revision = excluded.revision""",
        f"UPDATE main.notes SET revision = {revision} WHERE id IN ({changed_pairs})",
        f"""DELETE FROM main.note_successions WHERE {_SUCCESSION_KEY} NOT IN {successions}
            AND (newer, older) NOT IN (SELECT newer, older FROM shared.note_successions)""",
        f"""INSERT OR IGNORE INTO main.note_successions(newer, older)
            SELECT newer, older FROM shared.note_successions WHERE {_SUCCESSION_KEY} NOT IN {successions}""",
        f"""INSERT OR IGNORE INTO main.note_lookalikes
            SELECT note, other FROM shared.note_lookalikes WHERE {own} AND {new}""",
        # Without the digest of the file that was seen elsewhere, the next learn looks for the code here.
        f"""INSERT OR IGNORE INTO main.note_anchors({_ANCHOR}, seen)
            SELECT {_ANCHOR}, '' FROM shared.note_anchors WHERE {own} AND {new}""",
        f"INSERT OR IGNORE INTO main.note_trail SELECT note, home, file FROM shared.note_trail WHERE {own}",
        """INSERT OR IGNORE INTO main.note_trail SELECT s.note, s.home, s.file
            FROM shared.note_anchors s JOIN main.note_anchors m ON m.note = s.note WHERE m.home <> s.home""",
        f"INSERT OR IGNORE INTO main.note_holds SELECT note, digest FROM shared.note_holds WHERE {own}",
        f"""INSERT OR IGNORE INTO main.received_state SELECT '{CARD}', place FROM main.note_anchors
            WHERE note IN (SELECT id FROM main.notes WHERE revision = {revision})""",
        "DELETE FROM main.forgotten_notes WHERE id IN (SELECT id FROM main.notes)",
        f"UPDATE main.note_state SET revision = {revision}",
        f"""DELETE FROM main.ratings WHERE {ratings}
            AND {_RATING_KEY} NOT IN (SELECT {_RATING_KEY} FROM shared.ratings)""",
        f"""INSERT INTO main.ratings(item, useful, at, by) SELECT item, useful, at, by FROM shared.ratings
            WHERE {ratings} AND {_RATING_KEY} NOT IN (SELECT {_RATING_KEY} FROM main.ratings) ORDER BY number""",
        f"DELETE FROM main.events WHERE id NOT IN {events} AND id NOT IN (SELECT id FROM shared.events)",
        f"INSERT OR IGNORE INTO main.events SELECT * FROM shared.events WHERE id NOT IN {events}",
    )
    for statement in statements:
        connection.execute(statement)
    kept = _unsent("summaries")
    # A text that is true of this checkout stays, unless a better source has written another, or somebody has written
    # another about the same code.
    is_better = (
        f"({_rank('s')} > {_rank('t')} OR ({_rank('s')} = {_rank('t')} AND s.created >= t.created "
        "AND (t.doubt <> '' OR s.inputs = t.inputs)))"
    )
    _copy_summaries(
        connection,
        "shared",
        "main",
        listed=f"s.id NOT IN {kept} AND s.id NOT IN (SELECT id FROM main.summaries)",
        removed=f"id NOT IN {kept}",
        is_better=is_better,
    )


def _rank(alias: str) -> str:
    return SOURCE_ORDER.format(alias)


def _copy_summaries(
    connection: sqlite3.Connection, source: str, target: str, *, listed: str, removed: str, is_better: str
) -> None:
    """Copy the `listed` summaries (alias s), and delete those of the target that the source lacks and that are
    `removed`. A copied summary becomes the current one of its subject if it `is_better` than that of the target (t)."""
    same = "{0}.level = {1}.level AND {0}.subject = {1}.subject AND {0}.id <> {1}.id"
    is_taken = f"SELECT 1 FROM {target}.summaries x WHERE x.current AND {same.format('x', 's')}"
    is_continued = f"SELECT 1 FROM {target}.summaries x WHERE x.supersedes = s.supersedes AND x.id <> s.id"
    current = f"SELECT id, level, subject FROM {target}.summaries WHERE current"
    before = connection.execute(current).fetchall()
    statements = (
        f"DELETE FROM {target}.summaries WHERE {removed} AND id NOT IN (SELECT id FROM {source}.summaries)",
        f"""UPDATE {target}.summaries AS t SET current = 0, doubt = '', reason = '' WHERE current AND EXISTS (
            SELECT 1 FROM {source}.summaries s WHERE {listed} AND s.current AND {same.format("s", "t")}
            AND {is_better})""",
        f"""INSERT INTO {target}.summaries({_SUMMARY}, supersedes, current, doubt, reason) SELECT {_SUMMARY_COLUMNS},
            CASE WHEN s.supersedes <> '' AND EXISTS ({is_continued}) THEN '' ELSE s.supersedes END,
            s.current AND NOT EXISTS ({is_taken}), '', '' FROM {source}.summaries s
            WHERE {listed} AND s.id NOT IN (SELECT id FROM {target}.summaries) ORDER BY s.number""",
        f"""UPDATE {target}.summaries AS s SET current = 1 WHERE NOT current AND NOT EXISTS ({is_taken})
            AND id IN (SELECT id FROM {source}.summaries WHERE current)""",
        f"""INSERT OR IGNORE INTO {target}.summary_parts(summary, kind, subject, place, digest, now)
            SELECT summary, kind, subject, place, digest, digest FROM {source}.summary_parts
            WHERE summary IN (SELECT id FROM {target}.summaries WHERE current)""",
        f"""DELETE FROM {target}.summary_parts
            WHERE summary NOT IN (SELECT id FROM {target}.summaries WHERE current)""",
    )
    for statement in statements:
        connection.execute(statement)
    if target != "main":
        return
    changed = set(before).symmetric_difference(connection.execute(current).fetchall())
    connection.executemany("INSERT OR IGNORE INTO main.received_state VALUES (?, ?)", {row[1:] for row in changed})
    # The next learn compares the inputs of the new texts with the code of this checkout.
    connection.executemany(
        "DELETE FROM main.summary_places WHERE place IN (SELECT place FROM main.summary_parts WHERE summary = ?)",
        [(row[0],) for row in changed],
    )
    connection.execute("UPDATE main.summary_state SET number = number + 1")
