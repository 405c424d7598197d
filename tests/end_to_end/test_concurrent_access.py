"""Many processes on one store: nobody shuts the others out, and who must wait is told for whom (see docs/access.md)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
from golore.graph.safety.trust import register_store
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import learn_graph
from mcp import Client, StdioServerParameters
from support.mcp_client import told
from support.shop import make_shop
from support.torture_tree import learned_part
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


LEARNER = """
import sys
from pathlib import Path
from golore.learner.learn import learn
root = Path(sys.argv[1])
text = (root / "main.go").read_text()
for turn in range(8):
    (root / "main.go").write_text(text + "".join(f"func Turn{n}() {{ run() }}\\n" for n in range(turn)))
    learn(root, root / ".golore", full=turn % 4 == 3, workers=0)
"""


def test_copies_of_a_store_taken_during_learns_can_be_used(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    learn(root, root / ".golore", workers=0)
    copies: list[Path] = []
    with subprocess.Popen([sys.executable, "-c", LEARNER, root]) as learning:
        while learning.poll() is None:
            copies.append(tmp_path.resolve() / f"copy{len(copies)}")
            subprocess.run(["cp", "-r", root, copies[-1]], check=False, stderr=subprocess.DEVNULL)
    assert learning.returncode == 0
    learn_graph(root, store_directory=tmp_path / "fresh", workers=0)
    for copy in (copies[0], copies[len(copies) // 2], copies[-1]):
        (copy / "main.go").write_text((root / "main.go").read_text())
        register_store(str(copy / ".golore"))
        learn(copy, copy / ".golore", workers=0)
        assert learned_part(exported(copy / ".golore")) == learned_part(exported(tmp_path / "fresh"))
