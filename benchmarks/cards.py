"""How long it takes to make all cards of a learned repository anew, into a deck of their own.

    python benchmarks/cards.py REPO [--runs N]

REPO is a learned repository; its own deck is left alone. Prints seconds by the clock and of this process's processor
time, how much memory was needed, and a digest of everything the deck says, by which two versions can be compared: it is
the same for every run, whatever the order of sets.
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
    parser.add_argument("--runs", type=int, default=3, help="how often (3)")
    given = parser.parse_args()
    place = find_repository(given.repository)
    head = head_commit(place.root)
    begun = time.perf_counter()
    if head:
        read_history(place.root, head)  # remembered, so that git's time is not measured
    print(f"history read in {time.perf_counter() - begun:.1f} s")
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory() as directory:
            print(_run(place, head, Path(directory)))
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")


def _run(place: LearnedRepository, head: str, directory: Path) -> str:
    with Store.open(place.store, write=False) as store, closing(create_card_store(directory)) as card_store:
        begun, worked = time.perf_counter(), time.process_time()
        dealt = build_cards(
            store, card_store, lambda: read_history(place.root, head) if head else None, head, whole=True
        )
        taken, worked = time.perf_counter() - begun, time.process_time() - worked
    return f"{dealt.cards:,} cards in {taken:.2f} s, {worked:.2f} s of processor time, {_digest(directory)}"


def _digest(directory: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    with closing(sqlite3.connect(directory / "cache.db")) as connection:
        for table, order in TABLES.items():
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order}"):
                digest.update(repr(row).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
