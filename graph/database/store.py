"""The store: all access to the graph database goes through it.

A store is a directory (`.golore/`) with two locks. `writer.lock` is held by the one process that has the store open for
writing. `lock` is shared by the readers that have the database open, and exclusive while the writer changes the
database in place. `bulk_load`, as in a first learn, builds a new database beside the old one and makes it current by
replacing `store.json`, so it does not wait for readers.

Most processes only read, and few statements, so the modules that write a graph are imported by the methods that write.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from golore.graph.database.change_log import NO_CHANGES, ChangedNodes, nodes_changed_by, record_changed_nodes
from golore.graph.database.cosines import with_least_similarity
from golore.graph.database.engine import EngineFailure, Row, Session, engine_name, require_room, running_error
from golore.graph.database.read_only import require_read_only
from golore.graph.database.vector_changes import record_text_changes
from golore.graph.errors import GraphDamaged, StoreError, StoreMissing, StoreOutdated, UsageError
from golore.graph.files import locks
from golore.graph.files.claim import create_store_directory
from golore.graph.files.graph_digests import (
    GraphDigests,
    mark_damaged,
    record_digests,
    remove_digests,
    require_undamaged,
)
from golore.graph.files.handover import finish_handover, finish_handover_locked
from golore.graph.files.layout import (
    fingerprint,
    next_database,
    prepare_directory,
    remove_leftovers,
    unlink_database,
)
from golore.graph.files.manifest import Manifest, read_manifest, require_compatible, this_version, write_manifest
from golore.graph.model.edge_columns import accesses_of_text, lines_of_text
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import (
    EDGE_COLUMNS,
    META_TABLE,
    META_VALUE,
    MIGRATIONS,
    NODE_COLUMNS,
    SCHEMA_VERSION,
    edges_from,
    node_from,
)

if TYPE_CHECKING:
    from golore.graph.database.bulk_load import BulkLoad, WorkBeside
    from golore.graph.model.delta import GraphDelta

_WAIT: Final = 5.0
"""Seconds to wait for another process. A change in place takes well under one second."""
_SHORTEST_LOG: Final = 1 << 18
_LONGEST_LOG: Final = 1 << 19
"""Bytes. A longer log is always folded into the file: at this size, after about ten edits, it makes every open 50 ms
slower, and an update after an edit opens the database twice."""
_LOG_SHARE: Final = 16
"""Between these two sizes, a log is folded when it is longer than 1/16 of the file: folding takes time in proportion to
the file, and opening reads the whole log, so a small file should not have a long log."""
NOT_ENOUGH_MEMORY: Final = "The query needs more memory than it may use. Return less, or add a LIMIT."
_ROOM_ROWS: Final = 2_000
"""Rows of a delta that take as much room as a statement with a hundred vectors."""
_PAGE_NODES: Final = 40_000
"""Source nodes read at a time when the whole graph is read in order."""
_WRITE_POOL: Final = 1 << 30
"""Bytes. A change that thousands of packages see reads and compares all their rows."""
_LARGEST_POOL: Final = 512 << 20
"""Bytes for one of golore's own questions, if smaller pools are too small for it."""

_Answer = TypeVar("_Answer")


class Store:
    """Open it with `Store.open` and use it as a context manager."""

    def __init__(self, directory: Path, manifest: Manifest | None, writer: locks.FileLock | None, wait: float) -> None:
        self.directory = directory
        self.message = ""
        """What the user should know about the opening, such as removed files; may be empty."""
        self._manifest = manifest
        self._writer = writer
        self._wait = wait
        self._session: Session | None = None
        self._lock: locks.FileLock | None = None
        self._pool: int | None = None
        self._threads: int | None = None
        self._replaced: list[Session] = []
        """Sessions from which rows are still being read (see `_renew`)."""
        self._generation_at_open = ""
        self._generation_read = ""
        self._digests_at_open: GraphDigests = {}
        self._changed_nodes: ChangedNodes | None = NO_CHANGES
        self._ids_by_label: dict[str, dict[int, str]] = {}

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        write: bool,
        wait: float = _WAIT,
        pool: int | None = None,
        threads: int | None = None,
    ) -> Self:
        """Open a store. A reader needs a store that exists; a writer gets an empty one if there is none.

        The database itself is opened by the first call that needs it. `pool` is the size of a reader's buffer pool in
        bytes; a long-running reader with small queries may use a smaller one. `threads`: of a reader's queries; one is
        best for many small queries at once, and in a small pool, where two that make room at the same time may fail.
        """
        engine = engine_name()
        if not write:
            finish_handover(directory, wait=wait)
            manifest = read_manifest(directory)
            if manifest is None:
                raise StoreMissing(f"There is no store in {directory}. Run `golore learn` first.")
            require_compatible(manifest, directory, engine)
            if manifest.schema < SCHEMA_VERSION:
                raise StoreOutdated(
                    f"The store in {directory} was made by an older golore ({manifest.golore}). "
                    "Run `golore learn` to bring it up to date."
                )
            store = cls(directory, manifest, None, wait)
            store._pool, store._threads = pool, threads
            return store
        with _disk_errors(directory):
            create_store_directory(directory)
            writer = locks.acquire(directory / "writer.lock", exclusive=True, timeout=wait, purpose="written")
        try:
            finish_handover_locked(directory)
            manifest = read_manifest(directory)
            if manifest is not None:
                require_compatible(manifest, directory, engine)
            with _disk_errors(directory):
                message = prepare_directory(directory, manifest)
            store = cls(directory, manifest, writer, wait)
            store.message = message
            store._migrate()
        except BaseException:
            writer.release()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._close_session()
        if self._writer is not None:
            self._writer.release()
            self._writer = None

    @property
    def is_empty(self) -> bool:
        """Whether the store has no graph yet."""
        return self._manifest is None

    @property
    def is_stale(self) -> bool:
        """Whether the graph was replaced since this reader opened it, or a writer is active: close the store and open
        it again to see the changes."""
        return read_manifest(self.directory) != self._manifest or locks.is_held(self.directory / "writer.lock")

    @property
    def graph_name(self) -> str:
        """The name of the database file. A graph that replaces another one has another name."""
        return self._database.name

    @property
    def generation(self) -> str:
        """Identifies the content of the graph: it changes when the graph is replaced or changed. Opens the database."""
        if self._reading().is_writable:
            return fingerprint(self._database)
        # A reader's lock keeps the files from being changed, and a question asks for this several times.
        self._generation_read = self._generation_read or fingerprint(self._database)
        return self._generation_read

    @property
    def generation_on_disk(self) -> str:
        """Like `generation`, but does not open the database. It differs if a killed writer has left a log to apply."""
        return fingerprint(self._database)

    def query(
        self,
        cypher: str,
        parameters: Mapping[str, object] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> list[dict[str, Any]]:
        """All rows of `query_pages`, each with the names of its columns."""
        names, pages = self.query_pages(cypher, parameters, seconds=seconds, most=most)
        return [dict(zip(names, row, strict=True)) for page in pages for row in page]

    def query_pages(
        self,
        cypher: str,
        parameters: Mapping[str, object] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> tuple[list[str], Iterator[list[Row]]]:
        """The result of a user's query: the names of its columns, and at most `most` rows in pages. Raises `UsageError`
        if the query does anything but read, fails, or takes longer than `seconds`.

        It runs in this process, which a query can crash or fill; `services.query_process` runs it in another one.
        """
        require_read_only(cypher)
        statement = with_least_similarity(cypher)
        try:
            return self._answer(lambda session: session.pages(statement, parameters, seconds=seconds, most=most), 0)
        except EngineFailure as failure:
            raise UsageError(_query_failure(str(failure), seconds)) from failure

    def rows(self, cypher: str, parameters: Mapping[str, object] | None = None) -> Iterator[Row]:
        """The result of one of golore's own queries, row by row."""
        try:
            yield from self._answer(lambda session: session.rows(cypher, parameters))
        except EngineFailure as failure:
            raise self._reading_error(failure) from failure

    def columns(self, cypher: str, parameters: Mapping[str, object] | None = None) -> list[list[Any]]:
        """Like `rows`, but column by column: faster for results of many thousands of rows."""
        try:
            return self._answer(lambda session: session.columns(cypher, parameters))
        except EngineFailure as failure:
            raise self._reading_error(failure) from failure

    def node_columns(self, label: str, names: Sequence[str]) -> list[list[Any]]:
        """The whole table of a label (see `GraphTables`)."""
        values = ", ".join(["offset(id(n))", *(f"n.`{name}`" for name in names)])
        return self.columns(f"MATCH (n:{label}) RETURN {values}")

    def matching_nodes(
        self, label: str, names: Sequence[str], column: str, texts: Collection[str], prefix: str = ""
    ) -> list[list[Any]]:
        """These columns of some nodes (see `GraphTables`)."""
        _, found, *columns = self.node_columns(label, (column, *names))
        wanted = [text in texts or bool(prefix and text.startswith(prefix)) for text in found]
        return [list(compress(values, wanted)) for values in columns]

    def edge_columns(self, kind: EdgeKind, names: Sequence[str] = ()) -> list[list[Any]]:
        """All edges of a kind (see `GraphTables`)."""
        return self.columns(_edges_query(kind, names))

    def edge_table(self, kind: EdgeKind, names: Sequence[str] = ()) -> Any:
        """Like `edge_columns`, as a `pyarrow.Table` (see `GraphTables`)."""
        found = self.table(_edges_query(kind, names))
        return found.rename_columns(["source", "target", *names]) if found.num_rows else None

    def number(self, kinds: Iterable[EdgeKind]) -> None:
        """Nothing to prepare: the engine numbers the nodes (see `GraphTables`)."""

    def table(self, cypher: str) -> Any:
        """Like `columns`, as a `pyarrow.Table`: for results that stay in Arrow."""
        try:
            return self._answer(lambda session: session.table(cypher))
        except EngineFailure as failure:
            raise self._reading_error(failure) from failure

    def nodes(self, label: str) -> Iterator[Node]:
        """All nodes of a label, sorted by id."""
        values = ", ".join(f"n.`{column.name}`" for column in NODE_COLUMNS[label])
        for low, high in self._pages(label):
            for row in self.rows(
                f"MATCH (n:{label}) WHERE n.id >= $low AND n.id <= $high RETURN {values} ORDER BY n.id",
                {"low": low, "high": high},
            ):
                yield node_from(label, row)

    def edges(self, kind: EdgeKind) -> Iterator[Edge]:
        """All edges of a kind, sorted by source and target."""
        names = self._ids(kind.target)
        values = "".join(f", e.`{column.name}`" for column in EDGE_COLUMNS[kind.label])
        # The target is returned as its offset: joining its id in the engine takes memory for the whole target table.
        statement = (
            f"MATCH (a:{kind.source})-[e:{kind.label}]->(b:{kind.target}) WHERE a.id >= $low AND a.id <= $high "
            f"RETURN a.id, offset(id(b)){values}"
        )
        for low, high in self._pages(kind.source):
            rows = [[row[0], names[row[1]], *row[2:]] for row in self.rows(statement, {"low": low, "high": high})]
            rows.sort()
            yield from edges_from(kind, rows)

    def edges_out_of(self, label: str, ids: Iterable[str]) -> dict[EdgeKind, list[Edge]]:
        """All edges that start at one of these nodes, by kind, sorted.

        Runs one small query per node: its cost does not grow with the graph, unlike that of a search by property.
        """
        found: dict[EdgeKind, list[Edge]] = {}
        statement = (
            f"MATCH (a:{label} {{id: $id}})-[e]->(b) "
            "RETURN label(e), label(b), b.id, e.sites, e.evidence, e.pointer, e.access"
        )
        for source in ids:
            for edge_label, target_label, target, *values in self.rows(statement, {"id": source}):
                sites, evidence, pointer, access = values
                edge = Edge(
                    source, target, lines_of_text(sites), evidence or "", bool(pointer), accesses_of_text(access)
                )
                found.setdefault(EdgeKind(edge_label, label, target_label), []).append(edge)
        return {kind: sorted(edges) for kind, edges in sorted(found.items())}

    def meta(self) -> dict[str, str]:
        """The meta rows of the graph, without the schema version."""
        if self._manifest is None:
            return {}
        return dict(self.rows(f"MATCH (m:{META_TABLE}) WHERE m.id <> 'schema' RETURN m.id, m.value ORDER BY m.id"))

    @contextlib.contextmanager
    def bulk_load(
        self,
        meta: Mapping[str, str] | None = None,
        beside: WorkBeside | None = None,
        columns: Sequence[str] = (),
    ) -> Generator[BulkLoad]:
        """Collect a whole graph, which replaces the current one when the block ends without an exception. Readers can
        read the current one meanwhile. `beside` works while the rows are loaded. `columns` are statements that add
        columns to the tables."""
        from golore.graph.database.bulk_load import BulkLoad

        self._require_writer()
        load = BulkLoad(self.directory / f"bulk-{os.getpid()}.tmp")
        try:
            yield load
            self._replace(load, {} if meta is None else meta, beside, columns)
        finally:
            load.discard()

    def open_for_writing(self) -> None:
        """Open the database for writing now. For callers that read little before a change: it saves one open, but makes
        readers wait longer."""
        self._require_writer()
        self._writing()

    def apply(self, delta: GraphDelta) -> None:
        """Apply a delta in one transaction. An empty delta writes nothing."""
        self._require_writer()
        if not delta:
            return
        if self._manifest is None:
            raise StoreMissing(f"There is no graph in {self.directory} to change. Run `golore learn` first.")
        from golore.graph.database.delta_writer import write_delta

        require_room(self._database, len(delta))
        with _disk_errors(self.directory):
            record_text_changes(self.directory, delta)
        self._write(lambda session: write_delta(session, delta), nodes_changed_by(delta))

    def write(self, statements: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Run statements with their parameters in one transaction, which changes nothing that was learned."""
        self._require_writer()

        def run(session: Session) -> None:
            session.run("BEGIN TRANSACTION")
            for statement, parameters in statements:
                session.run(statement, **parameters)
            session.run("COMMIT")

        require_room(self._database, _ROOM_ROWS * len(statements))
        self._write(run, NO_CHANGES)

    def _write(self, run: Callable[[Session], None], changed: ChangedNodes) -> None:
        session = self._writing()
        self._changed_nodes = None  # unknown until everything is written
        try:
            run(session)
            self._changed_nodes = changed
        except EngineFailure as failure:
            self._close_session()
            raise running_error(self._database, str(failure)) from failure
        threshold = max(_SHORTEST_LOG, self._database.stat().st_size // _LOG_SHARE)
        if self.log_bytes > min(threshold, _LONGEST_LOG):
            self.checkpoint()
        self._close_session()

    @property
    def log_bytes(self) -> int:
        """Size of the log, which is not yet folded into the database file."""
        log = self._database.with_name(self._database.name + ".wal")
        return log.stat().st_size if log.exists() else 0

    def checkpoint(self) -> None:
        """Fold the log into the database file. Takes seconds on a large store and makes opening it faster."""
        self._require_writer()
        if self._manifest is not None:
            require_room(self._database, 0)
            try:
                self._writing().run("CHECKPOINT")
            except EngineFailure as failure:
                raise running_error(self._database, str(failure)) from failure
            finally:
                self._close_session()

    @property
    def _database(self) -> Path:
        if self._manifest is None:
            raise StoreMissing(f"There is no store in {self.directory}. Run `golore learn` first.")
        return self.directory / self._manifest.graph

    def _require_writer(self) -> None:
        if self._writer is None:
            raise StoreError("The store was opened for reading. Open it for writing to change it.")

    def _reading(self) -> Session:
        return self._session or self._open_session(write=False)

    def _answer(self, ask: Callable[[Session], _Answer], largest_pool: int = _LARGEST_POOL) -> _Answer:
        """What `ask` returns. If the pool is full, `ask` is called again with an empty one, and if that is too small,
        with larger ones: what fills it is mostly pages of earlier questions, which the engine does not always free."""
        while True:
            session = self._reading()
            try:
                return ask(session)
            except EngineFailure as failure:
                pool = session.pool * 2 if session.is_fresh else session.pool
                is_too_large = session.is_fresh and pool > largest_pool
                if session.is_writable or is_too_large or not failure.is_full_pool:
                    raise
            self._renew(session, pool)

    def _renew(self, session: Session, pool: int) -> None:
        """Replace the session by one whose pool is empty. The lock, and so the generation, stays the same."""
        if session.is_being_read:
            self._replaced.append(session)
        else:
            session.close()
        self._session = Session(self._database, write=False, pool=pool, threads=self._threads)

    def _writing(self) -> Session:
        if self._session is not None and self._session.is_writable:
            return self._session
        self._close_session()
        return self._open_session(write=True)

    def _open_session(self, *, write: bool) -> Session:
        lock = self._acquire(exclusive=write)
        try:
            path, recorded = self._undamaged_database()
            if not recorded and not write and os.access(path, os.W_OK):
                # Only a process that is alone may complete what a killed writer left unfinished.
                lock.release()
                lock = self._acquire(exclusive=True)
                path, recorded = self._undamaged_database()
            if not recorded:
                from golore.graph.database.open_check import require_readable

                require_readable(path, write=lock.exclusive)
                recorded = record_digests(path, {})
            if lock.exclusive and not write:
                lock.release()
                lock = self._acquire(exclusive=False)
                path, recorded = self._undamaged_database()
            self._generation_at_open = fingerprint(path)
            self._digests_at_open = recorded
            if write:
                remove_digests(path)
            pool = _WRITE_POOL if write else self._pool
            session = Session(path, write=write, pool=pool, threads=self._threads)
            _require_schema(session, path)
        except BaseException:
            lock.release()
            raise
        self._session, self._lock = session, lock
        return session

    def _undamaged_database(self) -> tuple[Path, GraphDigests]:
        """The current database, and the record of its files."""
        # Another process may have made a new database current since this store was opened.
        manifest = read_manifest(self.directory)
        if manifest is not None:
            require_compatible(manifest, self.directory, engine_name())
        self._manifest = manifest
        path = self._database
        if not path.is_file():
            raise GraphDamaged(f"{path} is missing. Run `golore learn` to rebuild it.")
        return path, require_undamaged(path)

    def _close_session(self) -> None:
        session, self._session = self._session, None
        lock, self._lock = self._lock, None
        self._ids_by_label.clear()
        self._generation_read = ""
        try:
            while self._replaced:
                self._replaced.pop().close()
            if session is not None:
                session.leave()
                if session.is_writable:
                    record_digests(self._database, self._digests_at_open)
                    self._log_changed_nodes()
        finally:
            if lock is not None:
                lock.release()

    def _reading_error(self, failure: EngineFailure) -> StoreError:
        """The error after a question of golore failed. If the reason is damage, the next learn rebuilds the graph."""
        error = running_error(self._database, str(failure))
        if isinstance(error, GraphDamaged):
            mark_damaged(self._database)
        return error

    def _log_changed_nodes(self) -> None:
        """Log the changed nodes. Runs before the lock is released, so that readers of the change find the log entry."""
        nodes, self._changed_nodes = self._changed_nodes, NO_CHANGES
        after = fingerprint(self._database)
        if nodes is not None and after != self._generation_at_open:
            record_changed_nodes(self.directory, self._generation_at_open, after, nodes)

    def _acquire(self, *, exclusive: bool) -> locks.FileLock:
        purpose = "changed" if exclusive else "read"
        with _disk_errors(self.directory):
            return locks.acquire_in_turn(
                self.directory / "lock", exclusive=exclusive, timeout=self._wait, purpose=purpose
            )

    def _replace(
        self, load: BulkLoad, meta: Mapping[str, str], beside: WorkBeside | None, columns: Sequence[str]
    ) -> None:
        self._close_session()
        database = next_database(self.directory, self._manifest)
        manifest = Manifest(SCHEMA_VERSION, engine_name(), this_version(), database.name)
        with _disk_errors(self.directory):
            unlink_database(database)
            try:
                load.build(database, meta, None if beside is None else beside.more_rows, columns)
                record_digests(database, {})
                if beside is not None:
                    beside.wait()
            except BaseException:
                unlink_database(database)
                raise
            write_manifest(self.directory, manifest)
            self._manifest = manifest
            remove_leftovers(self.directory, manifest)

    def _migrate(self) -> None:
        """Bring an older database up to date, in one transaction per version."""
        if self._manifest is None or self._manifest.schema == SCHEMA_VERSION:
            return
        session = self._writing()
        try:
            migrate(session, MIGRATIONS, SCHEMA_VERSION)
        except EngineFailure as failure:
            raise running_error(self._database, str(failure)) from failure
        finally:
            self._close_session()
        self._manifest = self._manifest._replace(schema=SCHEMA_VERSION, golore=this_version())
        write_manifest(self.directory, self._manifest)

    def _ids(self, label: str) -> dict[int, str]:
        """The ids of a label's nodes by their offset in the table; cached until the database is closed."""
        if label not in self._ids_by_label:
            found = self.rows(f"MATCH (n:{label}) RETURN offset(id(n)), n.id")
            self._ids_by_label[label] = {row[0]: row[1] for row in found}
        return self._ids_by_label[label]

    def _pages(self, label: str) -> Iterable[tuple[str, str]]:
        """The first and last id of each page of nodes. Pages bound the number of rows that are sorted at once."""
        ids = sorted(self._ids(label).values())
        last = len(ids) - 1
        return [(ids[at], ids[min(at + _PAGE_NODES - 1, last)]) for at in range(0, len(ids), _PAGE_NODES)]


def migrate(session: Session, migrations: Mapping[int, tuple[str, ...]], target: int) -> None:
    """Run the migrations that this database lacks. Each transaction also stores the new version number."""
    for number in range(_schema_of(session) + 1, target + 1):
        session.run("BEGIN TRANSACTION")
        for statement in migrations[number]:
            session.run(statement)
        session.run(f"MATCH (m:{META_TABLE} {{id: 'schema'}}) SET m.value = $value", value=str(number))
        session.run("COMMIT")


def _edges_query(kind: EdgeKind, names: Sequence[str]) -> str:
    values = ", ".join(["offset(id(a))", "offset(id(b))", *(f"e.`{name}`" for name in names)])
    return f"MATCH (a:{kind.source})-[e:{kind.label}]->(b:{kind.target}) RETURN {values}"


def _schema_of(session: Session) -> int:
    for (value,) in session.rows(META_VALUE, {"id": "schema"}):
        return int(value)
    raise EngineFailure("it has no schema version.")


def _require_schema(session: Session, path: Path) -> None:
    """Raise if the database has no schema version: a truncated file may open as an empty database."""
    try:
        _schema_of(session)
    except EngineFailure as failure:
        session.close()
        raise running_error(path, str(failure)) from failure


def too_slow(seconds: float) -> str:
    """The message for a query that took longer than it may."""
    return f"The query was stopped after {seconds:g} s. Begin at fewer nodes, or limit the length of its paths."


def _query_failure(detail: str, seconds: float | None) -> str:
    if seconds is not None and "interrupted" in detail.lower():
        return too_slow(seconds)
    if "buffer manager" in detail.lower() or "bad_alloc" in detail:
        return NOT_ENOUGH_MEMORY
    if "cannot find property vector " in detail.lower():
        return f"The query failed: {detail.strip()} Run `golore embed` to add vectors to the graph."
    return f"The query failed: {detail}"


@contextlib.contextmanager
def _disk_errors(directory: Path) -> Generator[None]:
    try:
        yield
    except OSError as failure:
        raise StoreError(
            f"The store in {directory} cannot be used: {failure.strerror or failure}. "
            "Check the free space and who owns the directory."
        ) from failure
