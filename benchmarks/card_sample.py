"""Prints a text for somebody who judges cards: the rubric (cards_rubric.md), then each card with facts to judge it by.

    python benchmarks/card_sample.py REPO… [--seed N] [--each N] > cards.txt

Each REPO is a learned repository. Half of its files are drawn from the largest ones, test files included as they come.
The facts are counted from the edges of the graph by queries of this script, not by the code that makes cards. The last
lines say which share of the used declarations the cards name.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from typing import Final, NamedTuple

from golore.graph.cards.card_store import open_card_store
from golore.graph.database.store import Store
from golore.graph.history.recent_commits import open_recent_commits
from golore.graph.model.test_names import is_test_name
from golore.mcp_server.services.repository import find_repository

RUBRIC: Final = Path(__file__).with_name("cards_rubric.md")
LARGE_SHARE: Final = 0.1
FEW_FILES: Final = 100
SHOWN: Final = 40
WORD: Final = re.compile(r"\w+")
USES: Final = "CALLS|REFERENCES|EMBEDS"


class Declaration(NamedTuple):
    local: str
    kind: str
    users: int
    files: int
    in_tests: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--each", type=int, default=10, help="files of each repository (10)")
    options = parser.parse_args()
    print(RUBRIC.read_text(encoding="utf-8"))
    print(f"Seed {options.seed}. Write the score and what cost points on the last line of each card.")
    shares: list[float] = []
    number = 0
    for repository in options.repositories:
        found = find_repository(repository)
        with Store.open(found.store, write=False) as store:
            for path in draw(store, random.Random(f"{options.seed} {repository.name}"), options.each):
                number += 1
                shares += print_card(found.store, store, f"{number}. {repository.resolve().name}", path)
    if shares:
        print(f"used declarations named on the card: median {median(shares):.0%}, mean {mean(shares):.0%}")


def draw(store: Store, chance: random.Random, number: int) -> list[str]:
    """Half of the files from the largest ones, the others from the rest."""
    ordered = [path for path, _ in sorted(store.rows("MATCH (f:File) RETURN f.id, f.lines"), key=lambda row: -row[1])]
    large = len(ordered) // 2 if len(ordered) < FEW_FILES else int(len(ordered) * LARGE_SHARE)
    half = number // 2
    return [*chance.sample(sorted(ordered[:large]), half), *chance.sample(sorted(ordered[large:]), number - half)]


def print_card(directory: Path, store: Store, repository: str, path: str) -> list[float]:
    (lines, generated), *_ = store.rows("MATCH (f:File {id: $id}) RETURN f.lines, f.generated", {"id": path})
    with open_card_store(directory, write=False) as card_store:  # pyright: ignore[reportOptionalContextManager]
        card = card_store.card(path, include_empty=True)
    text = card.text if card is not None else ""
    declarations = declarations_of(store, path)
    used = [one for one in declarations if one.users]
    words = set(WORD.findall(text))
    named = [one for one in used if one.local.rpartition(".")[2] in words]
    print(f"{'=' * 100}\n{repository}: {path}, {lines:,} lines{', generated' if generated else ''}")
    print(f"--- card, {len(text):,} characters\n{text or '(none)'}")
    print(f"--- facts: {len(declarations)} declarations, {len(used)} used in other files, {len(named)} of them named")
    for one in sorted(used, key=lambda one: (-one.files, -one.users, one.local))[:SHOWN]:
        print(f"  {one.kind} {one.local}: {one.users} users in {one.files} files, {one.in_tests} users in tests")
    if missing := [one.local for one in used if one not in named]:
        print(f"  not named: {', '.join(missing[:SHOWN])}")
    print_tests(store, path)
    print_commits(directory, path)
    print("--- score:")
    return [len(named) / len(used)] if used else []


def declarations_of(store: Store, path: str) -> list[Declaration]:
    statement = (
        "MATCH (b:Symbol) WHERE b.file = $file AND b.name <> '_' "
        f"OPTIONAL MATCH (b)<-[:{USES}]-(a:Symbol) WHERE a.file <> $file "
        "RETURN b.id, b.kind, b.qualified_name, b.package, a.id, a.file"
    )
    users: defaultdict[tuple[str, str, str], set[tuple[str, str]]] = defaultdict(set)
    for id, kind, name, package, user, file in store.rows(statement, {"file": path}):
        found = users[id, kind, name.removeprefix(package).lstrip(".")]
        if user:
            found.add((user, file))
    return [
        Declaration(
            name,
            kind,
            len(found),
            len({file for _, file in found}),
            sum(file.endswith("_test.go") for _, file in found),
        )
        for (_, kind, name), found in users.items()
    ]


def print_tests(store: Store, path: str) -> None:
    columns = "a.id, a.file, a.name, a.kind"
    in_tests = f"<-[:{USES}]-(a:Symbol) WHERE a.file ENDS WITH '_test.go'"
    direct = f"MATCH (b:Symbol){in_tests} AND b.file = $file AND a.file <> $file RETURN DISTINCT {columns}"
    found: set[tuple[str, str, str, str]] = {(id, *row) for id, *row in store.rows(direct, {"file": path})}
    print(f"  tests that use it directly: {_tests_and_files(found)}")
    users = f"MATCH (b:Symbol {{id: $id}}){in_tests} RETURN DISTINCT {columns}"
    pending: set[tuple[str, str, str, str]] = set() if path.endswith("_test.go") else set(found)
    while pending:
        further: set[tuple[str, str, str, str]] = {
            (id, *row) for helper in pending for id, *row in store.rows(users, {"id": helper[0]})
        }
        pending = further - found
        found |= pending
    print(f"  and those that use helpers of test files that use it: {_tests_and_files(found)}")
    statement = "MATCH (a:Symbol)-[:IMPLEMENTS]->(b:Symbol) WHERE b.file = $file RETURN b.qualified_name, count(*)"
    for name, number in store.rows(statement, {"file": path}):
        print(f"  {name} is satisfied by {number} types")


def _tests_and_files(found: set[tuple[str, str, str, str]]) -> str:
    files = [file for _, file, name, kind in found if kind == "func" and is_test_name(name) and name != "TestMain"]
    return f"{len(files)} in {len(set(files))} files"


def print_commits(directory: Path, path: str) -> None:
    recent = open_recent_commits(directory, write=False)
    if recent is not None:
        with recent:
            for commit in recent.commits_of(path, 3):
                print(f"  commit of {commit.files} files: {commit.subject[:80]}")


if __name__ == "__main__":
    main()
