"""Measures how long it takes to build all cards of a learned repository, into a card store of their own.

    python benchmarks/cards.py REPO [--runs N]

REPO is a learned repository; its own cards are not touched. Prints elapsed seconds, CPU seconds of this process, peak
memory, and a digest of the contents of the card store, to compare two versions: it is the same for every run, whatever
the order of sets.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from golore.graph.cards.card_builder import build_cards
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.store import Store
from golore.learner.checkout.git_log import head_commit, read_history
from golore.mcp_server.services.repository import LearnedRepository, find_repository

TABLES = {"deck_cards": "path", "deck_symbols": "path, line, qualified_name, text"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--runs", type=int, default=3, help="number of runs (3)")
    options = parser.parse_args()
    repository = find_repository(options.repository)
    head = head_commit(repository.root)
    started = time.perf_counter()
    if head:
        read_history(repository.root, head)  # cached, so that git's time is not measured
    print(f"history read in {time.perf_counter() - started:.1f} s")
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as directory:
            print(_run(repository, head, Path(directory)))
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB peak")


def _run(repository: LearnedRepository, head: str, directory: Path) -> str:
    with Store.open(repository.store, write=False) as store, closing(create_card_store(directory)) as card_store:
        started, cpu = time.perf_counter(), time.process_time()
        built = build_cards(
            store, card_store, lambda: read_history(repository.root, head) if head else None, head, whole=True
        )
        taken, cpu = time.perf_counter() - started, time.process_time() - cpu
    return f"{built.cards:,} cards in {taken:.2f} s, {cpu:.2f} s of CPU, {_digest(directory)}"


def _digest(directory: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    with closing(sqlite3.connect(directory / "cache.db")) as connection:
        for table, order in TABLES.items():
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order}"):
                digest.update(repr(row).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
