"""Many processes on one store: nobody shuts the others out, and who must wait is told for whom (see docs/access.md)."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import anyio
from golore.learner.pipeline.graph_step import learn_graph
from mcp import Client, StdioServerParameters
from support.mcp_client import told
from support.shop import make_shop
from support.watching import GOLORE, Watch, exported, until


async def run(*words: str | Path) -> tuple[int, str, str]:
    done = await anyio.run_process([str(GOLORE), *map(str, words)], check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


async def callers_of_run(server: Client) -> str:
    return await told(server, "memory_graph", question="callers", symbol="run")


def test_commands_work_while_a_watch_and_two_servers_run(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    main_go = root / "main.go"

    async def work() -> None:
        server = StdioServerParameters(command=str(GOLORE), args=["mcp", str(root)], env=dict(os.environ))
        async with Client(server) as first, Client(server) as second:
            for number, options in enumerate(((), ("--full",), ())):
                # Both have just answered, so both have the database open.
                before = [await callers_of_run(client) for client in (first, second)]
                main_go.write_text(f"{main_go.read_text()}\nfunc added{number}() {{ run() }}\n")
                code, _, err = await run("learn", *options, root)
                assert (code, "golore:" in err) == (0, False), err
                code, out, err = await run("callers", "run", "--repo", root)
                assert (code, f"added{number}" in out) == (0, True), err
                after = [await callers_of_run(client) for client in (first, second)]
                assert [f"added{number}" in answer for answer in (*before, *after)] == [False, False, True, True]

    with Watch(root) as watch:
        watch.event("updated")
        anyio.run(work)
        learn_graph(root, store_directory=tmp_path / "fresh", workers=0)
        assert until(lambda: exported(root / ".golore") == exported(tmp_path / "fresh"))


def test_a_second_watch_says_who_watches_and_takes_over_from_a_killed_one(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as first:
        first.event("updated")
        second = subprocess.run([GOLORE, "watch", root], capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert f"cannot be watched: process {first.pid} (" in second.stderr
        os.kill(first.pid, signal.SIGKILL)
        first.ended()
        with Watch(root) as third:
            third.event("watching")
