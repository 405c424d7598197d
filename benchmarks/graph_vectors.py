"""Measures vectors in the graph: loading them, queries by nearness, and a learn after an edit.

    python benchmarks/graph_vectors.py nearness [--vectors 100000]
    python benchmarks/graph_vectors.py learn ROOT [--runs 7]

`nearness` makes a store with as many functions, each with a random vector of 384 numbers, and asks for the ten nearest
to one, in the process that runs the queries of users. `learn` clones the repository twice, gives one clone random
vectors for all its texts, and runs `golore learn` in both by turns after edits that change no text, then after edits
that add a function. Its text has a vector already, so that the time does not depend on the model. Processor time is
that of the command and its children.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.database.vector_changes import read_state
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, File, Package, Symbol
from golore.graph.search.embedded_texts import meaning_key, meaning_texts
from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.node_texts import all_texts
from golore.graph.search.vectors import VectorFile
from golore.learner.learn import learn
from golore.mcp_server.services.knowledge.embedders import Selection, write_selection
from golore.mcp_server.services.knowledge.graph_vectors import update_graph_vectors
from golore.mcp_server.services.query_process import QueryProcess

DIMENSIONS = 384
FUNCTIONS = 14
GOLORE = str(Path(sys.executable).with_name("golore"))
STATEMENT = "MATCH (s:Symbol) RETURN s.id, array_cosine_similarity(s.vector, $near) AS near ORDER BY near DESC LIMIT 10"
JOINED = (
    "MATCH (s:Symbol)<-[:CALLS]-(t:Symbol) RETURN s.id, t.id, array_cosine_similarity(s.vector, $near) AS near "
    "ORDER BY near DESC LIMIT 10"
)


def random_vectors(file: VectorFile, texts: Iterable[str]) -> None:
    """Append rows to the file as `append` writes them, without the time that it takes to quantize them."""
    keys = sorted({meaning_key(text) for text in texts if text} - file.keys())
    with file.rows_path.open("ab") as rows, file.keys_path.open("ab") as names:
        rows.write(random.Random(1).randbytes(DIMENSIONS * len(keys)))
        names.write(b"".join(keys))


def all_node_texts(directory: Path) -> list[str]:
    with Store.open(directory, write=False) as store:
        return [text for texts in all_texts(store).values() for text in texts.values()]


def processor_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def nearness(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="golore-vectors-") as folder:
        directory = Path(folder) / ".golore"
        fill(directory, count)
        file = VectorFile(directory, "random", DIMENSIONS)
        random_vectors(file, all_node_texts(directory))
        started = processor_seconds()
        written = update_graph_vectors(directory, file, check_all=True)
        print(f"{written:,} nodes loaded with vectors: {processor_seconds() - started:.1f} s of processor time")
        size = sum(path.stat().st_size for path in directory.glob("graph-*.db"))
        print(f"graph {size / 1e6:.0f} MB, file of vectors {file.rows_path.stat().st_size / 1e6:.0f} MB")
        near = [random.Random(2).gauss(0, 1) for _ in range(DIMENSIONS)]
        with QueryProcess() as queries:
            for title, statement in (("scan of all", STATEMENT), ("joined with calls", JOINED)):
                times: list[float] = []
                for _ in range(12):
                    started = time.perf_counter()
                    rows = queries.query(directory, statement, {"near": near}, seconds=60)
                    times.append(time.perf_counter() - started)
                    assert len(rows) == 10
                warm = sorted(times[2:])
                print(
                    f"{title:18} first {times[0] * 1000:.0f} ms, warm median {statistics.median(warm) * 1000:.0f} ms, "
                    f"most {warm[-1] * 1000:.0f} ms (wall)"
                )


def fill(directory: Path, count: int) -> None:
    """A graph of functions, a hundred in a file, each of which calls the next one."""
    package = "example.com/m"
    symbols = [
        Symbol(
            f"{package}.Function{at}", "func", f"Function{at}", f"{package}.Function{at}", package,
            f"file{at // 100}.go", at % 100 + 1, at % 100 + 1, 0, 10, "", "func()", f"Function{at} does {at}.", "",
            exported=True, deprecated=False, embedded=False,
        )
        for at in range(count)
    ]  # fmt: skip
    files = [
        File(f"file{at}.go", f"file{at}.go", package, "", "", 100, 1000, "", test=False, generated=False, cgo=False,
             problems=())
        for at in range(count // 100 + 1)
    ]  # fmt: skip
    with Store.open(directory, write=True) as store, store.bulk_load() as load:
        load.nodes("Package", [Package(package, package, "m", "", package, "", test=False)])
        load.nodes("File", files)
        load.nodes("Symbol", symbols)
        calls = EdgeKind("CALLS", "Symbol", "Symbol")
        load.edges(calls, [Edge(one.id, two.id, (1,)) for one, two in pairwise(symbols)])


def learn_after_edits(root: Path, runs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="golore-vectors-") as folder:
        plain, rich = Path(folder) / "plain", Path(folder) / "rich"
        os.environ["XDG_STATE_HOME"] = folder
        for clone in (plain, rich):
            subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
            learn(clone, clone / ".golore")
        store = rich / ".golore"
        file = VectorFile(store, "random", DIMENSIONS)
        random_vectors(file, all_node_texts(store))
        write_selection(store, Selection("random"))
        print(f"{update_graph_vectors(store, file, check_all=True):,} nodes with vectors")
        target = file_to_edit(plain)
        names = [f"Extra{chr(ord('A') + run)}" for run in range(runs + 1)]
        added = [IndexedSymbol("func", name, name, 1, "func()") for name in names]
        random_vectors(file, list(meaning_texts(target, added))[1:])
        for title, texts in (
            ("body", ["\n"] * (runs + 1)),
            ("function", [f"\nfunc {name}() {{}}\n" for name in names]),
        ):
            times: dict[Path, list[float]] = {plain: [], rich: []}
            for run, text in enumerate(texts):
                for clone in (plain, rich):
                    path = clone / target
                    path.write_text(path.read_text("utf-8") + text, "utf-8")
                    started = processor_seconds()
                    subprocess.run([GOLORE, "learn", str(clone)], capture_output=True, check=True)
                    if run:
                        times[clone].append(processor_seconds() - started)
            medians = {clone: statistics.median(found) for clone, found in times.items()}
            print(
                f"{title:8} processor time of `golore learn`, median of {runs}: {medians[plain]:.2f} s without, "
                f"{medians[rich]:.2f} s with vectors: {medians[rich] / medians[plain]:.2f} x"
            )
        state = read_state(store)
        assert state is not None
        assert state.complete, "all texts of the edits have vectors"


def file_to_edit(root: Path) -> str:
    """A file of medium size that is no test, with so many functions that one more at its end is not in its text."""
    found = [
        path
        for path in root.rglob("*.go")
        if not path.name.endswith("_test.go") and path.read_text("utf-8").count("\nfunc ") >= FUNCTIONS
    ]
    found.sort(key=lambda path: (path.stat().st_size, str(path)))
    return str(found[len(found) // 2].relative_to(root))


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    near = commands.add_parser("nearness")
    near.add_argument("--vectors", type=int, default=100_000)
    after = commands.add_parser("learn")
    after.add_argument("root", type=Path)
    after.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    if options.command == "nearness":
        nearness(options.vectors)
    else:
        learn_after_edits(options.root, options.runs)


if __name__ == "__main__":
    main()
