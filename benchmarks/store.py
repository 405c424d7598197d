"""Measures the speed and size of the store at the size of Kubernetes, on generated rows.

    python benchmarks/store.py [--symbols 400000] [--edges 2500000] [--export] [--json]

Times depend on the machine and the moment; the engine is the one that GOLORE_ENGINE names. Peak memory includes Python,
the rows of this script (generated in batches) and the engine. No Go is read: `benchmarks/learn.py` measures a learn.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from golore.graph.database.engine import engine_name
from golore.graph.database.store import Store
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, External, Symbol
from golore.graph.transfer.jsonl_export import export_jsonl

CALLS = EdgeKind("CALLS", "Symbol", "Symbol")
SHARES = {
    EdgeKind("CONTAINS", "Symbol", "Symbol"): 0.12,
    CALLS: 0.30,
    EdgeKind("CALLS", "Symbol", "External"): 0.12,
    EdgeKind("REFERENCES", "Symbol", "Symbol"): 0.34,
    EdgeKind("REFERENCES", "Symbol", "External"): 0.08,
    EdgeKind("IMPLEMENTS", "Symbol", "Symbol"): 0.02,
    EdgeKind("TESTS", "Symbol", "Symbol"): 0.02,
}
EXTERNALS = 20_000
BATCH = 2_000


def symbol_id(number: int) -> str:
    return f"example.com/mod/internal/pkg{number // 200:04}.Type{number // 10 % 20}.Method{number % 10}"


def symbol(number: int, line: int = 0) -> Symbol:
    identity = symbol_id(number)
    package, _, owner = identity.rpartition(".")[0].rpartition(".")
    doc = f"Method{number % 10} does thing {number} and returns an error when it cannot be done." * (number % 3 == 0)
    return Symbol(
        id=identity,
        kind="method",
        name=f"Method{number % 10}",
        qualified_name=identity,
        package=package,
        file=f"internal/pkg{number // 200:04}/file{number // 50 % 4}.go",
        line=line or number % 1000,
        end_line=number % 1000 + 9,
        start=number * 31 % 90_000,
        end=number * 31 % 90_000 + 300,
        owner=owner,
        signature=f"func (t *{owner}) Method{number % 10}(ctx context.Context, request *Request) (int, error)",
        doc=doc,
        tag="",
        exported=True,
        deprecated=False,
        embedded=False,
    )


def edges(kind: EdgeKind, count: int, symbols: int) -> Iterator[list[Edge]]:
    """Batches of edges with near and far targets, most with one site; sources in order, as a learner sends them."""
    dice = random.Random(str(kind))
    for at in range(0, count, BATCH):
        batch: list[Edge] = []
        for number in range(at, min(at + BATCH, count)):
            source = number * symbols // count
            if kind.target == "External":
                target = f"std{dice.randrange(EXTERNALS)}.Name"
            elif dice.random() < 0.6:
                target = symbol_id(min(symbols - 1, max(0, source + dice.randrange(-300, 300))))
            else:
                target = symbol_id(dice.randrange(symbols))
            sites = tuple(sorted(dice.randrange(2_000) for _ in range(dice.choice((1, 1, 1, 2, 3)))))
            batch.append(Edge(symbol_id(source), target, sites, dice.choice(("static", "method", "promoted"))))
        yield batch


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return round(time.perf_counter() - start, 5)


def load(directory: Path, symbols: int, edge_count: int) -> dict[str, float]:
    generating = generating_cpu = 0.0
    start, processor = time.perf_counter(), time.process_time()
    with Store.open(directory, write=True) as store, store.bulk_load() as bulk:
        bulk.nodes("External", [External(f"std{n}.Name", "func", "Name", f"std{n}", "std") for n in range(EXTERNALS)])
        for at in range(0, symbols, BATCH):
            before, before_cpu = time.perf_counter(), time.process_time()
            rows = [symbol(number) for number in range(at, min(at + BATCH, symbols))]
            generating += time.perf_counter() - before
            generating_cpu += time.process_time() - before_cpu
            bulk.nodes("Symbol", rows)
        for kind, share in SHARES.items():
            before, before_cpu = time.perf_counter(), time.process_time()
            for batch in edges(kind, int(edge_count * share), symbols):
                generating += time.perf_counter() - before
                generating_cpu += time.process_time() - before_cpu
                bulk.edges(kind, batch)
                before, before_cpu = time.perf_counter(), time.process_time()
        spooled = time.perf_counter()
    end = time.perf_counter()
    return {
        "bulk_seconds": round(end - start - generating, 2),
        "bulk_spool_seconds": round(spooled - start - generating, 2),
        "bulk_copy_seconds": round(end - spooled, 2),
        "bulk_cpu_seconds": round(time.process_time() - processor - generating_cpu, 2),
        "bulk_peak_mb": peak_mb(),
        "store_mb": sum(path.stat().st_size for path in directory.glob("graph-*")) >> 20,
    }


def delta(turn: int, symbols: int) -> GraphDelta:
    """The change of a file: its 50 symbols move to other lines, and 300 of its edges are replaced."""
    base = symbols // 2 + turn * 50
    dice = random.Random(turn)
    fresh = [
        Edge(symbol_id(base + number % 50), symbol_id(dice.randrange(symbols)), (number,), "static")
        for number in range(300)
    ]
    replaced = {CALLS: [(edge.source, edge.target) for edge in fresh]}
    return GraphDelta(
        nodes_changed={"Symbol": [symbol(base + number, 5) for number in range(50)]},
        edges_removed=replaced,
        edges_added={CALLS: fresh},
    )


def change(directory: Path, turn: int, symbols: int) -> None:
    with Store.open(directory, write=True) as store:
        store.apply(delta(turn, symbols))


def callers(directory: Path, symbols: int) -> dict[str, float]:
    dice = random.Random(1)
    times: list[float] = []
    with Store.open(directory, write=False) as store:
        statement = "MATCH (a:Symbol)-[e:CALLS]->(b:Symbol {id: $id}) RETURN a.id, e.sites"
        first = timed(lambda: list(store.rows(statement, {"id": symbol_id(7)})))
        for _ in range(500):
            wanted = {"id": symbol_id(dice.randrange(symbols))}
            times.append(timed(lambda wanted=wanted: list(store.rows(statement, wanted))) * 1000)
    return {
        "open_and_first_callers_ms": round(first * 1000, 1),
        "callers_p50_ms": round(statistics.median(times), 2),
        "callers_p95_ms": round(statistics.quantiles(times, n=20)[-1], 2),
    }


def cold(directory: Path) -> float:
    """Seconds for a whole process: start Python, import, open the store, run one query."""
    code = (
        "import sys; from pathlib import Path; from golore.graph.database.store import Store\n"
        "with Store.open(Path(sys.argv[1]), write=False) as store:\n"
        "    list(store.rows('MATCH (s:Symbol {id: $id}) RETURN s.name', {'id': sys.argv[2]}))"
    )
    command = [sys.executable, "-c", code, str(directory), symbol_id(9)]
    return statistics.median(timed(lambda: subprocess.run(command, check=True)) for _ in range(5))


def measure(directory: Path, symbols: int, edge_count: int, *, export: bool) -> dict[str, object]:
    figures: dict[str, object] = {"engine": engine_name(), "symbols": symbols, "edges": edge_count}
    figures |= load(directory, symbols, edge_count)
    figures["cold_process_seconds"] = cold(directory)
    figures |= callers(directory, symbols)
    figures["apply_seconds"] = [timed(lambda turn=turn: change(directory, turn, symbols)) for turn in range(6)]
    figures["log_kb"] = sum(path.stat().st_size for path in directory.glob("*.wal")) >> 10
    figures["cold_process_with_log_seconds"] = cold(directory)
    with Store.open(directory, write=True) as store:
        figures["fold_log_seconds"] = timed(store.checkpoint)
    if export:
        with Store.open(directory, write=False) as store, (directory / "export.jsonl").open("w") as out:
            figures["export_seconds"] = timed(lambda: export_jsonl(store, out))
        figures["export_mb"] = (directory / "export.jsonl").stat().st_size >> 20
        figures["peak_mb_with_export"] = peak_mb()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the store on generated rows.")
    parser.add_argument("--symbols", type=int, default=400_000)
    parser.add_argument("--edges", type=int, default=2_500_000)
    parser.add_argument("--export", action="store_true", help="measure an export, too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="golore-store-"))
    try:
        figures = measure(directory, options.symbols, options.edges, export=options.export)
    finally:
        shutil.rmtree(directory)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:32} {value}")


if __name__ == "__main__":
    main()
