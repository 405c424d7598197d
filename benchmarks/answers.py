"""Measures how long an agent waits for answers of `golore mcp`, with the SDK's client over standard input and output.

    python benchmarks/answers.py REPO [--symbols N] [--pause SECONDS]

REPO is a learned repository. Symbols are sampled evenly from all symbols and asked about by qualified name, in random
order. Prints, in milliseconds, the time of the whole call, from the request to the parsed answer, and the CPU time of
the server, which is more reliable on a busy machine and leaves out the process that runs Cypher; and the memory of the
server: at the start, after the questions and, with --idle, after a pause.

Long searches read the adjacency file, which the server builds after the first search that misses it. If there is no
such file yet, one long search is asked first, and its time and the time until the file is ready are printed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import anyio
from golore.graph.database.store import Store
from golore.graph.queries.symbol_steps import is_adjacency_due
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from mcp import Client, StdioServerParameters

ASKED: dict[str, tuple[str, ...]] = {
    "callers": ("func", "method", "imethod"),
    "callees": ("func", "method"),
    "implementers": ("interface", "struct", "type"),
    "users": ("struct", "type", "var", "const"),
    "tests": ("func", "method", "struct"),
    "impact": ("func", "method", "struct"),
    "path": ("func", "method"),
}
OTHERS = ("context", "search", "query")
IDLE = 35.0
"""Seconds of idleness after which a server has closed what it does not need."""
PATIENCE = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--symbols", type=int, default=200, help="number of symbols per question (200)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two questions (0)")
    parser.add_argument("--idle", action="store_true", help=f"wait {IDLE:.0f} s at the end and measure memory again")
    anyio.run(_measure, parser.parse_args())


async def _measure(options: argparse.Namespace) -> None:
    repository = find_repository(options.repository)
    with Store.open(repository.store, write=False) as store:
        (total,) = next(iter(store.rows("MATCH (s:Symbol) RETURN count(*)")))
        calls = [call for question in (*ASKED, *OTHERS) for call in _calls(store, question, options.symbols)]
    print(f"{total:,} symbols, {len(calls):,} questions")
    random.Random(1).shuffle(calls)
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("golore")), args=["mcp", str(repository.root)], env=dict(os.environ)
    )
    times: dict[str, list[tuple[float, float]]] = {}
    failed: dict[str, int] = {}
    started = time.perf_counter()
    async with Client(command) as client:
        await client.list_tools()
        print(f"ready after {time.perf_counter() - started:.1f} s, {_memory()}")
        await _warm_up(client, repository, calls)
        for question, tool, arguments in calls:
            call_started, cpu = time.perf_counter(), _cpu_ms()
            result = await client.call_tool(tool, arguments)
            taken = (time.perf_counter() - call_started) * 1000
            times.setdefault(question, []).append((taken, _cpu_ms() - cpu))
            failed[question] = failed.get(question, 0) + bool(result.is_error)
            if options.pause:
                await anyio.sleep(options.pause)
        _print(times, failed)
        print(f"after the questions: {_memory()}")
        if options.idle:
            await anyio.sleep(IDLE)
            print(f"after {IDLE:.0f} s of idleness: {_memory()}")


async def _warm_up(client: Client, repository: LearnedRepository, calls: list[tuple[str, str, dict[str, Any]]]) -> None:
    """Ask long searches until the server starts to build the adjacency file, and wait for the file."""
    if not _is_due(repository):
        return
    for _, tool, arguments in (call for call in calls if call[0] == "impact"):
        call_started = time.perf_counter()
        await client.call_tool(tool, {**arguments, "depth": 10})
        taken = time.perf_counter() - call_started
        if _children(_server()):
            print(f"the first long search took {taken * 1000:.0f} ms", end="", flush=True)
            while _is_due(repository) and time.perf_counter() - call_started < PATIENCE:
                await anyio.sleep(0.1)
            print(f"; the adjacency file was ready {time.perf_counter() - call_started - taken:.1f} s later")
            return


def _is_due(repository: LearnedRepository) -> bool:
    with Store.open(repository.store, write=False) as store:
        return is_adjacency_due(store)


def _calls(store: Store, question: str, wanted: int) -> list[tuple[str, str, dict[str, Any]]]:
    names = _sample(store, ASKED.get(question, ("func", "method", "struct", "interface")), wanted)
    if question == "search":
        return [(question, "memory_search", {"query": name.rpartition(".")[2]}) for name in names]
    if question == "query":
        cypher = "MATCH (a:Symbol)-[e:CALLS]->(b:Symbol {{id: '{}'}}) RETURN a.qualified_name, e.sites LIMIT 50"
        return [(question, "memory_query", {"cypher": cypher.format(name)}) for name in names]
    if question == "context":
        return [(question, "memory_context", {"target": name}) for name in names]
    if question == "path":
        ends = zip(names, reversed(names), strict=True)
        return [(question, "memory_graph", {"question": question, "symbol": a, "to": b}) for a, b in ends]
    return [(question, "memory_graph", {"question": question, "symbol": name}) for name in names]


def _sample(store: Store, kinds: tuple[str, ...], wanted: int) -> list[str]:
    # Blank declarations cannot be asked about.
    statement = "MATCH (s:Symbol) WHERE s.kind IN $kinds AND s.name <> '_' RETURN s.qualified_name ORDER BY s.id"
    found = [name for (name,) in store.rows(statement, {"kinds": list(kinds)})]
    return found[:: max(1, len(found) // wanted)][:wanted]


def _print(times: dict[str, list[tuple[float, float]]], failed: dict[str, int]) -> None:
    heads = ("asked", "refused", "median", "p95", "worst", "cpu med.", "cpu p95")
    print(" " * 14 + "".join(f"{head:>9}" for head in heads))
    one_step = [question for question in ASKED if question not in ("impact", "path")]
    together = [pair for question in one_step for pair in times[question]]
    rows = [(question, times[question], failed[question]) for question in (*ASKED, *OTHERS)]
    for question, pairs, refused in [*rows, ("one step", together, sum(failed[one] for one in one_step))]:
        taken, cpu = (sorted(values) for values in zip(*pairs, strict=True))
        p95 = int(len(pairs) * 0.95)
        figures = (statistics.median(taken), taken[p95], taken[-1], statistics.median(cpu), cpu[p95])
        print(f"{question:14}{len(pairs):9}{refused:9}" + "".join(f"{figure:9.1f}" for figure in figures))


def _cpu_ms() -> float:
    """CPU time of the server's threads, in milliseconds."""
    tasks = Path(f"/proc/{_server()}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def _memory() -> str:
    lines = Path(f"/proc/{_server()}/status").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return f"{kilobytes / 1024:.0f} MB resident"


def _server() -> str:
    """The process id of the server: the only child of this process."""
    return _children("self")[0]


def _children(pid: str) -> list[str]:
    return [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


if __name__ == "__main__":
    main()
