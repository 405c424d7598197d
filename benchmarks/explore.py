"""Measures how often one reply of `explore` has the declarations that a reader needs, and what it costs.

    python benchmarks/explore.py QUESTIONS REPOSITORY... [--budget N] [--codegraph PROGRAM] [--verbose]

QUESTIONS is a file of tab-separated values with the columns `id`, `repository`, `question` and `needed_declarations`.
`repository` is the name of the directory of one of the learned REPOSITORIES. In a question, `\\n` and `\\t` stand for a
line break and a tab. A needed declaration is `path:Name` or `path:Type.Method`; several are joined by `|`.

A declaration counts if the reply has its signature, at least eight lines of its body or all of a shorter one, and one
of the lines on which it calls each other needed declaration. A question is right if all its declarations count. Tokens
are characters / 4. Times are processor time of one process that stays, after one question to each repository.

--codegraph asks the same questions to codegraph's `explore`, whose lines are numbered, and applies the same rule.
PROGRAM is the `codegraph` of npm's @colbymchenry/codegraph. Each repository must have been indexed with
`codegraph init`. Its times are not comparable: a process is started for each question.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from golore.graph.database.store import Store
from golore.graph.explore.declarations import Declaration, declarations_in
from golore.graph.explore.explore import BUDGET, Exploration, explore
from golore.graph.queries.edges import outbound
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.symbol_steps import open_steps
from golore.graph.search.search_context import SearchContext
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.services.search_sources import sources_of

BODY_LINES = 8
Shown = dict[str, set[int]]
"""File → lines that a reply has."""


class Question(NamedTuple):
    id: str
    repository: str
    text: str
    needed: tuple[tuple[str, str], ...]


class Result(NamedTuple):
    seen: tuple[bool, ...]
    tokens: float
    seconds: float

    @property
    def is_right(self) -> bool:
        return all(self.seen)


class OpenRepository(NamedTuple):
    root: Path
    store: Store
    sources: SearchContext
    names: NameResolver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--budget", type=int, default=BUDGET, help=f"tokens of a reply ({BUDGET})")
    parser.add_argument("--codegraph", metavar="PROGRAM", help="also ask this codegraph")
    parser.add_argument("--verbose", action="store_true", help="print a line for each question")
    options = parser.parse_args()
    by_name = {path.resolve().name: path.resolve() for path in options.repositories}
    asked = [one for one in questions(options.questions) if one.repository in by_name]
    results: dict[str, list[Result]] = {"golore": [], **({"codegraph": []} if options.codegraph else {})}
    with ExitStack() as stack:
        opened = {name: _opened(stack, by_name[name]) for name in dict.fromkeys(one.repository for one in asked)}
        for name, repository in opened.items():
            _ask(repository, next(one.text for one in asked if one.repository == name), options.budget)
        for one in asked:
            repository = opened[one.repository]
            needed = [_declaration(repository.store, *place) for place in one.needed]
            results["golore"].append(_golore(repository, one, needed, options.budget))
            if options.codegraph:
                results["codegraph"].append(_codegraph(options.codegraph, repository, one, needed))
            if options.verbose:
                print(one.id, *(_verdict(found[-1]) for found in results.values()), sep="\t", flush=True)
    for name, found in results.items():
        _print(name, found)


def questions(path: Path) -> Iterator[Question]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            text = row["question"].replace("\\n", "\n").replace("\\t", "\t")
            needed = tuple(
                (one.partition(":")[0], one.partition(":")[2]) for one in row["needed_declarations"].split("|")
            )
            yield Question(row["id"], row["repository"], text, needed)


def _opened(stack: ExitStack, path: Path) -> OpenRepository:
    repository = find_repository(path)
    store = stack.enter_context(Store.open(repository.store, write=False))
    sources = stack.enter_context(sources_of(repository, store))
    return OpenRepository(repository.root, store, sources, NameResolver(store))


def _ask(repository: OpenRepository, text: str, budget: int) -> Exploration:
    return explore(repository.sources, repository.names, open_steps(repository.store), repository.root, text, budget)


def _golore(repository: OpenRepository, one: Question, needed: list[Declaration], budget: int) -> Result:
    started = time.process_time()
    reply = _ask(repository, one.text, budget)
    seconds = time.process_time() - started
    shown: Shown = {}
    for part in reply.parts:
        shown.setdefault(part.file, set()).update(range(part.start, part.end + 1))
    return Result(_seen(repository.store, needed, shown), len(reply.text) / 4, seconds)


def _codegraph(program: str, repository: OpenRepository, one: Question, needed: list[Declaration]) -> Result:
    environ = os.environ | {"NO_COLOR": "1", "CI": "1", "DO_NOT_TRACK": "1"}
    command = [program, "explore", "-p", str(repository.root), one.text]
    started = time.perf_counter()
    text = subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout
    seconds = time.perf_counter() - started
    return Result(_seen(repository.store, needed, _numbered_lines(text)), len(text) / 4, seconds)


def _numbered_lines(text: str) -> Shown:
    """The lines in codegraph's fenced blocks, each below the name of its file."""
    shown: Shown = {}
    file, is_code = "", False
    for line in text.split("\n"):
        heading = re.match(r"\*\*`([^`]+)`\*\*", line)
        if line.startswith("```"):
            is_code = not is_code
        elif heading and not is_code:
            file = heading[1]
        elif is_code and (number := re.match(r"(\d+)\t", line)):
            shown.setdefault(file, set()).add(int(number[1]))
    return shown


def _declaration(store: Store, file: str, name: str) -> Declaration:
    found = [one for one in declarations_in(store, open_steps(store), file) if one.local == name]
    if not found:
        raise SystemExit(f"{file} declares no {name}.")
    return found[0]


def _seen(store: Store, needed: list[Declaration], shown: Shown) -> tuple[bool, ...]:
    return tuple(_is_seen(store, one, needed, shown.get(one.file, set())) for one in needed)


def _is_seen(store: Store, one: Declaration, needed: list[Declaration], lines: set[int]) -> bool:
    body = range(one.line + 1, one.end_line + 1)
    if one.line not in lines or len(lines.intersection(body)) < min(len(body), BODY_LINES):
        return False
    others = {other.id for other in needed} - {one.id}
    called = [link.sites for link in outbound(store, one.ref, ("CALLS",)) if link.symbol.id in others]
    return all(lines.intersection(sites) for sites in called)


def _verdict(result: Result) -> str:
    answer = f"{'right' if result.is_right else 'wrong'} {sum(result.seen)}/{len(result.seen)}"
    return f"{answer} {result.tokens:.0f} {result.seconds * 1000:.0f} ms"


def _print(name: str, found: list[Result]) -> None:
    right = sum(one.is_right for one in found)
    share = statistics.mean(sum(one.seen) / len(one.seen) for one in found)
    tokens = [one.tokens for one in found]
    times = sorted(one.seconds * 1000 for one in found)
    print(
        f"{name}: {right} of {len(found)} right ({right / len(found):.0%}), {share:.0%} of the declarations, "
        f"{statistics.mean(tokens):.0f} tokens (most {max(tokens):.0f}), "
        f"p50 {statistics.median(times):.0f} ms, p95 {times[int(len(times) * 0.95)]:.0f} ms"
    )


if __name__ == "__main__":
    main()
