"""The rows of `knowledge.db` by table, whatever its tables are: for exports, imports and comparisons.

A table that some module adds is carried along without this one knowing of it. What tells how far this machine is with
its copies (`changes`, and tables whose names end in `_state`) is not knowledge and stays behind, and so does what
SQLite makes by itself, such as the insides of a full-text index.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.files.knowledge_merge import after_adding, before_adding

_OWN: Final = ("changes", "_state")


@contextmanager
def frozen(knowledge: Knowledge) -> Generator[None]:
    """Let all that is read in the block be of one moment, whoever writes meanwhile."""
    list(knowledge.rows("BEGIN"))
    try:
        yield
    finally:
        list(knowledge.rows("COMMIT"))


def tables_of(knowledge: Knowledge) -> dict[str, tuple[str, ...]]:
    """The columns of each table, both in order."""
    names = sorted(
        name
        for (name,) in knowledge.rows("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
        if not name.endswith(_OWN) and not name.startswith("sqlite_")
    )
    return {name: tuple(row[0] for row in knowledge.rows(_COLUMNS, (name,))) for name in names}


def rows_of(knowledge: Knowledge, table: str, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, in a fixed order."""
    listed = ", ".join(map(_quoted, columns))
    yield from knowledge.rows(f"SELECT {listed} FROM main.{_quoted(table)} ORDER BY {listed}")


def put_rows(write: Transaction, table: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Add rows, each by the names of its columns."""
    for row in rows:
        listed, marks = ", ".join(map(_quoted, row)), ", ".join("?" * len(row))
        write.run(f"INSERT INTO main.{_quoted(table)}({listed}) VALUES ({marks})", tuple(row.values()))


def is_empty(knowledge: Knowledge) -> bool:
    return not any(next(rows_of(knowledge, *table), None) for table in tables_of(knowledge).items())


def version_of(knowledge: Knowledge) -> int:
    """Of its tables; 0 where nothing is known."""
    return 0 if is_empty(knowledge) else next(knowledge.rows("PRAGMA user_version"))[0]


def take_rows(knowledge: Knowledge, source: Path, *, merge: bool) -> None:
    """Let it hold what another file of the same version does, in one transaction. `merge`: besides what it holds (see
    `reconciling`); that file may then be changed, too."""
    list(knowledge.rows("ATTACH ? AS incoming", (str(source),)))
    tables = tables_of(knowledge)
    with knowledge.transaction() as write:
        write.run("PRAGMA defer_foreign_keys = ON")
        merge = merge and not is_empty(knowledge)
        if merge:
            before_adding(write)
        for table in tables if not merge else ():
            write.run(f"DELETE FROM main.{_quoted(table)}")
        for table, columns in tables.items():
            number = _number_of(knowledge, table) if merge else ""
            listed = ", ".join(_quoted(column) for column in columns if column != number)
            write.run(
                f"INSERT {'OR IGNORE ' if merge else ''}INTO main.{_quoted(table)}({listed}) "
                f"SELECT {listed} FROM incoming.{_quoted(table)} ORDER BY {_quoted(number) if number else listed}"
            )
        if merge:
            after_adding(write)
    list(knowledge.rows("DETACH incoming"))


_COLUMNS: Final = "SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid"
_KEY: Final = "SELECT name, type FROM pragma_table_info(?, 'main') WHERE pk"
_OTHER_KEYS: Final = "SELECT count(*) FROM pragma_index_list(?, 'main') WHERE origin = 'u'"


def _number_of(knowledge: Knowledge, table: str) -> str:
    """The column that only numbers the rows of a table, which have a key besides: two files number them anew."""
    key = list(knowledge.rows(_KEY, (table,)))
    is_number = len(key) == 1 and key[0][1] == "INTEGER"
    return key[0][0] if is_number and next(knowledge.rows(_OTHER_KEYS, (table,)))[0] else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
