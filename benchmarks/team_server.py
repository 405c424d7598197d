"""A team server under load: many clients that each ask a one-hop question every second.

    uv run python benchmarks/team_server.py PATH…
        [--clients 100] [--seconds 60] [--processes 1 2] [--protocol 2025-11-25|2026-07-28] [--closed SECONDS]

Each PATH is a git checkout, which is cloned, learned and published to a temporary lake. The real server is started on
loopback, and asked by another process over HTTP, as MCP clients do: each client has its own token and connection, and
begins at its own moment of the second. Questions are callers, callees, users and implementers of symbols that are drawn
from the graphs with a fixed seed. An error is any reply that is not HTTP 200 with a result that is not an error.

Latency counts from the moment at which a question is due, so a client that is late because its last answer was late
counts the delay. `--closed`: afterwards, all clients ask as fast as they are answered for so long, which gives the
throughput. Processor time is that of the server's processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.mcp_server.team.token_file import add_token

_GOLORE: Final = str(Path(sys.executable).with_name("golore"))
_QUESTIONS: Final = {"func": ("callers", "callees", "users"), "method": ("callers", "callees", "users")}
_TYPES: Final = ("users", "implementers")
_MODERN: Final = "2026-07-28"
_SEED: Final = 7


class Question(NamedTuple):
    repository: str
    question: str
    symbol: str


class Answers(NamedTuple):
    """Seconds of each answer, the texts of errors, and the seconds that all took."""

    seconds: list[float]
    errors: list[str]
    duration: float


def make_lake(folder: Path, paths: list[Path]) -> list[Question]:
    """Publish the repositories. Returns questions about them, shuffled."""
    lake = folder / "lake"
    lake.mkdir()
    found: list[Question] = []
    for path in paths:
        root = folder / path.name
        subprocess.run(["git", "clone", "-q", path, root], check=True)
        name = f"example.com/bench/{path.name}"
        subprocess.run([_GOLORE, "learn", root], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        publish = [_GOLORE, "publish", lake, "--repo", root, "--name", name, "--must"]
        subprocess.run(publish, check=True, stdout=subprocess.DEVNULL)
        found += _questions(root, name)
    random.Random(_SEED).shuffle(found)
    return found


def _questions(root: Path, name: str) -> list[Question]:
    kinds = [*_QUESTIONS, "struct", "interface"]
    chosen = "s.kind IN $kinds AND NOT s.file ENDS WITH '_test.go'"
    statement = f"MATCH (s:Symbol) WHERE {chosen} RETURN s.qualified_name, s.kind ORDER BY s.id"
    with Store.open(root / ".golore", write=False) as store:
        rows = list(store.rows(statement, {"kinds": kinds}))
    return [Question(name, question, symbol) for symbol, kind in rows for question in _QUESTIONS.get(kind, _TYPES)]


@contextmanager
def serving(folder: Path, processes: int) -> Generator[tuple[int, int]]:
    """The port and the process id of a server."""
    command = [_GOLORE, "serve", "--lake", folder / "lake", "--tokens", folder / "tokens", "--listen", "127.0.0.1:0"]
    command += ["--processes", str(processes), "--json"]
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as server,
    ):
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        try:
            yield int(url.split(":")[2].split("/")[0]), server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0


def processor_seconds(pid: int) -> float:
    """Of a process and its children, so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / ticks
    return own + sum(processor_seconds(int(child)) for child in children)


class Connection:
    """A client: one kept connection, one token."""

    def __init__(self, port: int, token: str, protocol: str) -> None:
        self._port, self._token, self._protocol = port, token, protocol
        self._number = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, question: Question) -> str:
        """The text of an error; empty if there was none."""
        if self._writer is None or self._reader is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(self._request(question))
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if b" 200 " not in head[:20] or b'"isError":true' in body or b'"result"' not in body:
            return f"{head[:40]!r} {body[:300]!r}"
        return ""

    def _request(self, question: Question) -> bytes:
        self._number += 1
        arguments = question._asdict()
        parameters: dict[str, Any] = {"name": "memory_graph", "arguments": arguments}
        more = ""
        if self._protocol == _MODERN:
            # As the SDK's client sends it.
            key = "io.modelcontextprotocol"
            client = {"name": "benchmark", "version": "1"}
            meta = {f"{key}/protocolVersion": _MODERN, f"{key}/clientInfo": client, f"{key}/clientCapabilities": {}}
            parameters["_meta"] = meta
            more = "mcp-method: tools/call\r\nmcp-name: memory_graph\r\n"
        request = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": parameters}
        body = json.dumps(request).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {self._token}\r\n"
            f"MCP-Protocol-Version: {self._protocol}\r\nContent-Type: application/json\r\n{more}"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


async def ask_regularly(clients: list[Connection], questions: list[Question], seconds: float) -> Answers:
    """Each client asks once a second, from its own moment on."""
    answers = Answers([], [], seconds)
    loop = asyncio.get_running_loop()
    start = loop.time() + 0.2

    async def run(number: int, client: Connection) -> None:
        first = start + number / len(clients)
        for turn in range(int(seconds)):
            due = first + turn
            await asyncio.sleep(max(0.0, due - loop.time()))
            await _ask(client, questions[(turn * len(clients) + number) % len(questions)], due, answers)

    await asyncio.gather(*(run(number, client) for number, client in enumerate(clients)))
    return answers


async def ask_at_once(clients: list[Connection], questions: list[Question], seconds: float) -> Answers:
    """Each client asks again as soon as it is answered."""
    answers = Answers([], [], seconds)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    async def run(number: int, client: Connection) -> None:
        turn = 0
        while loop.time() < end:
            question = questions[(turn * len(clients) + number) % len(questions)]
            await _ask(client, question, loop.time(), answers)
            turn += 1

    await asyncio.gather(*(run(number, client) for number, client in enumerate(clients)))
    return answers


async def _ask(client: Connection, question: Question, due: float, answers: Answers) -> None:
    try:
        error = await client.ask(question)
    except (OSError, EOFError, ValueError) as failure:
        error = repr(failure)
    answers.seconds.append(asyncio.get_running_loop().time() - due)
    if error:
        answers.errors.append(error)


async def load(port: int, pid: int, tokens: list[str], questions: list[Question], options: Any) -> None:
    clients = [Connection(port, token, options.protocol) for token in tokens]
    # Two questions of each client open the stores and the connections.
    await ask_regularly(clients, questions[::-1], 2)
    for title, ask, seconds in (
        ("once a second", ask_regularly, options.seconds),
        ("closed loop", ask_at_once, options.closed),
    ):
        if seconds:
            before = processor_seconds(pid)
            answers = await ask(clients, questions, seconds)
            report(f"  {title}", answers, processor_seconds(pid) - before)


def report(title: str, answers: Answers, processor: float) -> None:
    ordered = sorted(answers.seconds)
    at = {share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.95, 0.99)}
    print(
        f"{title}: {len(ordered):,} questions, {len(answers.errors)} errors, "
        f"{len(ordered) / answers.duration:.0f} a second; ms: mean {statistics.fmean(ordered) * 1000:.1f}, "
        f"p50 {at[0.5]:.1f}, p95 {at[0.95]:.1f}, p99 {at[0.99]:.1f}, most {ordered[-1] * 1000:.1f}; "
        f"processor ms a question: {processor / len(ordered) * 1000:.2f}"
    )
    for error in answers.errors[:3]:
        print(f"  {error}")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--closed", type=float, default=15)
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--protocol", choices=("2025-11-25", _MODERN), default="2025-11-25")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golore-bench-") as temporary:
        folder = Path(temporary)
        questions = make_lake(folder, options.paths)
        file = folder / "tokens"
        tokens = [add_token(file, f"client-{number}", ("*",), may_write=False) for number in range(options.clients)]
        # The bar is about time, not about the limits of a token.
        file.write_text(file.read_text().replace("rights =", "per_second = 10_000\nrights ="))
        print(
            f"{len(questions):,} questions about {', '.join(path.name for path in options.paths)}; {options.protocol}"
        )
        for processes in options.processes:
            with serving(folder, processes) as (port, pid):
                print(f"{processes} process(es)")
                asyncio.run(load(port, pid, tokens, questions, options))


if __name__ == "__main__":
    main()
