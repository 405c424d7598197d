"""How long documents and history take: read the first time, with nothing changed, after edits, and looked up.

    python benchmarks/documents.py REPOSITORY [--links N] [--seed N]

REPOSITORY is a learned repository; its store's documents and history are made anew, its files are not touched. Prints
seconds of the clock and of the processor for each step, and microseconds for look-ups in the cache. With `--links`,
also so many links from a document to code, drawn at random, to be checked by a person.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.history.recent_commits import create_recent_commits, line_about
from golore.graph.knowledge.documents import create_document_index, lines_about
from golore.learner.checkout.git_activity import blame_of, update_recent_commits
from golore.learner.documents.document_step import update_documents
from golore.mcp_server.services.repository import LearnedRepository, find_repository

ASKED = 300
BLAMED = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--links", type=int, default=0, help="how many links to draw (0)")
    parser.add_argument("--seed", type=int, default=8, help="for the drawing (8)")
    given = parser.parse_args()
    place = find_repository(given.repository)
    random.seed(given.seed)
    _documents(place)
    if given.links:
        _drawn(place, given.links)
    _history(place)


def _timed(name: str, run: Callable[[], object]) -> None:
    clock, processor = time.perf_counter(), time.process_time()
    answer = run()
    print(f"{name}: {time.perf_counter() - clock:.3f} s, {time.process_time() - processor:.3f} s of CPU  {answer}")


def _documents(place: LearnedRepository) -> None:
    root, store = place.root, place.store
    _timed("all documents", lambda: update_documents(root, store, whole=True)[:2])
    _timed("nothing changed", lambda: update_documents(root, store)[:2])
    with create_document_index(store) as document_index:
        places = sorted(document_index.places())
        count, sections = len(document_index.pages()), document_index.link_count
    files = [path for path in places if path.endswith(".go")][:1]
    with create_document_index(store) as document_index, document_index.transaction():
        document_index.set_appearances(dict.fromkeys(files, "other"), is_all=False)
    _timed(
        "a Go file that looks other than before",
        lambda: update_documents(root, store, changed=files, is_about_code=True)[:2],
    )
    _timed("its body edited", lambda: update_documents(root, store, changed=files, is_about_code=True)[:2])
    with Store.open(store, write=False) as opened:
        (nodes,) = next(opened.rows("MATCH (d:Doc) RETURN count(*)"))
    print(f"{count:,} documents, {nodes:,} sections, {sections:,} links, {len(places):,} places described")
    _asked("documents of a place", [lambda path=path: lines_about(store, path) for path in _sample(places)])


def _drawn(place: LearnedRepository, number: int) -> None:
    with create_document_index(place.store) as document_index:
        links = sorted(document_index.links(document_index.pages().keys()))
    print(Counter(f"{link.evidence} → {link.label}" for link in links).most_common())
    for link in sorted(random.sample(links, min(number, len(links)))):
        line = (place.root / link.path).read_text(encoding="utf-8", errors="replace").splitlines()[link.sites[0] - 1]
        print(f"{link.path}:{link.sites[0]} {link.evidence} → {link.label} {link.name} ({link.card_path})")
        print(f"    {line.strip()}")


def _history(place: LearnedRepository) -> None:
    root, store = place.root.resolve(), place.store
    with create_recent_commits(store) as recent:
        recent.replace("", (), (), ())
    _timed("history", lambda: len(update_recent_commits(root, store)))
    _timed("the same HEAD", lambda: len(update_recent_commits(root, store)))
    with create_recent_commits(store) as recent:
        there = sorted(path for path in recent.newest() if (root / path).is_file())
        _asked("commits of a file", [lambda path=path: recent.commits_of(path, 10) for path in _sample(there)])
        blamed = random.sample(there, min(BLAMED, len(there)))
        for path in blamed:
            blame_of(root, recent, path)
        _asked("who wrote its lines, kept", [lambda path=path: blame_of(root, recent, path) for path in blamed])
    _asked("the line on a card", [lambda path=path: line_about(store, path) for path in _sample(there)])


def _sample(places: list[str]) -> list[str]:
    return random.sample(places, min(ASKED, len(places)))


def _asked(name: str, questions: list[Callable[[], object]]) -> None:
    took: list[float] = []
    for question in questions:
        begun = time.perf_counter()
        question()
        took.append((time.perf_counter() - begun) * 1e6)
    if took:
        print(f"{name}: median {statistics.median(took):,.0f} µs, worst {max(took):,.0f} µs of {len(took)}")


if __name__ == "__main__":
    main()
