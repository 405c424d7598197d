"""A graph file that is damaged crashes no command: each says so, and the next learn makes the graph again."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from golore.graph.database.engine import Session
from golore.graph.database.open_check import can_be_read
from golore.graph.database.store import Store
from golore.graph.errors import GraphDamaged
from golore.graph.files.graph_digests import record_digests
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.layout import digests_file
from golore.graph.model.delta import GraphDelta
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from mcp import Client
from support.learned_tree import copy_repository
from support.mcp_client import inside, refused, told
from support.peak_memory import measured
from support.shop import make_shop
from support.stores import exported, put_note

FEW = 10
MANY = 60
_GIGABYTE_IN_KIB = 1 << 20
GOLORE = (sys.executable, "-c", "import sys; from golore.mcp_server.entry import main; sys.exit(main())")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn(root, root / ".golore", workers=0)
    with Store.open(root / ".golore", write=True) as store:
        store.checkpoint()
    return root


def mutated(good: bytes, seed: int) -> bytes:
    used = [at for at, byte in enumerate(good) if byte]
    choose, data = random.Random(seed), bytearray(good)
    for _ in range(choose.choice((4, 12))):
        at = choose.choice((choose.choice(used), used[-choose.randrange(1, 3000)], used[choose.randrange(300)]))
        data[at] ^= choose.randrange(1, 256)
    return bytes(data)


def graph_of(root: Path) -> Path:
    (graph,) = (root / ".golore").glob("graph-*.db")
    return graph


def check_mutations(root: Path, seeds: range) -> None:
    graph = graph_of(root)
    good = graph.read_bytes()
    command = [*GOLORE, "callers", "Memory.Save", "--repo", str(root)]
    try:
        for seed in seeds:
            graph.write_bytes(mutated(good, seed))
            code, said, peak = measured(command)
            assert (code, peak < _GIGABYTE_IN_KIB) == (1, True), (seed, said)
            assert "Run `golore learn` to rebuild it." in said, (seed, said)
    finally:
        graph.write_bytes(good)


def test_mutated_graphs_are_named_and_not_opened(root: Path) -> None:
    check_mutations(root, range(FEW))


@pytest.mark.slow
def test_many_mutated_graphs_are_named_and_not_opened(root: Path) -> None:
    check_mutations(root, range(FEW, MANY))


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["callers", "Memory.Save"],
        ["impact", "Memory.Save"],
        ["query", "MATCH (s:Symbol) RETURN s.id"],
        ["search", "save"],
        ["export"],
    ],
)
def test_commands_say_what_to_do_about_a_damaged_graph(
    words: list[str], root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    graph_of(copy).write_bytes(mutated(graph_of(root).read_bytes(), 1))
    assert main([*words, "--repo", str(copy)]) == 1
    assert "Run `golore learn` to rebuild it." in capsys.readouterr().err


def test_a_learn_makes_a_damaged_graph_again_and_keeps_the_notes(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    put_note(copy / ".golore", "n1")
    before = exported(root / ".golore")
    graph_of(copy).write_bytes(mutated(graph_of(root).read_bytes(), 1))
    assert main(["learn", str(copy)]) == 0
    assert "The graph was damaged and was rebuilt" in capsys.readouterr().out
    assert main(["learn", str(copy)]) == 0
    assert "rebuilt" not in capsys.readouterr().out
    assert exported(copy / ".golore").count('"CALLS"') == before.count('"CALLS"')
    with Knowledge.open(copy / ".golore") as knowledge:
        assert [row[0] for row in knowledge.rows("SELECT id FROM notes")] == ["n1"]


def test_an_agent_is_told_what_to_do_about_a_damaged_graph_and_can_do_it(root: Path, tmp_path: Path) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    graph_of(copy).write_bytes(mutated(graph_of(root).read_bytes(), 2))

    async def talk(client: Client) -> tuple[str, str]:
        refusal = await refused(client, "memory_graph", question="callers", symbol="Memory.Save")
        await told(client, "memory_learn")
        return refusal, await told(client, "memory_graph", question="callers", symbol="Memory.Save")

    refusal, answer = inside(talk, copy)
    assert "Run `golore learn` to rebuild it." in refusal
    assert "main.go" in answer


def test_a_damaged_graph_of_a_killed_writer_crashes_no_command(root: Path, tmp_path: Path) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    graph = graph_of(copy)
    good = graph.read_bytes()
    refused = 0
    for seed in range(FEW):
        graph.write_bytes(mutated(good, seed))
        digests_file(graph).unlink(missing_ok=True)
        code, said, peak = measured([*GOLORE, "callers", "Memory.Save", "--repo", str(copy)])
        assert (code in (0, 1), peak < _GIGABYTE_IN_KIB) == (True, True), (seed, said)
        assert code == 0 or "Run `golore learn` to rebuild it." in said, (seed, said)
        refused += code
    assert refused


@pytest.mark.parametrize(
    "damage",
    [
        "MATCH (s:Symbol {name: 'Save'}) SET s.file = NULL",
        "MATCH (:Symbol)-[e:CALLS]->(:Symbol) SET e.sites = '1x'",
        "MATCH (r:Repository) SET r.modules = NULL",
    ],
)
def test_a_value_that_golore_cannot_have_stored_is_damage(damage: str, root: Path, tmp_path: Path) -> None:
    graph = graph_of(copy_repository(root, tmp_path / "shop"))
    assert can_be_read(graph, write=True)
    with closing(Session(graph, write=True)) as session:
        session.run(damage)
    assert not can_be_read(graph, write=True)


def test_text_that_is_not_utf_8_is_damage(root: Path, tmp_path: Path) -> None:
    graph = graph_of(copy_repository(root, tmp_path / "shop"))
    text = b"Memory.Save"
    assert text in graph.read_bytes()
    graph.write_bytes(graph.read_bytes().replace(text, b"Memory.Sav\xff"))
    assert not can_be_read(graph, write=True)


def test_damage_that_only_a_question_finds_is_mended_by_the_next_learn(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    with closing(Session(graph_of(copy), write=True)) as session:
        session.run("DROP TABLE EMBEDS")
    record_digests(graph_of(copy), {})
    assert main(["export", "--repo", str(copy)]) == 1
    assert main(["callers", "Memory.Save", "--repo", str(copy)]) == 1
    assert capsys.readouterr().err.count("Run `golore learn` to rebuild it.") == 2
    assert main(["learn", str(copy)]) == 0
    assert "The graph was damaged and was rebuilt" in capsys.readouterr().out
    assert main(["export", "--repo", str(copy)]) == 0


def test_a_damaged_log_is_noticed(root: Path, tmp_path: Path) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    (copy / "store" / "more.go").write_text("package store\n\nfunc More() {}\n")
    learn(copy, copy / ".golore", workers=0)
    with Store.open(copy / ".golore", write=True) as store:
        store.apply(GraphDelta(nodes_removed={"Symbol": ["example.com/shop/store.More"]}))
    log = graph_of(copy).with_name(f"{graph_of(copy).name}.wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    with Store.open(copy / ".golore", write=False) as store, pytest.raises(GraphDamaged):
        store.meta()


def test_a_copied_store_is_read_and_recorded_again(root: Path, tmp_path: Path) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    record = digests_file(graph_of(copy))
    before = record.read_bytes()
    with Store.open(copy / ".golore", write=False) as store:
        assert store.meta()
    after = record.read_bytes()
    assert before != after  # other inodes
    with Store.open(copy / ".golore", write=False) as store:
        assert store.meta()
    assert record.read_bytes() == after


def test_a_writer_that_is_killed_leaves_a_store_that_opens(root: Path, tmp_path: Path) -> None:
    copy = copy_repository(root, tmp_path / "shop")
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from golore.graph.database.store import Store\n"
        "from golore.graph.model.delta import GraphDelta\n"
        "from golore.graph.database import store as module\n"
        "module.record_digests = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with Store.open(Path(sys.argv[1]), write=True) as store:\n"
        "    store.apply(GraphDelta(nodes_removed={'Symbol': ['example.com/shop/store.New']}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(copy / ".golore")], check=False, timeout=300)
    assert done.returncode == -9
    assert not digests_file(graph_of(copy)).exists()
    with Store.open(copy / ".golore", write=False) as store:
        assert store.meta()
    assert digests_file(graph_of(copy)).exists()


def test_the_memory_of_a_question_is_limited_while_the_graph_is_open(root: Path) -> None:
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from golore.graph.database.engine import limit_memory\n"
        "from golore.graph.database.store import Store\n"
        "limit_memory()\n"
        "with Store.open(Path(sys.argv[1]), write=False) as store:\n"
        "    list(store.rows('MATCH (s:Symbol) RETURN s.id'))\n"
        "    try:\n"
        "        bytearray(4 << 30)\n"
        "    except MemoryError:\n"
        "        print('refused')\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root / ".golore")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused\nTrue\n"
