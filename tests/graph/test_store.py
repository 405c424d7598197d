"""The store's conformance suite: one set of promises, kept on both engines.

It runs on the engine that GOLORE_ENGINE names. Two engines in one process crash the interpreter, so the last test runs
this whole file again in a process of its own with Kuzu.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest
from golore.graph.database.arrow import import_arrow
from golore.graph.database.engine import ENGINES, Session, engine_name
from golore.graph.database.open_check import can_be_read
from golore.graph.database.store import Store, migrate
from golore.graph.errors import (
    GraphDamaged,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreMismatch,
    StoreMissing,
    UsageError,
)
from golore.graph.files.atomic_write import replacing
from golore.graph.files.layout import digests_file
from golore.graph.files.manifest import read_manifest, this_version, write_manifest
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, External, File, Node, Package, Repository, Symbol, Unresolved
from golore.graph.model.tables import SCHEMA_VERSION

CALLS = EdgeKind("CALLS", "Symbol", "Symbol")
CALLS_OUT = EdgeKind("CALLS", "Symbol", "External")
HOLDS = EdgeKind("CONTAINS", "File", "Symbol")
IMPLEMENTS = EdgeKind("IMPLEMENTS", "Symbol", "Symbol")


def symbol(name: str, line: int = 1, doc: str = "") -> Symbol:
    return Symbol(
        f"m.{name}", "func", name, f"m.{name}", "m", "a.go", line, line + 2, 10, 50, "", f"func {name}()", doc, "",
        True, False, False,
    )  # fmt: skip


NODES: dict[str, list[Node]] = {
    "Repository": [Repository(".", "m", ("example.com/m", "example.com/m/tools"))],
    "Package": [Package("m", "m", "m", ".", "m", 'Package m.\n\n\tIt\'s "quoted" \\ ünïcode 世界', False)],
    "File": [File("a.go", "a.go", "m", "d1", "s1", 9, 99, "linux && !cgo", False, False, False, ())],
    "Symbol": [symbol("A"), symbol("B", 5, "B does."), symbol("C", 9)],
    "External": [External("fmt.Println", "func", "Println", "fmt", "std")],
    "Unresolved": [Unresolved("u1", "m.A", "Do", "a.go", "unknown type", (3, 4), ("m.B", "m.C"))],
}
EDGES: dict[EdgeKind, list[Edge]] = {
    EdgeKind("CONTAINS", "Repository", "Package"): [Edge(".", "m")],
    EdgeKind("CONTAINS", "Package", "File"): [Edge("m", "a.go")],
    HOLDS: [Edge("a.go", "m.A"), Edge("a.go", "m.B"), Edge("a.go", "m.C")],
    CALLS: [
        Edge("m.A", "m.B", (2, 3), "static"),
        Edge("m.B", "m.C", (6,), "method"),
        Edge("m.C", "m.C", (9,), "static"),
    ],
    CALLS_OUT: [Edge("m.A", "fmt.Println", (2,), "import")],
    IMPLEMENTS: [Edge("m.B", "m.C", (), "method set", True)],
}


def fill(directory: Path, nodes: dict[str, list[Node]] = NODES, edges: dict[EdgeKind, list[Edge]] = EDGES) -> None:
    with Store.open(directory, write=True) as store, store.bulk_load({"tree": "t1"}) as load:
        for label, rows in nodes.items():
            load.nodes(label, rows)
        for kind, links in edges.items():
            load.edges(kind, links)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no test changes."""
    directory = tmp_path_factory.mktemp("filled")
    fill(directory)
    return directory


def change(directory: Path, delta: GraphDelta) -> None:
    with Store.open(directory, write=True) as store:
        store.apply(delta)


def nodes_of(directory: Path, label: str) -> list[Node]:
    with Store.open(directory, write=False) as store:
        return list(store.nodes(label))


def edges_of(directory: Path, kind: EdgeKind) -> list[Edge]:
    with Store.open(directory, write=False) as store:
        return list(store.edges(kind))


def database(directory: Path) -> Path:
    manifest = read_manifest(directory)
    assert manifest is not None
    return directory / manifest.graph


def run_python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_bulk_load_gives_back_every_row(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as store:
        assert {label: list(store.nodes(label)) for label in NODES} == NODES
        assert {kind: list(store.edges(kind)) for kind in EDGES} == EDGES
        assert all(not list(store.edges(kind)) for kind in EDGE_KINDS if kind not in EDGES)
        assert store.meta() == {"tree": "t1"}


def test_bulk_load_in_many_batches_equals_one(tmp_path: Path) -> None:
    rows: list[Node] = [symbol(f"F{number:05}") for number in range(40_000)]
    links = [Edge(f"m.F{number:05}", f"m.F{(number * 7) % 40_000:05}", (number,)) for number in range(40_000)]
    with Store.open(tmp_path, write=True) as store, store.bulk_load() as load:
        for at in range(0, len(rows), 5_000):
            load.edges(CALLS, links[at : at + 5_000])
            load.nodes("Symbol", rows[at : at + 5_000])
    assert nodes_of(tmp_path, "Symbol") == rows
    assert edges_of(tmp_path, CALLS) == links


def test_edges_out_of_some_nodes_are_all_of_theirs_and_no_others(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as store:
        assert store.edges_out_of("Symbol", ["m.B", "m.A", "m.Nobody"]) == {
            CALLS_OUT: EDGES[CALLS_OUT],
            CALLS: EDGES[CALLS][:2],
            IMPLEMENTS: EDGES[IMPLEMENTS],
        }
        assert store.edges_out_of("File", ["a.go"]) == {HOLDS: EDGES[HOLDS]}


def test_full_disk_is_one_clear_error_and_the_old_graph_stays(tmp_path: Path) -> None:
    fill(tmp_path)
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    done = run_python(limit + _KILLED_LOAD, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "golore.graph.errors.StoreError: " in done.stderr.splitlines()[-1]
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]


def test_the_engine_keeps_no_table_that_it_has_copied(tmp_path: Path) -> None:
    arrow = import_arrow()
    with closing(Session(tmp_path / "graph.db", write=True)) as session:
        session.run("CREATE NODE TABLE A(id STRING PRIMARY KEY)")
        before = arrow.total_allocated_bytes()
        session.copy("COPY A FROM $rows", arrow.table({"id": [str(number) for number in range(1_000)]}))
        assert arrow.total_allocated_bytes() == before
        assert list(session.rows("MATCH (a:A) RETURN count(*)")) == [[1_000]]


def test_empty_graph_can_be_loaded_and_read(tmp_path: Path) -> None:
    fill(tmp_path, {}, {})
    assert nodes_of(tmp_path, "Symbol") == []
    assert edges_of(tmp_path, CALLS) == []


def test_second_bulk_load_replaces_the_first(tmp_path: Path) -> None:
    fill(tmp_path)
    change(tmp_path, GraphDelta(nodes_added={"Symbol": [symbol("Z")]}))
    fill(tmp_path, {"Symbol": [symbol("New")]}, {})
    assert nodes_of(tmp_path, "Symbol") == [symbol("New")]
    assert sorted(path.name for path in tmp_path.glob("graph-*.db*")) == ["graph-2.db"]


def test_bulk_load_that_fails_leaves_the_old_graph(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=True) as store:
        load = store.bulk_load()
        load.__enter__().nodes("Symbol", [symbol("New")])
        assert not load.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]
    assert not list(tmp_path.glob("*.tmp"))


def test_edge_to_a_missing_node_is_refused_by_the_load(tmp_path: Path) -> None:
    fill(tmp_path)
    with pytest.raises(StoreError, match=r"m\.Nowhere"):
        fill(tmp_path, NODES, {CALLS: [Edge("m.A", "m.Nowhere")]})
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]


def test_delta_removes_adds_and_changes_in_one_step(tmp_path: Path) -> None:
    fill(tmp_path)
    change(
        tmp_path,
        GraphDelta(
            nodes_removed={"Unresolved": ["u1"], "Symbol": ["m.C"]},
            nodes_added={"Symbol": [symbol("D")], "Unresolved": [Unresolved("u2", "m.D", "x", "a.go", "r", (), ())]},
            nodes_changed={"Symbol": [symbol("B", 7, "B changed.")]},
            edges_removed={CALLS: [("m.B", "m.C")]},
            edges_added={CALLS: [Edge("m.B", "m.D", (8,), "static")], HOLDS: [Edge("a.go", "m.D")]},
            edges_changed={CALLS: [Edge("m.A", "m.B", (2, 3, 4), "static")]},
            meta={"tree": "t2", "more": "x"},
        ),
    )
    assert nodes_of(tmp_path, "Symbol") == [symbol("A"), symbol("B", 7, "B changed."), symbol("D")]
    assert nodes_of(tmp_path, "Unresolved") == [Unresolved("u2", "m.D", "x", "a.go", "r", (), ())]
    assert edges_of(tmp_path, CALLS) == [Edge("m.A", "m.B", (2, 3, 4), "static"), Edge("m.B", "m.D", (8,), "static")]
    assert edges_of(tmp_path, HOLDS) == [Edge("a.go", "m.A"), Edge("a.go", "m.B"), Edge("a.go", "m.D")]
    assert edges_of(tmp_path, IMPLEMENTS) == []
    with Store.open(tmp_path, write=False) as store:
        assert store.meta() == {"more": "x", "tree": "t2"}


def test_of_a_changed_edge_only_the_columns_that_differ_are_written(tmp_path: Path) -> None:
    old, new = EDGES[CALLS][0], Edge("m.A", "m.B", (4, 5), "static")
    lengths: list[int] = []
    for number, before in enumerate(({}, {CALLS: {("m.A", "m.B"): old}})):
        directory = tmp_path / str(number)
        fill(directory)
        change(directory, GraphDelta(edges_changed={CALLS: [new]}, edges_before=before))
        assert edges_of(directory, CALLS) == [new, *EDGES[CALLS][1:]]
        with Store.open(directory, write=False) as store:
            lengths.append(store.log_bytes)
    assert 0 < lengths[1] < lengths[0]


def test_node_removed_and_added_again_in_one_delta_is_the_new_one(tmp_path: Path) -> None:
    fill(tmp_path)
    delta = GraphDelta(nodes_removed={"Symbol": ["m.A"]}, nodes_added={"Symbol": [symbol("A", 40)]})
    change(tmp_path, delta)
    assert nodes_of(tmp_path, "Symbol")[0] == symbol("A", 40)
    assert edges_of(tmp_path, CALLS) == EDGES[CALLS][1:]


def test_empty_delta_writes_nothing(tmp_path: Path) -> None:
    fill(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("graph*")}
    change(tmp_path, GraphDelta(nodes_added={"Symbol": []}))
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("graph*")} == before


def test_delta_that_fails_leaves_the_graph_as_it_was(tmp_path: Path) -> None:
    fill(tmp_path)
    delta = GraphDelta(nodes_removed={"Symbol": ["m.C"]}, nodes_added={"Symbol": [symbol("A")]})
    with pytest.raises(StoreError):
        change(tmp_path, delta)
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]
    assert edges_of(tmp_path, CALLS) == EDGES[CALLS]


def test_removed_nodes_leave_no_phantom_edges(tmp_path: Path) -> None:
    fill(tmp_path)
    change(tmp_path, GraphDelta(nodes_removed={"Symbol": ["m.A", "m.B", "m.C"]}))
    with Store.open(tmp_path, write=False) as store:
        for pattern in ("-[e:CALLS]->", "<-[e:CALLS]-", "-[e:CONTAINS]->", "<-[e:IMPLEMENTS]-", "-[e]-"):
            forms = [
                f"MATCH (){pattern}(:Symbol) RETURN count(*) AS n",
                f"MATCH (:Symbol){pattern}() RETURN count(*) AS n",
            ]
            assert [store.query(form) for form in forms] == [[{"n": 0}], [{"n": 0}]]


def test_log_of_a_small_store_stays_short_however_often_it_changes(tmp_path: Path) -> None:
    fill(tmp_path)
    lengths: list[int] = []
    with Store.open(tmp_path, write=True) as store:
        for number in range(12):
            text = f"{number} " * 20_000
            store.apply(GraphDelta(nodes_changed={"Symbol": [symbol("A", 1, text)]}))
            lengths += [path.stat().st_size for path in tmp_path.glob("graph-1.db.wal")]
    assert max(lengths, default=0) < 500_000
    with Store.open(tmp_path, write=False) as store:
        assert store.query("MATCH (s:Symbol) WHERE s.id = 'm.A' RETURN s.doc") == [{"s.doc": "11 " * 20_000}]


def test_log_is_folded_without_changing_the_graph(tmp_path: Path) -> None:
    fill(tmp_path)
    change(tmp_path, GraphDelta(nodes_added={"Symbol": [symbol("D")]}))
    assert list(tmp_path.glob("graph-1.db.wal"))
    with Store.open(tmp_path, write=True) as store:
        store.checkpoint()
    assert not list(tmp_path.glob("graph-1.db.wal"))
    assert nodes_of(tmp_path, "Symbol") == [*NODES["Symbol"], symbol("D")]


def test_writer_can_read_before_and_after_its_change(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=True) as store:
        assert len(list(store.nodes("Symbol"))) == 3
        store.apply(GraphDelta(nodes_added={"Symbol": [symbol("D")]}))
        assert len(list(store.nodes("Symbol"))) == 4


def test_a_graph_without_a_record_is_checked_and_then_shared_by_readers(tmp_path: Path) -> None:
    fill(tmp_path)
    change(tmp_path, GraphDelta(nodes_added={"Symbol": [symbol("D")]}))
    record = digests_file(tmp_path / "graph-1.db")
    record.unlink()
    with Store.open(tmp_path, write=False) as one, Store.open(tmp_path, write=False) as other:
        assert len(list(one.nodes("Symbol"))) == len(list(other.nodes("Symbol"))) == 4
        assert record.exists()
    record.unlink()
    with Store.open(tmp_path, write=True) as store:
        assert len(list(store.nodes("Symbol"))) == 4
        store.apply(GraphDelta(nodes_added={"Symbol": [symbol("E")]}))
        assert len(list(store.nodes("Symbol"))) == 5
    assert record.exists()


def test_the_check_of_a_graph_completes_a_fold_that_is_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    opened: list[bool] = []

    class HalfFolded(Session):
        """Refuses to open for reading before it was opened for writing, as the engine does in the middle of a fold."""

        def __init__(self, path: Path, *, write: bool) -> None:
            if not write and True not in opened:
                raise GraphDamaged("a fold is half done")
            opened.append(write)
            super().__init__(path, write=write)

    monkeypatch.setattr("golore.graph.database.open_check.Session", HalfFolded)
    assert not can_be_read(tmp_path / "graph-1.db", write=False)
    assert can_be_read(tmp_path / "graph-1.db", write=True)
    assert opened == [True, False]


def test_query_answers_with_named_columns(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as store:
        answer = store.query(
            "MATCH (a:Symbol)-[e:CALLS]->(b:Symbol {id: $id}) RETURN a.name AS caller, e.sites AS sites;", {"id": "m.B"}
        )
    assert answer == [{"caller": "A", "sites": "2 3"}]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE (:Symbol {id: 'x'})",
        "MATCH (n) SET n.name = 'x'",
        "MATCH (n) DETACH DELETE n",
        "match (n) delete n",
        "COPY (MATCH (n) RETURN n) TO 'out.csv'",
        "LOAD FROM 'secret.csv' RETURN *",
        "MATCH (n) RETURN n; DROP TABLE Symbol",
        "CALL threads = 9",
        "INSTALL json",
        "RETURN 1 /* harmless */ COMMIT",
        "",
        "nonsense",
        "MATCH (n:NoSuchTable) RETURN n",
        "MATCH (n",
    ],
)
def test_query_that_does_not_read_is_refused(filled: Path, statement: str) -> None:
    for write in (False, True):
        with Store.open(filled, write=write) as store, pytest.raises(UsageError):
            store.query(statement)
    assert nodes_of(filled, "Symbol") == NODES["Symbol"]


def test_words_that_write_are_fine_as_names_and_text(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as store:
        assert store.query("MATCH (n:Symbol) WHERE n.doc = 'SET; DELETE' RETURN n.name AS `create` // DROP") == []


def test_store_opened_for_reading_cannot_be_changed(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as store, pytest.raises(StoreError, match="for reading"):
        store.apply(GraphDelta(nodes_added={"Symbol": [symbol("D")]}))


def test_missing_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="golore learn"):
        Store.open(tmp_path / "none", write=False)
    with Store.open(tmp_path / "none", write=True) as store:
        assert store.is_empty
        with pytest.raises(StoreMissing):
            list(store.nodes("Symbol"))


def test_store_ignores_itself_in_git(tmp_path: Path) -> None:
    fill(tmp_path / ".golore")
    assert (tmp_path / ".golore" / ".gitignore").read_text() == "*\n"


def test_store_of_a_newer_golore_is_refused_untouched(tmp_path: Path) -> None:
    fill(tmp_path)
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    write_manifest(tmp_path, manifest._replace(schema=SCHEMA_VERSION + 1, golore="99.0"))
    before = database(tmp_path).read_bytes()
    for write in (False, True):
        with pytest.raises(StoreMismatch, match=r"newer golore \(99\.0\)\. Upgrade golore"):
            Store.open(tmp_path, write=write)
    assert database(tmp_path).read_bytes() == before


def test_store_of_the_other_engine_is_refused_untouched(tmp_path: Path) -> None:
    fill(tmp_path)
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    other = next(name for name in ENGINES if name != engine_name())
    write_manifest(tmp_path, manifest._replace(engine=other))
    for write in (False, True):
        with pytest.raises(
            StoreMismatch,
            match=rf"GOLORE_ENGINE={other}, or remove .*store.json .* are kept",
        ):
            Store.open(tmp_path, write=write)


def test_unknown_engine_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOLORE_ENGINE", "oracle")
    with pytest.raises(UsageError, match="ladybug, kuzu"):
        Store.open(tmp_path, write=False)


def test_store_of_an_older_golore_is_refused_to_readers(tmp_path: Path) -> None:
    fill(tmp_path)
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    write_manifest(tmp_path, manifest._replace(schema=0))
    with pytest.raises(StoreMismatch, match="golore learn"):
        Store.open(tmp_path, write=False)
    Store.open(tmp_path, write=True).close()
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    fill(tmp_path)
    steps = {
        SCHEMA_VERSION + 1: ("ALTER TABLE Symbol ADD weight INT64 DEFAULT 1",),
        SCHEMA_VERSION + 2: ("MATCH (s:Symbol) SET s.weight = s.weight + 1",),
    }
    for _ in range(2):
        session = Session(database(tmp_path), write=True)
        migrate(session, steps, SCHEMA_VERSION + 2)
        assert list(session.rows("MATCH (s:Symbol) RETURN DISTINCT s.weight")) == [[2]]
        session.close()


def test_migration_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    fill(tmp_path)
    steps = {SCHEMA_VERSION + 1: ("ALTER TABLE Symbol ADD weight INT64 DEFAULT 1", "MATCH (s:Nowhere) RETURN s")}
    session = Session(database(tmp_path), write=True)
    with pytest.raises(Exception, match="Nowhere"):
        migrate(session, steps, SCHEMA_VERSION + 1)
    session.close()
    with Store.open(tmp_path, write=False) as store:
        assert list(store.rows("MATCH (m:Meta {id: 'schema'}) RETURN m.value")) == [[str(SCHEMA_VERSION)]]
        assert list(store.nodes("Symbol")) == NODES["Symbol"]


@pytest.mark.parametrize("harm", ["garbage", "empty", "truncated", "gone"])
def test_damaged_database_is_reported_and_can_be_loaded_anew(tmp_path: Path, harm: str) -> None:
    fill(tmp_path)
    path = database(tmp_path)
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes({"garbage": b"hello" * 3_000, "empty": b"", "truncated": content[: len(content) // 2]}[harm])
    with Store.open(tmp_path, write=False) as store, pytest.raises(StoreDamaged, match="golore learn"):
        list(store.nodes("Symbol"))
    fill(tmp_path)
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "1"}', "\x00", '{"schema":1,"engine":"e","golore":"g","graph":"../x"}']
)
def test_damaged_manifest_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "store.json").write_text(text)
    with pytest.raises(StoreDamaged, match=r"remove the file and run `golore learn` again; notes .* are kept"):
        Store.open(tmp_path, write=False)


def test_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        Store.open(tmp_path / "file" / ".golore", write=True)


def test_leftovers_of_dead_writers_are_removed(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "bulk-1.tmp").mkdir()
    (tmp_path / "bulk-1.tmp" / "Symbol.parquet").write_text("x")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f"store.json.{dead.pid}.tmp").write_text("x")
    (tmp_path / "graph-7.db").write_text("x")
    (tmp_path / "graph-7.db.wal").write_text("x")
    (tmp_path / "graph-7.digests").write_text("x")
    Store.open(tmp_path, write=True).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".gitignore",
        "graph-1.db",
        "graph-1.digests",
        "lock",
        "store.json",
        "writer.lock",
    ]


def test_a_file_that_another_process_is_replacing_is_left_to_it(tmp_path: Path) -> None:
    fill(tmp_path)
    freshness = tmp_path / "freshness"
    with replacing(freshness) as file:
        file.write(b"new")
        Store.open(tmp_path, write=True).close()
    assert freshness.read_bytes() == b"new"


def test_a_file_that_vanishes_while_leftovers_are_removed_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    gone = tmp_path / "graph-7.db"

    def listed(_: Path) -> Iterator[Path]:
        return iter([gone])

    monkeypatch.setattr(Path, "iterdir", listed)
    Store.open(tmp_path, write=True).close()


def test_second_writer_learns_who_the_first_is(tmp_path: Path) -> None:
    with Store.open(tmp_path, write=True):
        done = run_python(
            "import sys; from pathlib import Path; from golore.graph.database.store import Store\n"
            "Store.open(Path(sys.argv[1]), write=True, wait=0.05)",
            tmp_path,
        )
    assert f"StoreBusy: The store cannot be written: process {os.getpid()} (" in done.stderr
    Store.open(tmp_path, write=True, wait=0).close()


def test_reader_works_beside_a_bulk_load_and_is_told_to_open_again(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as reader:
        assert next(reader.nodes("Symbol")) == symbol("A")
        assert not reader.is_stale
        with Store.open(tmp_path, write=True) as writer:
            assert reader.is_stale
            with writer.bulk_load() as load:
                load.nodes("Symbol", [symbol("New")])
        assert list(reader.nodes("Symbol")) == NODES["Symbol"]
        assert reader.is_stale
    assert nodes_of(tmp_path, "Symbol") == [symbol("New")]


def test_change_waits_for_readers_then_names_them(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False) as reader, Store.open(tmp_path, write=True, wait=0.05) as writer:
        list(reader.nodes("Symbol"))
        with pytest.raises(StoreBusy, match="cannot be changed"):
            writer.apply(GraphDelta(nodes_added={"Symbol": [symbol("D")]}))
    assert nodes_of(tmp_path, "Symbol") == NODES["Symbol"]


_KILLED_LOAD = """
import sys
from pathlib import Path
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Symbol
from golore.graph.database.store import Store
count = 20_000
with Store.open(Path(sys.argv[1]), write=True) as store:
    print("ready", flush=True)
    with store.bulk_load() as load:
        load.nodes("Symbol", [Symbol(f"n{i}", "func", "n", "n", "m", "b.go", i, i, 0, 1, "", "", "", "", *[False] * 3)
                              for i in range(count)])
        links = [Edge(f"n{i}", f"n{i * 7 % count}", (i,)) for i in range(count)]
        load.edges(EdgeKind("CALLS", "Symbol", "Symbol"), links)
print("done", flush=True)
"""

_KILLED_CHANGES = """
import sys
from pathlib import Path
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Symbol
from golore.graph.database.store import Store
calls = EdgeKind("CALLS", "Symbol", "Symbol")
with Store.open(Path(sys.argv[1]), write=True) as store:
    print("ready", flush=True)
    for turn in range(int(store.meta().get("turn", "0")) + 1, 10_000):
        rows = [Symbol(f"t{turn}.{i}", "func", "n", "n", "m", "b.go", i, i, 0, 1, "", "", "", "", *[False] * 3)
                for i in range(20)]
        store.apply(GraphDelta(
            nodes_removed={"Symbol": [f"t{turn - 1}.{i}" for i in range(20)]},
            nodes_added={"Symbol": rows},
            edges_added={calls: [Edge(rows[i].id, rows[(i + 1) % 20].id, (turn,)) for i in range(20)]},
            meta={"turn": str(turn)},
        ))
        if turn % 5 == 0:
            store.checkpoint()
"""


def kill_after(seconds: float, code: str, directory: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", code, str(directory)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    assert process.returncode in (0, -signal.SIGKILL)


def test_kill_during_a_bulk_load_leaves_the_old_graph_or_the_new(tmp_path: Path) -> None:
    for moment in (0.01, 0.15, 0.3, 0.45, 0.6, 0.9):
        fill(tmp_path)
        kill_after(moment, _KILLED_LOAD, tmp_path)
        names = [node.id for node in nodes_of(tmp_path, "Symbol")]
        assert names == ["m.A", "m.B", "m.C"] or len(names) == 20_000
        assert len(edges_of(tmp_path, CALLS)) in {3, 20_000}


def test_kill_during_changes_leaves_a_whole_state(tmp_path: Path) -> None:
    fill(tmp_path)
    turn = "0"
    for moment in (0.02, 0.1, 0.2, 0.3, 0.5, 0.8, 2.0, 5.0, 15.0):
        if moment > 1 and turn != "0":
            break
        kill_after(moment, _KILLED_CHANGES, tmp_path)
        with Store.open(tmp_path, write=False) as store:
            turn = store.meta().get("turn", "0")
            symbols = [node.id for node in store.nodes("Symbol") if not node.id.startswith("m.")]
            assert symbols == sorted(f"t{turn}.{i}" for i in range(0 if turn == "0" else 20))
            links = [edge for edge in store.edges(CALLS) if not edge.source.startswith("m.")]
            assert {edge.sites for edge in links} == ({(int(turn),)} if turn != "0" else set())
            assert store.query("MATCH (:Symbol)-[e:CALLS]->(:Symbol) RETURN count(*) AS n") == [{"n": len(links) + 3}]
    assert turn != "0", "no change was made before a kill"


def test_manifest_names_engine_and_schema(tmp_path: Path) -> None:
    fill(tmp_path)
    content = json.loads((tmp_path / "store.json").read_text())
    assert content["engine"] == engine_name()
    assert content["schema"] == SCHEMA_VERSION
    assert content["graph"] == "graph-1.db"


@pytest.mark.skipif(importlib.util.find_spec("kuzu") is None, reason="kuzu is an extra and is not installed")
@pytest.mark.skipif(engine_name() == "kuzu", reason="this is that run")
def test_all_of_this_holds_on_kuzu() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-x", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "GOLORE_ENGINE": "kuzu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_full_pool_is_emptied_and_then_enlarged(tmp_path: Path) -> None:
    fill(tmp_path)
    with Store.open(tmp_path, write=False, pool=32 << 20) as store:
        kept = store.rows("UNWIND range(1, 20000) AS n RETURN n")
        assert next(kept) == [1]
        many = "UNWIND range(1, 900000) AS n RETURN n, n + 1 ORDER BY n DESC LIMIT 400000"
        assert sum(1 for _ in store.rows(many)) == 400_000
        assert sum(1 for _ in kept) == 19_999, "rows that were being read are still there"


def test_the_pool_is_not_enlarged_for_a_query_of_a_user(tmp_path: Path) -> None:
    fill(tmp_path)
    many = "UNWIND range(1, 900000) AS n RETURN n, n + 1 ORDER BY n DESC LIMIT 400000"
    with Store.open(tmp_path, write=False, pool=32 << 20) as store:
        with pytest.raises(UsageError, match="more memory than it may use"):
            store.query(many)
        assert store.query("RETURN 1 AS one") == [{"one": 1}]


def test_the_version_in_a_manifest_is_that_of_the_installed_package() -> None:
    assert this_version() == metadata.version("golore")
