"""Measures whether search finds the files that answer questions which use other words than the code.

    python benchmarks/meaning.py [--room DIRECTORY] [--history REPO_GIT]

The code is the part of Go's standard library that programs import, without tests, from the toolchain in this
environment. The questions are in `paraphrases.tsv`, each with the files that declare what is meant. They were written
by hand, before any of them was asked, without the words of the name. Measured are words and history, vectors alone, and
all together. With --history, a clone of golang/go, its commits are used, too, as in a repository under development; the
files are still those of the toolchain. With --room, what was learned and embedded in that directory before is reused.
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
from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.graph.search.results.hits import SearchRequest
from golore.graph.search.search import search
from golore.graph.search.search_context import SearchContext
from golore.learner.audit.go_judge import find_toolchain
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.knowledge.vectors import embed
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import sources_of
from golore.summarizers.models.embeddings import DEFAULT, open_embedder
from locating import FIRST, Ranking, Task, by_meaning, clone_at, score

QUESTIONS = Path(__file__).with_name("paraphrases.tsv")
LEFT_OUT = frozenset(("cmd", "internal", "testdata", "vendor"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure search with questions that use other words than the code.")
    parser.add_argument("--room", type=Path, help="work in this directory and keep it")
    parser.add_argument("--history", type=Path, metavar="REPO_GIT", help="a clone of golang/go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory: Path = options.room or Path(scratch)
        repository = LearnedRepository(directory / "go", directory / "store")
        if not repository.root.exists():
            copy_library(repository.root, options.history)
        learn_graph(repository.root, store_directory=repository.store)
        finish(repository.root, repository.store)
        embedder = open_embedder()
        done = embed(repository, embedder)
        (repository.store / VECTOR_MODEL_NAME).write_text(DEFAULT, encoding="utf-8")
        print(f"{done.made:,} texts embedded with {embedder.name} in {done.seconds:.0f} s")
        tasks = paraphrases()
        with Store.open(repository.store, write=False) as store, sources_of(repository, store) as sources:
            assert sources.meaning is not None
            _print_score("without vectors", tasks, search_ranking(replace(sources, meaning=None)))
            _print_score("vectors alone", tasks, by_meaning(sources, sources.meaning))
            started = time.perf_counter()
            _print_score("all", tasks, search_ranking(sources))
            print(f"{len(tasks)} questions, {(time.perf_counter() - started) / len(tasks) * 1000:.0f} ms each")


def copy_library(root: Path, history: Path | None) -> None:
    if history is not None:
        head = subprocess.run(["git", "-C", history, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        clone_at(history, head.stdout.strip(), root)
    toolchain = find_toolchain()
    result = subprocess.run([toolchain.go, "env", "GOROOT"], check=True, capture_output=True, text=True)
    source = Path(result.stdout.strip(), "src")
    for path in sorted(source.rglob("*.go")):
        relative = path.relative_to(source)
        if not path.name.endswith("_test.go") and LEFT_OUT.isdisjoint(relative.parts):
            copy = root / "src" / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    shutil.copy(source / "go.mod", root / "src")


def paraphrases() -> list[Task]:
    rows = (line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [Task(question, frozenset(f"src/{path}" for path in files.split())) for question, files in rows]


def search_ranking(sources: SearchContext) -> Ranking:
    def ranked(question: str) -> Sequence[str]:
        return [hit.file for hit in search(sources, SearchRequest(question, kind="file", limit=FIRST)).hits]

    return ranked


def _print_score(name: str, tasks: Sequence[Task], ranking: Ranking) -> None:
    result = score(tasks, ranking)
    print(f"{name:16} recall@{FIRST} {result.recall:.3f}  MRR@{FIRST} {result.mrr:.3f}", flush=True)


if __name__ == "__main__":
    main()
