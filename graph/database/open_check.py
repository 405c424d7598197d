"""Opens a graph in another process before this one does, if nobody knows whether its files are damaged.

    python -P -m golore.graph.database.open_check DATABASE read|write

The engine trusts its files: damaged ones crash the process or make it allocate gigabytes. Files that the last writer
has recorded are compared with the record (see `files.graph_digests`). After a writer that was killed, and in stores of
older versions, there is no record. So another process, with a limit of memory, first reads everything in the graph:
every column, every edge in both directions, and the index of the ids.
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
        for statement in _statements():
            list(session.rows(statement))
        session.close()
    except (StoreError, EngineFailure):
        return False
    return True


def _statements() -> list[str]:
    nodes = {META_TABLE: (Column("id", "STRING"), Column("value", "STRING")), **NODE_COLUMNS}
    statements: list[str] = []
    for label, columns in nodes.items():
        statements += [
            f"MATCH (n:{label}) RETURN {_aggregates('n', columns)}",
            f"MATCH (n:{label}) WITH n.id AS i MATCH (m:{label} {{id: i}}) RETURN count(m)",
        ]
    for kind in EDGE_KINDS:
        edge, values = f"[e:{kind.label}]", _aggregates("e", EDGE_COLUMNS[kind.label])
        statements += [
            f"MATCH (a:{kind.source})-{edge}->(b:{kind.target}) RETURN max(a.id), max(b.id), {values}",
            f"MATCH (b:{kind.target})<-{edge}-(a:{kind.source}) RETURN max(a.id), max(b.id), {values}",
        ]
    return statements


def _aggregates(name: str, columns: tuple[Column, ...]) -> str:
    """A value that the engine computes from all values of the columns."""
    parts = [f"{name}.`{column.name}`" for column in columns]
    sums = [part if column.type != "STRING[]" else f"size({part})" for part, column in zip(parts, columns, strict=True)]
    return ", ".join(("count(*)", *(f"max({part})" for part in sums)))


def _main() -> int:
    database, mode = Path(sys.argv[1]), sys.argv[2]
    forbid_core_dumps()
    set_memory_limit(reader_memory(database))
    return 0 if can_be_read(database, write=mode == "write") else 1


if __name__ == "__main__":
    sys.exit(_main())
