"""Measures the processor time of each reading command, as a process of its own, against `python -c pass`.

    python benchmarks/commands.py REPOSITORY SYMBOL CALLER FILE WORDS [--runs N]

REPOSITORY has been learned. SYMBOL is a function or method of it, CALLER a function from which `path` may reach it,
FILE a file of it, and WORDS a question in words. The processor time is user and system time of the process and its
children, the median of N runs and the least, each run of every command in turn. Unlike the time on the clock, it says
the same on a machine that does other things.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

PASS = "python -c pass"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("symbol")
    parser.add_argument("caller")
    parser.add_argument("file")
    parser.add_argument("words")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    golore = str(Path(sys.executable).with_name("golore"))
    commands = {PASS: [sys.executable, "-c", "pass"]}
    commands |= {
        " ".join(words[:2]) if words[0] == "completion" else words[0]: [golore, *words] for words in asked(options)
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(options.runs + 1):
        for name, command in commands.items():
            seconds = processor_seconds(command, options.repository)
            if run:  # the first one writes byte code and fills the file cache
                times[name].append(seconds)
    base = statistics.median(times[PASS])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{name:<18} {median * 1000:5.0f} ms  least {min(seconds) * 1000:4.0f} ms  {median / base:5.1f}")


def asked(options: argparse.Namespace) -> list[list[str]]:
    """The arguments of each command."""
    about_symbol = ("callers", "callees", "users", "implementers", "tests", "impact", "show", "context")
    interface = "implementers"
    return [
        *([name, "io.Reader" if name == interface else options.symbol] for name in about_symbol),
        ["path", options.caller, options.symbol],
        ["search", options.words],
        ["explore", options.words],
        ["recent", options.file],
        ["note", "--list"],
        ["status"],
        ["query", "MATCH (f:File) RETURN f.path LIMIT 5"],
        ["completion", "names", options.symbol[:3]],
    ]


def processor_seconds(command: list[str], directory: Path) -> float:
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}.")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
