"""Whether search leads from a question in other words than the code's to the file that answers it.

    python benchmarks/meaning.py [--room DIRECTORY] [--history REPO_GIT]

The code is the part of Go's standard library that programs import, without tests, as the toolchain in this environment
has it. The questions are in `paraphrases.tsv`, each with the files that declare what was meant: they were written by
hand, before any of them was asked, so as not to have the words of the name in them. Told are words and history, vectors
by themselves, and all together. With --history, a clone of golang/go, commits have their say too, as they would in a
repository at work; its files are those of the toolchain all the same. With --room, what was learned and embedded there
before is used again.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.search.search import SearchContext, SearchRequest, search
from golore.learner.audit.go_judge import find_toolchain
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import MODEL_NAME, sources_of
from golore.mcp_server.services.vectors import embed
from golore.summarizers.models.embeddings import DEFAULT, open_embedder
from locating import FIRST, Ranking, Task, by_meaning, clone_at, judged

QUESTIONS = Path(__file__).with_name("paraphrases.tsv")
LEFT_OUT = frozenset(("cmd", "internal", "testdata", "vendor"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Questions in other words than the code's.")
    parser.add_argument("--room", type=Path, help="a directory to work in and to keep")
    parser.add_argument("--history", type=Path, metavar="REPO_GIT", help="a clone of golang/go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        room: Path = options.room or Path(scratch)
        place = LearnedRepository(room / "go", room / "store")
        if not place.root.exists():
            _lay_out(place.root, options.history)
        learn_graph(place.root, store_directory=place.store)
        finish(place.root, place.store)
        embedder = open_embedder()
        done = embed(place, embedder)
        (place.store / MODEL_NAME).write_text(DEFAULT, encoding="utf-8")
        print(f"{done.made:,} texts embedded with {embedder.name} in {done.seconds:.0f} s")
        tasks = _tasks()
        with Store.open(place.store, write=False) as store, sources_of(place, store) as sources:
            assert sources.meaning is not None
            _show("without vectors", tasks, _searched(replace(sources, meaning=None)))
            _show("vectors alone", tasks, by_meaning(sources, sources.meaning))
            begun = time.perf_counter()
            _show("all", tasks, _searched(sources))
            print(f"{len(tasks)} questions, {(time.perf_counter() - begun) / len(tasks) * 1000:.0f} ms each")


def _lay_out(root: Path, history: Path | None) -> None:
    if history is not None:
        head = subprocess.run(["git", "-C", history, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        clone_at(history, head.stdout.strip(), root)
    toolchain = find_toolchain()
    said = subprocess.run([toolchain.go, "env", "GOROOT"], check=True, capture_output=True, text=True)
    source = Path(said.stdout.strip(), "src")
    for path in sorted(source.rglob("*.go")):
        place = path.relative_to(source)
        if not path.name.endswith("_test.go") and LEFT_OUT.isdisjoint(place.parts):
            copy = root / "src" / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    shutil.copy(source / "go.mod", root / "src")


def _tasks() -> list[Task]:
    rows = (line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [Task(question, frozenset(f"src/{path}" for path in files.split())) for question, files in rows]


def _searched(sources: SearchContext) -> Ranking:
    def ranked(question: str) -> Sequence[str]:
        return [hit.file for hit in search(sources, SearchRequest(question, kind="file", limit=FIRST)).hits]

    return ranked


def _show(name: str, tasks: Sequence[Task], ranking: Ranking) -> None:
    score = judged(tasks, ranking)
    print(f"{name:16} recall@{FIRST} {score.recall:.3f}  MRR@{FIRST} {score.mrr:.3f}", flush=True)


if __name__ == "__main__":
    main()
