"""Measures documents and history: the first reading, an update without changes, updates after edits, and look-ups.

    python benchmarks/documents.py REPOSITORY [--links N] [--seed N]

REPOSITORY is a learned repository; the documents and history of its store are rebuilt, its files are not touched.
Prints elapsed and CPU seconds for each step, and microseconds for look-ups in the cache. `--links N` also prints N
random links from documents to code, to be checked by a person.
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
from golore.graph.history.recent_commits import create_recent_commits, last_commit_line
from golore.graph.knowledge.documents import create_document_index, lines_about
from golore.learner.checkout.git_activity import blame_of, update_recent_commits
from golore.learner.documents.document_step import update_documents
from golore.mcp_server.services.repository import LearnedRepository, find_repository

ASKED = 300
BLAMED = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--links", type=int, default=0, help="number of random links to print (0)")
    parser.add_argument("--seed", type=int, default=8, help="seed of the random choice (8)")
    options = parser.parse_args()
    repository = find_repository(options.repository)
    random.seed(options.seed)
    _documents(repository)
    if options.links:
        _print_links(repository, options.links)
    _history(repository)


def _timed(name: str, run: Callable[[], object]) -> None:
    clock, cpu = time.perf_counter(), time.process_time()
    answer = run()
    print(f"{name}: {time.perf_counter() - clock:.3f} s, {time.process_time() - cpu:.3f} s of CPU  {answer}")


def _documents(repository: LearnedRepository) -> None:
    root, store = repository.root, repository.store
    _timed("all documents", lambda: update_documents(root, store, whole=True)[:2])
    _timed("nothing changed", lambda: update_documents(root, store)[:2])
    with create_document_index(store) as document_index:
        card_paths = sorted(document_index.card_paths())
        count, links = len(document_index.pages()), document_index.link_count
    files = [path for path in card_paths if path.endswith(".go")][:1]
    with create_document_index(store) as document_index, document_index.transaction():
        document_index.set_appearances(dict.fromkeys(files, "other"), is_all=False)
    _timed(
        "the declarations of a Go file changed",
        lambda: update_documents(root, store, changed=files, is_only_code=True)[:2],
    )
    _timed("only its body edited", lambda: update_documents(root, store, changed=files, is_only_code=True)[:2])
    with Store.open(store, write=False) as opened:
        (nodes,) = next(opened.rows("MATCH (d:Doc) RETURN count(*)"))
    print(f"{count:,} documents, {nodes:,} sections, {links:,} links, {len(card_paths):,} cards described")
    _time_lookups("documents of a card", [lambda path=path: lines_about(store, path) for path in _sample(card_paths)])


def _print_links(repository: LearnedRepository, number: int) -> None:
    with create_document_index(repository.store) as document_index:
        links = sorted(document_index.links(document_index.pages().keys()))
    print(Counter(f"{link.evidence} → {link.label}" for link in links).most_common())
    for link in sorted(random.sample(links, min(number, len(links)))):
        line = (
            (repository.root / link.path).read_text(encoding="utf-8", errors="replace").splitlines()[link.sites[0] - 1]
        )
        print(f"{link.path}:{link.sites[0]} {link.evidence} → {link.label} {link.name} ({link.card_path})")
        print(f"    {line.strip()}")


def _history(repository: LearnedRepository) -> None:
    root, store = repository.root.resolve(), repository.store
    with create_recent_commits(store) as recent:
        recent.replace("", (), (), ())
    _timed("history", lambda: len(update_recent_commits(root, store)))
    _timed("the same HEAD", lambda: len(update_recent_commits(root, store)))
    with create_recent_commits(store) as recent:
        existing = sorted(path for path in recent.newest() if (root / path).is_file())
        _time_lookups(
            "commits of a file", [lambda path=path: recent.commits_of(path, 10) for path in _sample(existing)]
        )
        blamed = random.sample(existing, min(BLAMED, len(existing)))
        for path in blamed:
            blame_of(root, recent, path)
        _time_lookups(
            "authors of its lines, cached", [lambda path=path: blame_of(root, recent, path) for path in blamed]
        )
    _time_lookups("the line on a card", [lambda path=path: last_commit_line(store, path) for path in _sample(existing)])


def _sample(paths: list[str]) -> list[str]:
    return random.sample(paths, min(ASKED, len(paths)))


def _time_lookups(name: str, questions: list[Callable[[], object]]) -> None:
    times: list[float] = []
    for question in questions:
        started = time.perf_counter()
        question()
        times.append((time.perf_counter() - started) * 1e6)
    if times:
        print(f"{name}: median {statistics.median(times):,.0f} µs, worst {max(times):,.0f} µs of {len(times)}")


if __name__ == "__main__":
    main()
