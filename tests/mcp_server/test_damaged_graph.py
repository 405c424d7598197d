"""A damaged graph file does not make a question take much memory."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.learner.learn import learn
from support.peak_memory import measured
from support.shop import make_shop

FEW = 10
MANY = 60
_GIGABYTE_IN_KIB = 1 << 20


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn(root, root / ".golore", workers=0)
    with Store.open(root / ".golore", write=True) as store:
        store.checkpoint()
    return root


def check_mutations(root: Path, seeds: range) -> None:
    (graph,) = (root / ".golore").glob("graph-*.db")
    good = graph.read_bytes()
    used = [at for at, byte in enumerate(good) if byte]
    program = "import sys; from golore.mcp_server.entry import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "callers", "Memory.Save", "--repo", str(root)]
    try:
        for seed in seeds:
            choose, data = random.Random(seed), bytearray(good)
            for _ in range(choose.choice((4, 12))):
                at = choose.choice((choose.choice(used), used[-choose.randrange(1, 3000)], used[choose.randrange(300)]))
                data[at] = choose.choice((0xFF, 0x7F, choose.randrange(256)))
            graph.write_bytes(data)
            code, said, peak = measured(command)
            assert peak < _GIGABYTE_IN_KIB, seed
            # The engine may crash on bytes that it trusts; then nothing can be said.
            assert code in (0, -6, -7, -11) or "golore learn" in said or "memory" in said, (seed, said)
    finally:
        graph.write_bytes(good)


def test_mutated_graphs_give_an_answer_or_an_error_in_bounded_memory(root: Path) -> None:
    check_mutations(root, range(FEW))


@pytest.mark.slow
def test_many_mutated_graphs_give_an_answer_or_an_error_in_bounded_memory(root: Path) -> None:
    check_mutations(root, range(FEW, MANY))


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
