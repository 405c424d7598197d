"""Measures the pages of `golore view`: the real server, asked over HTTP, as a browser asks it.

    python benchmarks/view.py ROOT [--runs N] [--json] [PAGE...]

ROOT is a learned repository. A PAGE is an address without the secret, such as `symbol/example.com/m.Save`; without any,
pages are chosen from the graph: the declaration with most users, the most important file, the longest file, and every
other kind of page. The server is started anew. Its first page counts from the start of the command. Then each page is
asked for once, and N times more, in turns, so that a busy moment slows all pages alike.

CPU is the processor time of the server and its child processes. Wall times depend on what else runs. The ratio is that
of CPU to the CPU of `python -c pass`, measured in the same turns. Sizes are those of the compressed response. Memory is
the resident size of the server at the end, and its peak.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from golore.mcp_server.services.open_store import open_repository

GOLORE = Path(sys.executable).with_name("golore")
_QUERY = "query?q=MATCH+%28s%3ASymbol%29+WHERE+s.exported+RETURN+s.id%2C+s.file+LIMIT+50"


class Taken(NamedTuple):
    cpu: float
    wall: float
    size: int


class Server(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    secret: str

    def cpu(self) -> float:
        """Seconds of processor time of the server and its children so far."""
        return sum(time.clock_gettime(_cpu_clock(pid)) for pid in (self.process.pid, *_children(self.process.pid)))

    def ask(self, page: str) -> Taken:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            cpu, wall = self.cpu(), time.perf_counter()
            connection.request("GET", f"/{self.secret}/{page}", headers={"Accept-Encoding": "gzip"})
            response = connection.getresponse()
            body = response.read()
            taken = Taken(self.cpu() - cpu, time.perf_counter() - wall, len(body))
        finally:
            connection.close()
        if response.status != 200:
            page_text = gzip.decompress(body) if response.headers["Content-Encoding"] == "gzip" else body
            sys.exit(f"{page}: status {response.status}\n{page_text.decode()[-2000:]}")
        return taken

    def memory(self) -> dict[str, float]:
        """Megabytes: resident now, and the most so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        sizes = {name: value for name, _, value in (line.partition(":") for line in lines)}
        return {"now": int(sizes["VmRSS"].split()[0]) / 1024, "most": int(sizes["VmHWM"].split()[0]) / 1024}


def _cpu_clock(pid: int) -> int:
    """The clock of the processor time of a process (Linux, `clock_getcpuclockid`)."""
    return (~pid << 3) | 2


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def started(root: Path) -> tuple[Server, Taken]:
    """Start the server. Returns it with what its first page took, from the start of the command."""
    begun = time.perf_counter()
    command = [str(GOLORE), "view", "--repo", str(root), "--no-browser", "--json", "--port=0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed: dict[str, str] = json.loads(process.stdout.readline())
    address = urlsplit(printed["url"])
    server = Server(process, address.port or 0, address.path.split("/")[1])
    first = server.ask("")
    return server, Taken(server.cpu(), time.perf_counter() - begun, first.size)


def chosen_pages(root: Path) -> Iterator[str]:
    with open_repository(root) as opened:

        def first(statement: str) -> Any:
            return next(iter(opened.store.rows(statement)), ("",))[0]

        most_used = "MATCH (s:Symbol)<-[e:{0}]-() {1} RETURN s.id, count(*) AS n ORDER BY n DESC, s.id LIMIT 1"
        largest = "MATCH (f:File) WHERE f.generated = {0} RETURN f.id ORDER BY f.lines DESC, f.id LIMIT 1"
        package = first("MATCH (p:Package)-[:CONTAINS]->(f:File) RETURN p.dir, count(*) AS n ORDER BY n DESC LIMIT 1")
        yield ""
        for label, condition in (
            ("REFERENCES", "WHERE s.kind = 'struct'"),
            ("CALLS", "WHERE s.kind = 'func'"),
            ("CALLS", "WHERE s.kind = 'method'"),
            ("IMPLEMENTS", ""),
        ):
            yield f"symbol/{first(most_used.format(label, condition))}"
        long = "MATCH (s:Symbol)-[e:CALLS]->() WHERE NOT s.file ENDS WITH '_test.go' "
        yield f"symbol/{first(long + 'RETURN s.id, count(*) AS n ORDER BY n DESC, s.id LIMIT 1')}"
        yield f"file/{first(largest.format('false'))}"
        if generated := first(largest.format("true")):
            yield f"file/{generated}"
            yield f"file/{generated}?from=30001"
        yield from ("map/", f"map/{package}", "map/?show=treemap", "map/?show=treemap&colour=tests")
        yield from ("change", "search?q=read+a+file", "quick?q=New", "review", "knowledge", _QUERY)


def python_pass() -> float:
    """Seconds of processor time of an empty Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(root: Path, pages: list[str], runs: int) -> dict[str, Any]:
    server, first = started(root)
    try:
        for page in pages:
            server.ask(page)
        taken: dict[str, list[Taken]] = {page: [] for page in pages}
        base: list[float] = []
        for _ in range(runs):
            base.append(python_pass())
            for page in pages:
                taken[page].append(server.ask(page))
        memory = server.memory()
    finally:
        server.process.send_signal(signal.SIGINT)
        server.process.wait(60)
    yardstick = statistics.median(base)
    return {
        "runs": runs,
        "load": os.getloadavg()[0],
        "python_pass_ms": yardstick * 1000,
        "first": {"cpu_ms": first.cpu * 1000, "wall_ms": first.wall * 1000, "ratio": first.cpu / yardstick},
        "memory_mb": memory,
        "pages": {page: _figures(found, yardstick) for page, found in taken.items()},
    }


def _figures(taken: list[Taken], yardstick: float) -> dict[str, float]:
    cpu = statistics.median(one.cpu for one in taken)
    return {
        "cpu_ms": cpu * 1000,
        "wall_ms": statistics.median(one.wall for one in taken) * 1000,
        "worst_wall_ms": max(one.wall for one in taken) * 1000,
        "ratio": cpu / yardstick,
        "kb": max(one.size for one in taken) / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--runs", type=int, default=7, help="requests of each page after the first (7)")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_intermixed_args()
    root = options.root.resolve()
    found = measure(root, options.pages or list(chosen_pages(root)), options.runs)
    if options.as_json:
        print(json.dumps(found))
        return
    print(f"python -c pass: {found['python_pass_ms']:.1f} ms CPU; load {found['load']:.1f}; medians of {options.runs}")
    print(f"{'CPU ms':>8}{'ratio':>8}{'wall ms':>9}{'worst':>8}{'KB gz':>8}  page")
    first = found["first"]
    print(f"{first['cpu_ms']:8.0f}{first['ratio']:8.1f}{first['wall_ms']:9.0f}{'':16}  first page, from the command")
    for page, values in found["pages"].items():
        print(
            f"{values['cpu_ms']:8.1f}{values['ratio']:8.1f}{values['wall_ms']:9.1f}{values['worst_wall_ms']:8.1f}"
            f"{values['kb']:8.1f}  {page or 'start'}"
        )
    print(
        f"memory: {found['memory_mb']['now']:.0f} MB resident at the end, {found['memory_mb']['most']:.0f} MB at most"
    )


if __name__ == "__main__":
    main()
