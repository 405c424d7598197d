"""Reads and writes the rows of `knowledge.db` by table, for exports, imports and comparisons.

New tables are included without a change here. Excluded are the tables that record the state of copies on this machine
(`changes`, and tables whose names end in `_state`), and tables that SQLite creates itself, such as those of a full-text
index.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.files.knowledge_merge import remove_orphans, resolve_conflicts

_LOCAL_TABLE_SUFFIXES: Final = ("changes", "_state")


@contextmanager
def read_transaction(knowledge: Knowledge) -> Generator[None]:
    """Run the block in one read transaction: all reads see the same state, even if another process writes meanwhile."""
    list(knowledge.rows("BEGIN"))
    try:
        yield
    finally:
        list(knowledge.rows("COMMIT"))


def tables_of(knowledge: Knowledge) -> dict[str, tuple[str, ...]]:
    """The columns of each table, in table order; the tables are sorted by name."""
    names = sorted(
        name
        for (name,) in knowledge.rows("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
        if not name.endswith(_LOCAL_TABLE_SUFFIXES) and not name.startswith("sqlite_")
    )
    return {name: tuple(row[0] for row in knowledge.rows(_COLUMNS, (name,))) for name in names}


def rows_of(knowledge: Knowledge, table: str, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, sorted by all columns."""
    names = ", ".join(map(_quoted, columns))
    yield from knowledge.rows(f"SELECT {names} FROM main.{_quoted(table)} ORDER BY {names}")


def insert_rows(write: Transaction, table: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Insert rows, each given by column name."""
    for row in rows:
        names, placeholders = ", ".join(map(_quoted, row)), ", ".join("?" * len(row))
        write.run(f"INSERT INTO main.{_quoted(table)}({names}) VALUES ({placeholders})", tuple(row.values()))


def is_empty(knowledge: Knowledge) -> bool:
    return not any(next(rows_of(knowledge, *table), None) for table in tables_of(knowledge).items())


def version_of(knowledge: Knowledge) -> int:
    """The version of the tables; 0 if all of them are empty."""
    return 0 if is_empty(knowledge) else next(knowledge.rows("PRAGMA user_version"))[0]


def copy_rows_from(knowledge: Knowledge, source: Path, *, merge: bool) -> None:
    """Replace all rows by those of another file of the same version, in one transaction. `merge`: keep the rows and
    add those of the other file (see `knowledge_merge`), which may then be changed as well."""
    list(knowledge.rows("ATTACH ? AS incoming", (str(source),)))
    tables = tables_of(knowledge)
    with knowledge.transaction() as write:
        write.run("PRAGMA defer_foreign_keys = ON")
        merge = merge and not is_empty(knowledge)
        if merge:
            resolve_conflicts(write)
        for table in tables if not merge else ():
            write.run(f"DELETE FROM main.{_quoted(table)}")
        for table, columns in tables.items():
            number = _row_number_column(knowledge, table) if merge else ""
            others = [_quoted(column) for column in columns if column != number]
            names = ", ".join(others)
            same = " AND ".join(f"here.{name} IS there.{name}" for name in others)
            # Without another key, equal rows are the same row: a merge may run again after a kill.
            is_new = f"WHERE NOT EXISTS (SELECT 1 FROM main.{_quoted(table)} here WHERE {same})" if number else ""
            write.run(
                f"INSERT {'OR IGNORE ' if merge else ''}INTO main.{_quoted(table)}({names}) SELECT {names} "
                f"FROM incoming.{_quoted(table)} there {is_new} ORDER BY {_quoted(number) if number else names}"
            )
        if merge:
            remove_orphans(write)
    list(knowledge.rows("DETACH incoming"))


_COLUMNS: Final = "SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid"
_KEY: Final = "SELECT name, type FROM pragma_table_info(?, 'main') WHERE pk"


def _row_number_column(knowledge: Knowledge, table: str) -> str:
    """The integer primary key of a table; empty if it has another key. Two files may use the same number for different
    rows, so rows that are added get new numbers."""
    key = list(knowledge.rows(_KEY, (table,)))
    return key[0][0] if len(key) == 1 and key[0][1] == "INTEGER" else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
