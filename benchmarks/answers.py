"""How long an agent waits for an answer: `golore mcp` asked over standard input and output by the SDK's own client.

    python benchmarks/answers.py REPO [--symbols N] [--pause SECONDS]

REPO is a learned repository. Symbols are sampled evenly from all of them and asked about by their qualified names, the
questions mixed; what is measured is the whole call, from the request to the parsed answer. Prints milliseconds, and how
much memory the server has: at the start, after the questions, and when it has been left alone.
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
from golore.graph.store import Store
from golore.mcp_server.place import find_place
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--symbols", type=int, default=200, help="how many to ask each question about (200)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two questions (0)")
    parser.add_argument("--idle", action="store_true", help=f"wait {IDLE:.0f} s in the end and measure memory again")
    anyio.run(_measured, parser.parse_args())


async def _measured(given: argparse.Namespace) -> None:
    place = find_place(given.repository)
    with Store.open(place.store, write=False) as store:
        (total,) = next(iter(store.rows("MATCH (s:Symbol) RETURN count(*)")))
        calls = [call for question in (*ASKED, *OTHERS) for call in _calls(store, question, given.symbols)]
    print(f"{total:,} symbols, {len(calls):,} questions")
    random.Random(1).shuffle(calls)
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("golore")), args=["mcp", str(place.root)], env=dict(os.environ)
    )
    times: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    started = time.perf_counter()
    async with Client(command) as client:
        await client.list_tools()
        print(f"ready after {time.perf_counter() - started:.1f} s, {_memory()}")
        for question, tool, arguments in calls:
            begun = time.perf_counter()
            result = await client.call_tool(tool, arguments)
            times.setdefault(question, []).append((time.perf_counter() - begun) * 1000)
            failed[question] = failed.get(question, 0) + bool(result.is_error)
            if given.pause:
                await anyio.sleep(given.pause)
        _print(times, failed)
        print(f"after the questions: {_memory()}")
        if given.idle:
            await anyio.sleep(IDLE)
            print(f"left alone for {IDLE:.0f} s: {_memory()}")


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
    statement = "MATCH (s:Symbol) WHERE s.kind IN $kinds RETURN s.qualified_name ORDER BY s.id"
    found = [name for (name,) in store.rows(statement, {"kinds": list(kinds)})]
    return found[:: max(1, len(found) // wanted)][:wanted]


def _print(times: dict[str, list[float]], failed: dict[str, int]) -> None:
    print(f"{'':14}{'asked':>7}{'refused':>9}{'median':>9}{'p95':>9}{'worst':>9}")
    graph = [taken for question in ASKED if question not in ("impact", "path") for taken in times[question]]
    together = sum(failed[question] for question in ASKED if question not in ("impact", "path"))
    rows = [(question, times[question], failed[question]) for question in (*ASKED, *OTHERS)]
    for question, taken, refused in [*rows, ("one step", graph, together)]:
        ordered = sorted(taken)
        p95 = ordered[int(len(ordered) * 0.95)]
        middle = statistics.median(ordered)
        print(f"{question:14}{len(ordered):7}{refused:9}{middle:9.1f}{p95:9.1f}{ordered[-1]:9.1f}")


def _memory() -> str:
    """Of the server, which is this process's only child."""
    children = Path("/proc/self/task").glob("*/children")
    pids = [pid for path in children for pid in path.read_text().split()]
    if not pids:
        return "memory unknown"
    lines = Path(f"/proc/{pids[0]}/status").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return f"{kilobytes / 1024:.0f} MB resident"


if __name__ == "__main__":
    main()
