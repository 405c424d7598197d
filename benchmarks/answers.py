"""How long an agent waits for an answer: `golore mcp` asked over standard input and output by the SDK's own client.

    python benchmarks/answers.py REPO [--symbols N] [--pause SECONDS]

REPO is a learned repository. Symbols are sampled evenly from all of them and asked about by their qualified names, the
questions mixed; what is measured is the whole call, from the request to the parsed answer, and the server's processor
time, which says more on a busy machine. Prints milliseconds, and how much memory the server has: at the start, after
the questions, and when it has been left alone.

Long searches read a file that the server has made after the first of them that missed it. So one such question is asked
first, where there is no file yet, and it is told how long that took and how much longer the file did.
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
from golore.graph.queries.symbol_steps import is_mapping_due
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
OTHERS = ("context", "search")
IDLE = 35.0
"""Seconds after which a server has closed what it does not need."""
PATIENCE = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--symbols", type=int, default=200, help="how many to ask each question about (200)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two questions (0)")
    parser.add_argument("--idle", action="store_true", help=f"wait {IDLE:.0f} s in the end and measure memory again")
    anyio.run(_measured, parser.parse_args())


async def _measured(given: argparse.Namespace) -> None:
    place = find_repository(given.repository)
    with Store.open(place.store, write=False) as store:
        (total,) = next(iter(store.rows("MATCH (s:Symbol) RETURN count(*)")))
        calls = [call for question in (*ASKED, *OTHERS) for call in _calls(store, question, given.symbols)]
    print(f"{total:,} symbols, {len(calls):,} questions")
    random.Random(1).shuffle(calls)
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("golore")), args=["mcp", str(place.root)], env=dict(os.environ)
    )
    times: dict[str, list[tuple[float, float]]] = {}
    failed: dict[str, int] = {}
    started = time.perf_counter()
    async with Client(command) as client:
        await client.list_tools()
        print(f"ready after {time.perf_counter() - started:.1f} s, {_memory()}")
        await _warmed(client, place, calls)
        for question, tool, arguments in calls:
            begun, worked = time.perf_counter(), _worked()
            result = await client.call_tool(tool, arguments)
            taken = (time.perf_counter() - begun) * 1000
            times.setdefault(question, []).append((taken, _worked() - worked))
            failed[question] = failed.get(question, 0) + bool(result.is_error)
            if given.pause:
                await anyio.sleep(given.pause)
        _print(times, failed)
        print(f"after the questions: {_memory()}")
        if given.idle:
            await anyio.sleep(IDLE)
            print(f"left alone for {IDLE:.0f} s: {_memory()}")


async def _warmed(client: Client, place: LearnedRepository, calls: list[tuple[str, str, dict[str, Any]]]) -> None:
    """Ask as far as it takes for the server to have the file made, and wait for it."""
    if not _is_due(place):
        return
    for _, tool, arguments in (call for call in calls if call[0] == "impact"):
        begun = time.perf_counter()
        await client.call_tool(tool, {**arguments, "depth": 10})
        taken = time.perf_counter() - begun
        if _children(_server()):
            print(f"a first long search took {taken * 1000:.0f} ms", end="", flush=True)
            while _is_due(place) and time.perf_counter() - begun < PATIENCE:
                await anyio.sleep(0.1)
            print(f", and the file that such searches read was there {time.perf_counter() - begun - taken:.1f} s later")
            return


def _is_due(place: LearnedRepository) -> bool:
    with Store.open(place.store, write=False) as store:
        return is_mapping_due(store)


def _calls(store: Store, question: str, wanted: int) -> list[tuple[str, str, dict[str, Any]]]:
    names = _sample(store, ASKED.get(question, ("func", "method", "struct", "interface")), wanted)
    if question == "search":
        return [(question, "memory_search", {"query": name.rpartition(".")[2]}) for name in names]
    if question == "context":
        return [(question, "memory_context", {"target": name}) for name in names]
    if question == "path":
        ends = zip(names, reversed(names), strict=True)
        return [(question, "memory_graph", {"question": question, "symbol": a, "to": b}) for a, b in ends]
    return [(question, "memory_graph", {"question": question, "symbol": name}) for name in names]


def _sample(store: Store, kinds: tuple[str, ...], wanted: int) -> list[str]:
    # Nobody asks about what was named so that nobody can.
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
        taken, worked = (sorted(values) for values in zip(*pairs, strict=True))
        p95 = int(len(pairs) * 0.95)
        figures = (statistics.median(taken), taken[p95], taken[-1], statistics.median(worked), worked[p95])
        print(f"{question:14}{len(pairs):9}{refused:9}" + "".join(f"{figure:9.1f}" for figure in figures))


def _worked() -> float:
    """Milliseconds that the server's threads have had a processor for."""
    tasks = Path(f"/proc/{_server()}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def _memory() -> str:
    lines = Path(f"/proc/{_server()}/status").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return f"{kilobytes / 1024:.0f} MB resident"


def _server() -> str:
    """This process's only child."""
    return _children("self")[0]


def _children(pid: str) -> list[str]:
    return [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


if __name__ == "__main__":
    main()
