"""Queries that crash, run for too long or fill the memory: they end, with a reason, and the next query is answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from golore.graph.errors import GoloreError, UsageError
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.server.tools import memory_query
from golore.mcp_server.services.query_process import QueryProcess
from mcp import Client
from support.alarm import unblocked_alarm
from support.mcp_client import GOLORE, inside, over_stdio, refused, told
from support.peak_memory import measured
from support.shop import make_shop
from support.watching import until

COUNT = "MATCH (s:Symbol {name: 'Added'}) RETURN count(*) AS n"
SLOW_TO_PARSE = "RETURN 1" + "+1" * 40_000
"""Takes many seconds, and the engine checks its time limit only while a statement runs."""
HUGE = "RETURN size(range(1, 2000000000)) AS n"
LARGE = "RETURN range(1, 8000000) AS n"
"""More memory than a query may have, but only when its result is converted."""
CHILD = [sys.executable, "-P", "-m", "golore.mcp_server.services.query_child"]
LONG = 600
"""Seconds that no query here takes."""
FAILED = "Error executing tool memory_query: "
ATTACKS = [
    "CALL read_csv_serial('/etc/passwd') RETURN *",
    "CALL read_csv_parallel('/etc/passwd') RETURN *",
    "CALL read_parquet('/etc/passwd') RETURN *",
    "CALL read_npy('/etc/passwd') RETURN *",
    "MATCH (n:Symbol) WHERE n.`exported` LOAD FROM '/etc/passwd' RETURN *",
    "LOAD FROM '/etc/passwd' RETURN *",
    "COPY (MATCH (s:Symbol) RETURN s.id) TO 'stolen.csv'",
    "MATCH (s:Symbol) SET s.name = 'x'",
    "DROP TABLE Symbol",
    "RETURN 1 //\rLOAD FROM '/etc/passwd' RETURN *",
    "MATCH (n)\u2028LOAD FROM '/etc/passwd' RETURN *",
    "RETURN 1; DROP TABLE Symbol",
    "CALL project_graph_cypher('g', \"LOAD FROM '/etc/passwd' RETURN *\")",
    "CALL project_graph_cypher('g', \"COPY (MATCH (s:Symbol) RETURN s.id) TO 'stolen.csv'\")",
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("query") / "shop")
    learn_graph(root)
    return root


@pytest.fixture
def queries() -> Generator[QueryProcess]:
    with QueryProcess() as process:
        yield process


def one(queries: QueryProcess, shop: Path) -> list[dict[str, object]]:
    return queries.query(shop / ".golore", "RETURN 1 AS one", seconds=LONG)


def golore(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GOLORE, *arguments], capture_output=True, text=True, cwd=cwd, check=False)


def test_every_attack_is_refused_by_the_command_line(shop: Path) -> None:
    before = sorted(shop.iterdir())
    for attack in ATTACKS:
        answer = golore("query", attack, cwd=shop)
        assert (answer.returncode, answer.stdout) == (2, ""), attack
        assert "Only reading queries are allowed" in answer.stderr or "more than one statement" in answer.stderr
    assert sorted(shop.iterdir()) == before


def test_every_attack_is_refused_by_a_server_that_goes_on(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        texts = [await refused(client, "memory_query", cypher=attack) for attack in ATTACKS]
        texts.append(await refused(client, "memory_query", cypher=SLOW_TO_PARSE, seconds=0.05))
        return [*texts, await told(client, "memory_query", cypher="RETURN 1 AS one")]

    *attacks, slow, last = over_stdio(talk, shop)
    for text in attacks:
        assert "Only reading queries are allowed" in text or "more than one statement" in text
    assert "root:" not in "".join(attacks)
    assert slow.startswith(FAILED + "The query was stopped after 0.05 s. Begin at fewer nodes")
    assert last == '1 row of ["one"]:\n  [1]'


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool's query may take `LONG` seconds, so that a busy machine does not reach the limit of time first."""
    monkeypatch.setattr(memory_query, "_MAX_SECONDS", LONG)


@pytest.mark.usefixtures("patience")
def test_a_query_that_needs_too_much_is_refused_by_a_server_that_goes_on(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        queries = (HUGE, "UNWIND range(1, 1000000000) AS x RETURN count(x)", "RETURN repeat('x', 20000000)")
        texts = [await refused(client, "memory_query", cypher=query, seconds=LONG) for query in queries]
        return [*texts, await told(client, "memory_query", cypher="RETURN 1 AS one")]

    huge, unwound, wide, last = inside(talk, shop)
    assert huge.startswith(FAILED + "The query needs more memory than it may use. Return less, or add a LIMIT.")
    assert unwound.startswith(FAILED + "The query needs more memory than it may use.")
    assert wide.startswith(FAILED + "The result of the query is too large. Return less, or add a LIMIT.")
    assert last == '1 row of ["one"]:\n  [1]'


def test_what_a_query_needs_is_limited_by_the_kernel(shop: Path) -> None:
    command = [str(GOLORE), "query", LARGE, "--seconds", str(LONG), "--repo", str(shop)]
    code, message, peak = measured(command)
    assert (code, message) == (
        2,
        "golore: The query needs more memory than it may use. Return less, or add a LIMIT.\n",
    )
    assert peak < 1_500_000


def test_a_query_that_the_engine_does_not_stop_is_killed_at_its_deadline(shop: Path) -> None:
    answer = golore("query", SLOW_TO_PARSE, "--seconds", "1", "--repo", str(shop))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("golore: The query was stopped after 1 s. Begin at fewer nodes")


def test_the_time_limit_of_a_command_is_a_number_of_seconds(shop: Path) -> None:
    for text in ("0", "-1", "nan", "99999999999"):
        assert golore("query", "RETURN 1", "--seconds", text, "--repo", str(shop)).returncode == 2


def test_a_crash_is_reported_and_the_next_query_is_answered(shop: Path, queries: QueryProcess) -> None:
    one(queries, shop)
    pid = queries.pid
    assert pid is not None
    before = cpu_ticks(pid)

    def crash() -> None:
        # An idle process would need minutes for so much work.
        assert until(lambda: cpu_ticks(pid) > before + 10)
        os.kill(pid, signal.SIGSEGV)

    killer = threading.Thread(target=crash)
    killer.start()
    with pytest.raises(GoloreError, match=r"The query crashed the graph engine \(SIGSEGV\)\. Write it in another way"):
        queries.query(shop / ".golore", SLOW_TO_PARSE, seconds=LONG)
    killer.join()
    assert one(queries, shop) == [{"one": 1}]
    assert queries.pid != pid


@pytest.mark.usefixtures("patience")
def test_a_server_survives_a_crash_of_its_query(shop: Path) -> None:
    async def talk(client: Client) -> tuple[str, str]:
        await told(client, "memory_query", cypher="RETURN 1 AS one")
        (process,) = query_processes()
        before = cpu_ticks(process)

        def crash() -> None:
            assert until(lambda: cpu_ticks(process) > before + 10)
            os.kill(int(process), signal.SIGSEGV)

        killer = threading.Thread(target=crash)
        killer.start()
        crashed = await refused(client, "memory_query", cypher=SLOW_TO_PARSE, seconds=LONG)
        killer.join()
        return crashed, await told(client, "memory_query", cypher="RETURN 1 AS one")

    crashed, after = inside(talk, shop)
    assert crashed.startswith(FAILED + "The query crashed the graph engine (SIGSEGV).")
    assert after == '1 row of ["one"]:\n  [1]'


def test_a_process_that_ended_between_two_queries_is_replaced(shop: Path, queries: QueryProcess) -> None:
    one(queries, shop)
    pid = queries.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert one(queries, shop) == [{"one": 1}]


def test_a_mistake_does_not_cost_the_process(shop: Path, queries: QueryProcess) -> None:
    one(queries, shop)
    pid = queries.pid
    with pytest.raises(UsageError, match="Table Symbl does not exist"):
        queries.query(shop / ".golore", "MATCH (s:Symbl) RETURN s", seconds=LONG)
    assert one(queries, shop) == [{"one": 1}]
    assert queries.pid == pid


def test_a_warm_process_does_not_block_writers_and_sees_what_they_write(own_shop: Path, queries: QueryProcess) -> None:
    store = own_shop / ".golore"
    assert queries.query(store, COUNT, seconds=LONG) == [{"n": 0}]
    pid = queries.pid
    (own_shop / "added.go").write_text("package shop\n\nfunc Added() {}\n")
    answer = golore("learn", str(own_shop))
    assert answer.returncode == 0, answer.stderr
    assert queries.query(store, COUNT, seconds=LONG) == [{"n": 1}]
    answer = golore("learn", "--full", str(own_shop))
    assert answer.returncode == 0, answer.stderr
    assert queries.query(store, COUNT, seconds=LONG) == [{"n": 1}]
    assert queries.pid == pid


def test_the_process_ends_with_its_standard_input() -> None:
    with subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate()
    assert (process.returncode, out) == (0, b"")


def test_a_query_ends_even_if_nobody_kills_it(shop: Path) -> None:
    request: dict[str, object] = {"store": str(shop / ".golore"), "cypher": SLOW_TO_PARSE, "parameters": {}}
    request |= {"seconds": 0.05, "most": None}
    with (
        unblocked_alarm(),
        subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
    ):
        out, _ = process.communicate(json.dumps(request).encode() + b"\n")
    assert (process.returncode, out) == (-signal.SIGALRM, b'{"opened": true}\n')


def test_a_query_runs_no_python_of_the_repository(own_shop: Path) -> None:
    for name in ("json", "select", "resource", "signal"):
        (own_shop / f"{name}.py").write_text("import os\nopen('ran', 'w').close()\nos._exit(9)\n")
    assert golore("query", "RETURN 1 AS one", cwd=own_shop).stdout == "one\n1\n"
    assert not (own_shop / "ran").exists()


def test_values_of_every_type_arrive_as_text_or_numbers(shop: Path) -> None:
    cypher = (
        "RETURN date('2020-01-02') AS date, cast(7 AS INT128) AS wide, map([1], ['a']) AS map, to_blob('ab') AS blob, "
        "{a: [1.5, null]} AS struct, 'Grüße \u2028\\n' AS text, 1.0 / 0.0 AS infinite"
    )
    answer = golore("query", cypher, "--json", "--repo", str(shop))
    assert json.loads(answer.stdout)["rows"] == [
        {
            "date": "2020-01-02",
            "wide": "7",
            "map": {"1": "a"},
            "blob": "b'ab'",
            "struct": {"a": [1.5, None]},
            "text": "Grüße \u2028\n",
            "infinite": float("inf"),
        }
    ]


def test_more_rows_than_a_page_arrive_in_order(shop: Path, queries: QueryProcess) -> None:
    rows = queries.query(shop / ".golore", "UNWIND range(1, 25000) AS n RETURN n", seconds=30)
    assert rows == [{"n": n} for n in range(1, 25_001)]
    assert len(queries.query(shop / ".golore", "UNWIND range(1, 25000) AS n RETURN n", seconds=30, most=7)) == 7


def cpu_ticks(pid: int | str) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def query_processes() -> list[str]:
    """The processes for queries that this process has started."""
    children = [child for path in Path("/proc/self/task").glob("*/children") for child in path.read_text().split()]
    return [pid for pid in children if CHILD[-1] in Path(f"/proc/{pid}/cmdline").read_text()]
