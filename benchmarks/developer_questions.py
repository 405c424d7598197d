"""Measures how often `search` answers a developer's question in the first place and in the first three.

    python benchmarks/developer_questions.py REPOSITORY... [--questions FILE] [--part tuned|held|all] [--verbose]

FILE is a file of tab-separated values with the columns `id`, `repository`, `kind`, `question` and `expected`.
`repository` is the name of the directory of one of the learned REPOSITORIES. An expected answer is `path:Name` or
`path:Type.Method`; several, of which any will do, are joined by `|`. The questions were written from the code, with
grep, before search was changed for any of them. Every third one is held out: `--part tuned`, the default, leaves these
out, so that changes are not fitted to them.

A result is right if its file is that of an expected answer. `declaration` counts the questions whose right result, in
the first three, also names the declaration. Times are processor time of one process that stays, after one question
to each repository.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from golore.graph.database.store import Store
from golore.graph.search.results.hits import Hit, SearchRequest
from golore.graph.search.search import search
from golore.graph.search.search_context import SearchContext
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.services.search_sources import sources_of

QUESTIONS = Path(__file__).parent / "questions_developers.tsv"
FIRST = 3
HELD = 3
"""One question in so many is held out."""


class Question(NamedTuple):
    id: str
    repository: str
    kind: str
    text: str
    expected: tuple[tuple[str, str], ...]


class Result(NamedTuple):
    """`place` of the first right result, from 1; 0 if none is in the list."""

    question: Question
    place: int
    has_declaration: bool
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--part", choices=("tuned", "held", "all"), default="tuned")
    parser.add_argument("--verbose", action="store_true", help="print the questions that were not answered first")
    options = parser.parse_args()
    by_name = {path.resolve().name: path.resolve() for path in options.repositories}
    asked = [one for one in questions(options.questions, options.part) if one.repository in by_name]
    results: list[Result] = []
    with ExitStack() as stack:
        opened = {name: _opened(stack, by_name[name]) for name in dict.fromkeys(one.repository for one in asked)}
        for sources in opened.values():
            search(sources, SearchRequest("warm up"))
        for one in asked:
            result, hits = _asked(opened[one.repository], one)
            results.append(result)
            if options.verbose and result.place != 1:
                print(f"{one.id}\t{one.kind}\t{one.text}\tplace {result.place}\t{_first_lines(hits)}")
    for title, kind in (("repository", "repository"), ("kind", "kind")):
        for name in dict.fromkeys(getattr(result.question, kind) for result in results):
            _print(f"{title} {name}", [result for result in results if getattr(result.question, kind) == name])
    _print("all", results)


def questions(path: Path, part: str) -> Iterator[Question]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, row in enumerate(rows, 1):
            if part == "all" or (number % HELD == 0) == (part == "held"):
                expected = tuple((one.partition(":")[0], one.partition(":")[2]) for one in row["expected"].split("|"))
                yield Question(row["id"], row["repository"], row["kind"], row["question"], expected)


def _opened(stack: ExitStack, path: Path) -> SearchContext:
    repository = find_repository(path)
    store = stack.enter_context(Store.open(repository.store, write=False))
    return stack.enter_context(sources_of(repository, store))


def _asked(sources: SearchContext, one: Question) -> tuple[Result, Sequence[Hit]]:
    started = time.process_time()
    hits = search(sources, SearchRequest(one.text)).hits
    seconds = time.process_time() - started
    files = {file for file, _ in one.expected}
    place = next((number for number, hit in enumerate(hits, 1) if hit.file in files), 0)
    return Result(one, place, any(_names(hit, one) for hit in hits[:FIRST]), seconds), hits


def _names(hit: Hit, one: Question) -> bool:
    shown = {hit.name, *(inner.name for inner in hit.symbols)}
    return any(
        file == hit.file and any(name.endswith((f".{local}", f"/{local}")) for name in shown)
        for file, local in one.expected
    )


def _first_lines(hits: Sequence[Hit]) -> str:
    return ", ".join(f"{hit.kind} {hit.name if hit.kind in ('doc', 'package') else hit.file}" for hit in hits[:FIRST])


def _print(title: str, results: Sequence[Result]) -> None:
    number = len(results)
    first = sum(result.place == 1 for result in results)
    three = sum(1 <= result.place <= FIRST for result in results)
    named = sum(result.has_declaration for result in results)
    times = sorted(result.seconds * 1000 for result in results)
    print(
        f"{title}: {number} questions, first place {first / number:.0%}, first {FIRST} {three / number:.0%}, "
        f"declaration {named / number:.0%}, p50 {statistics.median(times):.0f} ms, "
        f"p95 {times[int(number * 0.95)]:.0f} ms"
    )


if __name__ == "__main__":
    main()
