"""Opens a graph in another process before this one does, if nobody knows whether its files are damaged.

    python -P -m golore.graph.database.open_check DATABASE read|write

The engine trusts its files: damaged ones crash the process or make it allocate gigabytes. Files that the last writer
has recorded are compared with the record (see `files.graph_digests`). After a writer that was killed, and in stores of
older versions, there is no record. So another process, with a limit of memory, first reads everything in the graph:
every column, every edge in both directions, and the index of the ids. A value
that golore cannot have stored, such as a NULL, is damage too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from golore.graph.database.engine import EngineFailure, Session, reader_memory
from golore.graph.errors import GraphDamaged, StoreError
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.tables import EDGE_COLUMNS, META_TABLE, NODE_COLUMNS, Column
from golore.graph.safety.child_processes import python_command
from golore.graph.safety.memory_limit import set_memory_limit
from golore.graph.safety.system import forbid_core_dumps

_MODULE: Final = "golore.graph.database.open_check"
_MAX_SECONDS: Final = 120.0
_TEXT: Final = "(?s).*"
_LINES: Final = "[0-9]+( [0-9]+)*|"
_BYTES_PER_SECOND: Final = 1 << 20
"""A graph is read hundreds of times as fast; the limit is for an engine that hangs."""


def require_readable(database: Path, *, write: bool) -> None:
    """Raise `GraphDamaged` if the graph cannot be read without a failure. `write`: also complete what a killed writer
    left unfinished; the caller must have locked out all others."""
    seconds = _MAX_SECONDS + database.stat().st_size / _BYTES_PER_SECOND
    command = python_command("-m", _MODULE, str(database.absolute()), "write" if write else "read")
    quiet = subprocess.DEVNULL
    try:
        code = subprocess.run(
            command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=os.sep, timeout=seconds, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        code = -1
    if code:
        raise GraphDamaged(f"The graph {database} is damaged. Run `golore learn` to rebuild it.")


def can_be_read(database: Path, *, write: bool) -> bool:
    """Whether this process can read everything in the graph. A damaged one may crash it."""
    try:
        if write:
            Session(database, write=True).close()
        session = Session(database, write=False)
        is_complete = not any(row[0] for statement in _statements() for row in session.rows(statement))
        session.close()
    except (StoreError, EngineFailure):
        return False
    return is_complete


def _statements() -> list[str]:
    """Statements that read everything. The first value of each is the number of values that cannot be right."""
    nodes = {META_TABLE: (Column("id", "STRING"), Column("value", "STRING")), **NODE_COLUMNS}
    statements: list[str] = []
    for label, columns in nodes.items():
        statements += [
            f"MATCH (n:{label}) RETURN {_wrong_and_largest('n', columns)}",
            f"MATCH (n:{label}) WITH n.id AS i MATCH (m:{label} {{id: i}}) WITH count(m) AS found "
            f"MATCH (n:{label}) RETURN count(n) - found, found",
        ]
    for kind in EDGE_KINDS:
        edge, values = f"[e:{kind.label}]", _wrong_and_largest("e", EDGE_COLUMNS[kind.label])
        statements += [
            f"MATCH (a:{kind.source})-{edge}->(b:{kind.target}) RETURN {values}, max(a.id), max(b.id)",
            f"MATCH (b:{kind.target})<-{edge}-(a:{kind.source}) RETURN {values}, max(a.id), max(b.id)",
        ]
    return statements


def _wrong_and_largest(name: str, columns: tuple[Column, ...]) -> str:
    """The number of values that golore cannot have stored, and a value computed from all values of each column."""
    wrong = [
        f"sum(CASE WHEN {_is_possible(f'{name}.`{column.name}`', column)} THEN 0 ELSE 1 END)" for column in columns
    ]
    largest = [f"max({name}.`{column.name}`)" for column in columns if column.type != "STRING[]"]
    return ", ".join((" + ".join(("0", *wrong)), "count(*)", *largest))


def _is_possible(value: str, column: Column) -> str:
    """A condition that is not true of a NULL, of text that is not UTF-8, and of line numbers that are no numbers."""
    match column.type:
        case "STRING":
            return f"{value} =~ '{_LINES if column.name == 'sites' else _TEXT}'"
        case "STRING[]":
            return f"list_to_string(' ', {value}) =~ '{_TEXT}'"
        case _:
            return f"{value} IS NOT NULL"


def _main() -> int:
    database, mode = Path(sys.argv[1]), sys.argv[2]
    forbid_core_dumps()
    set_memory_limit(reader_memory(database))
    return 0 if can_be_read(database, write=mode == "write") else 1


if __name__ == "__main__":
    sys.exit(_main())
