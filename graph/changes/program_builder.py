"""Builds the adjacency file and the program file from the graph, in a process of its own.

    python -m golore.graph.changes.program_builder STORE

Gives up as soon as a writer appears. Until the files exist, questions query the graph itself. Every learn checks
whether they exist, so what builds them is imported when they are built.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError
from golore.graph.files import locks
from golore.graph.files.store_path import PROGRAM_NAME
from golore.graph.gc_pause import gc_disabled
from golore.graph.safety.child_processes import python_command

_LARGE: Final = 2_000
"""Symbols from which on the first question about a change is slow enough to build the files before it."""
_MANY_ROWS: Final = 1_000
_BATCH: Final = 20_000


_started: Final[list[subprocess.Popen[bytes]]] = []
"""Kept, because Python warns of a process that runs on when its object is gone."""


class _Interrupted(Exception):
    """A writer needs the graph."""


def start_program_build(directory: Path) -> subprocess.Popen[bytes]:
    """Build the files in another process, which prints nothing and may be killed at any time."""
    command = python_command("-m", "golore.graph.changes.program_builder", str(directory))
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def build_ahead(store: Store, symbols: int, changed: int | None = None) -> subprocess.Popen[bytes] | None:
    """Start to build the files of a large graph if they are missing or out of date, before anybody asks. The process
    does not end with this one. `changed`: the rows that were written since somebody checked that; after few, the graph
    is not opened to check it again."""
    is_checked = changed is not None and changed < _MANY_ROWS and (store.directory / PROGRAM_NAME).exists()
    if symbols < _LARGE or is_checked or not is_program_due(store):
        return None
    _started.append(start_program_build(store.directory))
    return _started[-1]


def is_program_due(store: Store) -> bool:
    """Whether one of the files should be built, or built again."""
    from golore.graph.changes.program_file import open_program_file
    from golore.graph.queries.adjacency_file import open_adjacency
    from golore.graph.queries.symbol_steps import is_adjacency_due, open_steps

    if open_adjacency(store.directory) is None:
        return True  # without opening the graph: after a first learn, nothing else needs it
    adjacency = open_steps(store).adjacency
    return is_adjacency_due(store) or adjacency is None or not open_program_file(store.directory, adjacency.generation)


def make_program_files(directory: Path) -> bool:
    """Build what is missing or out of date. Returns False if a writer interrupted it."""
    from golore.graph.queries.adjacency_builder import make_adjacency

    with Store.open(directory, write=False) as store:
        if not is_program_due(store):
            return True
    if not make_adjacency(directory):
        return False
    try:
        with gc_disabled():
            _make_program_file(directory)
    except _Interrupted:
        return False
    return True


def _make_program_file(directory: Path) -> None:
    from golore.graph.changes.knots import find_knots, find_leading
    from golore.graph.changes.part import NO_PART, Part, with_reads
    from golore.graph.changes.program import Program
    from golore.graph.changes.program_file import Contents, write_program_file
    from golore.graph.changes.unresolved_candidates import unresolved_candidates
    from golore.graph.queries.questions import TYPES
    from golore.graph.queries.symbol_steps import open_steps

    with Store.open(directory, write=False) as store:
        steps = open_steps(store)
        adjacency = steps.adjacency
        if adjacency is None or adjacency.generation != store.generation:
            raise _Interrupted
        steps.read_outside_interfaces()
        program = Program(store, steps)
        program.read_all_awaits()
        symbols = range(adjacency.symbols)
        parts: list[Part] = []
        for start in symbols[::_BATCH]:
            parts += map(program.read_part, symbols[start : start + _BATCH])
            _give_way(directory)
        kinds = [adjacency.kind(number) for number in symbols]
        types = {number: program.read_type_part(number) for number in symbols if kinds[number] in TYPES}
        _give_way(directory)
        variables = [number for number in symbols if kinds[number] == "var"]
        initialisers = {number: tuple(program.find_initialisers(number)) for number in variables}
        unnamed, candidates = program.read_unnamed(), unresolved_candidates(store, steps)
        roles = bytes(map(program.read_role, range(adjacency.total)))
    parts += [NO_PART] * (adjacency.total - adjacency.symbols)
    leading = find_leading(parts, initialisers)
    awaited = frozenset(place for part in parts for _, places in part.awaits for place in places)
    parts = [with_reads(part, awaited) for part in parts]
    knots = find_knots(parts, leading, awaited)
    contents = Contents(parts, types, initialisers, unnamed, candidates, leading, knots, roles, awaited)
    write_program_file(directory, adjacency.generation, contents)


def _give_way(directory: Path) -> None:
    if locks.is_held(directory / "writer.lock"):
        raise _Interrupted


def main(arguments: list[str]) -> int:
    try:
        return 0 if make_program_files(Path(arguments[0])) else 1
    except (GoloreError, OSError):
        return 1  # questions query the graph itself


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
