"""Measures how well and how fast `search` finds names in a learned repository, called as `golore search` does.

    python benchmarks/search.py REPO [--names N] [--seed N] [--questions N] [--index] [--vectors] [--embed N]

REPO is a learned repository. Names are sampled from all declarations that are neither fields nor in generated files.
Each is searched for as it is, then with one typo: a letter dropped, doubled, replaced, or swapped with the next one. A
name counts as found if a result, or a declaration inside a result, has it. Questions of several words are made from
comments of the same repository, and are only timed. `--index` rebuilds the index first and prints its share of the
store's size. `--vectors` times the questions again with a vector for every text: random vectors, in a temporary file,
because only the time matters. `--embed` embeds N texts of the repository, including those of tests and generated files,
with the model of `golore[vectors]`, and discards the vectors.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sqlite3
import string
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.search.embedded_texts import KEY_BYTES, meaning_texts
from golore.graph.search.results.hits import Hit, SearchRequest
from golore.graph.search.search import search
from golore.graph.search.search_context import SearchContext
from golore.graph.search.vectors import Near, VectorFile, VectorSearch
from golore.learner.derived.search_step import update_search_index
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.services.search_sources import sources_of
from golore.summarizers.models.embeddings import BATCH, open_embedder

FIRST = 5
SHORTEST = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--names", type=int, default=1_000, help="number of names to search for (1,000)")
    parser.add_argument("--questions", type=int, default=300, help="number of questions to time (300)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices (1)")
    parser.add_argument("--vectors", action="store_true", help="time questions with vectors")
    parser.add_argument("--embed", type=int, default=0, metavar="N", help="embed N texts and print time and memory")
    parser.add_argument("--index", action="store_true", help="rebuild the index and print its size")
    options = parser.parse_args()
    repository = find_repository(options.repository)
    if options.index:
        started = time.perf_counter()
        done = update_search_index(repository.root, repository.store, whole=True)
        print(f"index of {done.files:,} files made in {time.perf_counter() - started:.1f} s")
        _print_sizes(repository.store)
    chance = random.Random(options.seed)
    with Store.open(repository.store, write=False) as store, sources_of(repository, store) as sources:
        (total,) = next(iter(store.rows("MATCH (s:Symbol) RETURN count(*)")))
        sampled = chance.sample(_names(store), options.names)
        print(f"{total:,} symbols, {len(sources.view.files):,} files")
        _judge(sources, sampled, chance)
        questions = _questions(store, chance, options.questions)
        _time(sources, questions, "questions")
        if options.vectors:
            with tempfile.TemporaryDirectory() as directory:
                _time(_with_vectors(sources, Path(directory)), questions, "questions with vectors")
        if options.embed:
            _embed(sources, options.embed)


def _names(store: Store) -> list[tuple[str, str]]:
    """Names and qualified names that can be searched for."""
    rows = store.rows(
        "MATCH (f:File)-[:CONTAINS]->(s:Symbol) WHERE NOT f.generated AND s.name <> '_' AND s.name <> 'init' "
        "RETURN s.name, s.qualified_name ORDER BY s.id"
    )
    return [(name, qualified) for name, qualified in rows if len(name) >= SHORTEST]


def _judge(sources: SearchContext, sampled: Sequence[tuple[str, str]], chance: random.Random) -> None:
    plain = qualified = mistyped = 0
    times: list[float] = []
    for name, whole in sampled:
        plain += _position(_search(sources, name, times), name) == 1
        qualified += _search(sources, whole, times)[0].name == whole
        position = _position(_search(sources, _with_typo(name, chance), times), name)
        mistyped += 0 < position <= FIRST
    number = len(sampled)
    print(f"names: first {plain / number:.1%}, by qualified name {qualified / number:.1%}")
    print(f"with one typo: in the first {FIRST} {mistyped / number:.1%}")
    print(f"names: {_times(times)}")


def _search(sources: SearchContext, text: str, times: list[float]) -> Sequence[Hit]:
    started = time.perf_counter()
    hits = search(sources, SearchRequest(text)).hits
    times.append(time.perf_counter() - started)
    return hits or (Hit("", "", "", 0, 0.0, ""),)


def _position(hits: Sequence[Hit], name: str) -> int:
    """The position, from 1, of the first result of that name; 0 if there is none."""
    for position, hit in enumerate(hits, 1):
        if name in (hit.name.rpartition(".")[2], *(one.name.rpartition(".")[2] for one in hit.symbols)):
            return position
    return 0


def _with_typo(name: str, chance: random.Random) -> str:
    at = chance.randrange(len(name))
    letter = chance.choice(string.ascii_lowercase)
    typos = [name[:at] + name[at + 1 :], name[:at] + name[at] + name[at:], name[:at] + letter + name[at + 1 :]]
    if at + 1 < len(name):
        typos.append(name[:at] + name[at + 1] + name[at] + name[at + 2 :])
    return chance.choice([typo for typo in typos if typo.lower() != name.lower()] or [f"{name}x"])


def _questions(store: Store, chance: random.Random, number: int) -> list[str]:
    """First sentences of comments, without the names they begin with."""
    rows = store.rows("MATCH (s:Symbol) WHERE size(s.doc) > 40 RETURN s.doc ORDER BY s.id")
    sentences = [" ".join(doc.split(". ")[0].split()[1:14]) for (doc,) in rows]
    return chance.sample(sentences, min(number, len(sentences)))


def _time(sources: SearchContext, questions: Sequence[str], name: str) -> None:
    times: list[float] = []
    for question in questions:
        _search(sources, question, times)
    print(f"{name}: {_times(times)}")


def _with_vectors(sources: SearchContext, directory: Path) -> SearchContext:
    embedder = open_embedder()
    file = VectorFile(directory, embedder.name, embedder.dimensions)
    keys = {
        data[at : at + KEY_BYTES] for _, data in sources.index.embedding_keys() for at in range(0, len(data), KEY_BYTES)
    }
    file.keys_path.write_bytes(b"".join(sorted(keys)))
    with file.rows_path.open("wb") as rows:
        for _ in keys:
            rows.write(os.urandom(file.dimensions))
    started = time.perf_counter()
    space = VectorSearch(file, sources.index.embedding_keys())
    print(f"{len(space):,} vectors of {file.dimensions} mapped in {time.perf_counter() - started:.2f} s")

    def meaning(text: str) -> dict[int, Near]:
        return space.nearest(embedder.question(text))

    return replace(sources, meaning=meaning)


def _embed(sources: SearchContext, number: int) -> None:
    embedder = open_embedder()
    texts: list[str] = []
    for file in sources.view.files.values():
        texts += meaning_texts(file.path, sources.index.symbols(file.id))
        if len(texts) >= number:
            break
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.perf_counter()
    for at in range(0, min(number, len(texts)), BATCH):
        embedder.passages(texts[at : min(number, at + BATCH)])
    seconds, made = time.perf_counter() - started, min(number, len(texts))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{made:,} texts embedded in {seconds:.1f} s, {seconds / made * 1000:.1f} ms each; "
        f"peak {after:.0f} MB (before: {before:.0f} MB)"
    )


def _times(times: list[float]) -> str:
    times.sort()
    return f"p50 {times[len(times) // 2] * 1000:.0f} ms, p95 {times[len(times) * 95 // 100] * 1000:.0f} ms"


def _print_sizes(directory: Path) -> None:
    """The size of the index in the cache, by the bytes of its rows."""
    columns = {
        "terms": "length(term) + length(postings)",
        "contents": "length(terms) + length(symbols)",
        "names": "2 * length(name) + length(files)",
        "files": "length(path) + length(digest) + length(package)",
        "texts": "length(name) + length(text)",
        "notes": "length(value)",
    }
    with closing(sqlite3.connect(directory / "cache.db")) as run:
        sizes = {
            name: run.execute(f"SELECT sum({sum}) FROM search_{name}").fetchone()[0] or 0
            for name, sum in columns.items()
        }
    whole = sum(path.stat().st_size for path in directory.iterdir() if path.is_file())
    parts = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items())
    print(f"index {sum(sizes.values()) / 1e6:.1f} MB of a store of {whole / 1e6:.1f} MB: {parts}")


if __name__ == "__main__":
    main()
