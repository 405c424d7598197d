"""Measures the time of the whole hook process, relative to `python -c pass` of the same interpreter in the same run.

    python benchmarks/hook.py [--store ROOT] [--runs N] [--json]

A synthetic store has cards of 2 kB for 13,000 files; `--store` adds a learned repository, of which the longest card is
used. The processes are started in turns, so that a busy machine slows all of them alike, and every run is a session of
its own, so that a card is found, printed and recorded each time. The command is the installed `golore`, as an agent
starts it, with the byte code that a learn compiles. Ratios are of medians and of 95th percentiles; times depend on the
machine and the moment.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from golore.graph.cards.card_store import Card, SymbolLine, create_card_store, open_card_store
from golore.graph.files.claim import create_store_directory
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.safety.trust import blake2b_hex
from golore.mcp_server.hooks.precompile import compile_ahead
from golore.mcp_server.services.repository import find_repository

FILES = 13_000
PER_DIRECTORY = 13
CARD = 2_000
GOLORE = Path(sys.executable).with_name("golore")


class Case(NamedTuple):
    name: str
    command: list[str]
    root: Path
    payload: dict[str, object]


def synthetic(root: Path) -> str:
    """Write a store with cards for 13,000 files. Returns the path of one, which also exists as a file."""
    store = root / ".golore"
    create_store_directory(store)
    (store / MANIFEST_NAME).write_text("{}")
    line = "Used by server.Session.Open (pkg/server/session.go:120), 17 calls; tested by TestOpen (pkg/server).\n"
    text = (line * (CARD // len(line) + 1))[:CARD]
    paths = [f"pkg/p{n // PER_DIRECTORY:04}/file{n:05}.go" for n in range(FILES)]
    chosen = paths[FILES // 2]
    source = b"package p\n" * 400
    (root / chosen).parent.mkdir(parents=True)
    (root / chosen).write_bytes(source)
    with create_card_store(store) as card_store:
        card_store.replace_all(
            (Card(path, blake2b_hex(source, 16), text, ((paths[0], "changes along"),)) for path in paths),
            (
                SymbolLine(f"Name{n}", f"example.com/m.Name{n}", "func", path, 3, line)
                for path in paths
                for n in range(15)
            ),
        )
    return chosen


def real(root: Path) -> str:
    """The path of the longest card of a learned repository."""
    repository = find_repository(root)
    card_store = open_card_store(repository.store, write=False)
    if card_store is None:
        sys.exit(f"{repository.store} has no cards. Run `golore learn` first.")
    with card_store:
        cards = [card for path in card_store.paths() if path.endswith(".go") and (card := card_store.card(path))]
    return max(cards, key=lambda card: len(card.text)).path


def read_of(root: Path, path: str) -> dict[str, object]:
    file = root / path
    content = file.read_text(encoding="utf-8", errors="replace")
    return {
        "transcript_path": "/tmp/transcript.jsonl",
        "cwd": str(root),
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_use_id": "toolu_01",
        "tool_input": {"file_path": str(file)},
        "tool_response": {"type": "text", "file": {"filePath": str(file), "content": content[:100_000]}},
    }


def timed(case: Case, run: int) -> float:
    # With the process id, two benchmarks on one store have different sessions.
    payload = json.dumps({"session_id": f"bench-{os.getpid()}-{run}", **case.payload}).encode() if case.payload else b""
    started = time.perf_counter()
    done = subprocess.run(case.command, input=payload, cwd=case.root, capture_output=True, check=True)
    seconds = time.perf_counter() - started
    if case.payload and b"additionalContext" not in done.stdout:
        sys.exit(f"{case.name}: no card was printed: {done.stdout!r} {done.stderr!r}")
    return seconds


def measure(cases: list[Case], runs: int) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {case.name: [] for case in cases}
    for run in range(runs):
        for case in cases:
            times[case.name].append(timed(case, run))
    base = times["python -c pass"]
    return {name: _figures(sorted(taken), sorted(base)) for name, taken in times.items()}


def _figures(taken: list[float], base: list[float]) -> dict[str, float]:
    median, p95 = statistics.median(taken), taken[int(len(taken) * 0.95)]
    return {
        "median_ms": median * 1000,
        "p95_ms": p95 * 1000,
        "median_ratio": median / statistics.median(base),
        "p95_ratio": p95 / base[int(len(base) * 0.95)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the hook relative to an empty Python process.")
    parser.add_argument("--store", type=Path, metavar="ROOT", help="a learned repository to measure as well")
    parser.add_argument("--runs", type=int, default=200, help="number of runs (200)")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    hook = [str(GOLORE), "hook", "claude"]
    compile_ahead()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        cases = [
            Case("python -c pass", [sys.executable, "-c", "pass"], root, {}),
            Case(f"hook, {FILES:,} cards", hook, root, read_of(root, synthetic(root))),
        ]
        if options.store:
            learned = find_repository(options.store).root
            cases.append(Case(f"hook, {learned.name}", hook, learned, read_of(learned, real(learned))))
        figures = measure(cases, options.runs)
    if options.as_json:
        print(json.dumps({"runs": options.runs, "cases": figures}))
        return
    for name, values in figures.items():
        print(
            f"{name:24} median {values['median_ms']:6.1f} ms ({values['median_ratio']:.2f} ×)"
            f"   p95 {values['p95_ms']:6.1f} ms ({values['p95_ratio']:.2f} ×)"
        )


if __name__ == "__main__":
    main()
