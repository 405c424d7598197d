"""Measures whether search finds the files that a commit changed from its subject: `usefulness.py --locate`.

The repository is learned and indexed as it was before its newest commits, in a clone whose HEAD is that older commit:
nothing is known about the commits in question. Each subject is a question; the answer is the existing `.go` files
that the commit changed. Besides the whole search, some of its signals are measured alone, and BM25 over whole files in
plain Python, with the same terms, those of the path counted three times.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from math import log
from pathlib import Path
from typing import NamedTuple

from golore.graph.database.store import Store
from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.graph.search.call_proximity import with_neighbours
from golore.graph.search.prompt_recall import recalled
from golore.graph.search.results.hits import SearchRequest
from golore.graph.search.search import search
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import question_of, signals_of
from golore.graph.search.terms import terms
from golore.graph.search.vectors import Near
from golore.graph.search.weights import GROUPS, weighted_sums
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.knowledge.vectors import embed
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import sources_of
from golore.summarizers.models.embeddings import DEFAULT, open_embedder

FIRST = 10
Ranking = Callable[[str], Sequence[str]]


class Task(NamedTuple):
    subject: str
    files: frozenset[str]


class Score(NamedTuple):
    recall: float
    mrr: float


class Prompted(NamedTuple):
    """The share of subjects, used as prompts, for which files were recalled, and the share of those in which a changed
    file was among them."""

    spoke: float
    right: float


class Located(NamedTuple):
    """Scores by ranking, and seconds by step."""

    scores: dict[str, Score]
    seconds: dict[str, float]
    prompted: Prompted


def locate(tree: Path, store: Path, tasks: Sequence[Task], *, vectors: bool = False) -> Located:
    """Learn `tree`, a git repository that is checked out, and score the rankings; with `vectors`, also vectors alone
    and the whole search with vectors."""
    started = time.perf_counter()
    learn_graph(tree, store_directory=store)
    learned = time.perf_counter()
    finish(tree, store)
    indexed = time.perf_counter()
    paths = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*.go"))]
    scores = {"BM25": score(tasks, bm25(tree, paths))}
    repository = LearnedRepository(tree, store)
    seconds = {"learn": learned - started, "rest": indexed - learned}
    scores |= _search_scores(repository, tasks, seconds)
    if vectors:
        seconds["embed"] = embed(repository, open_embedder()).seconds
        (store / VECTOR_MODEL_NAME).write_text(DEFAULT, encoding="utf-8")
        scores |= _search_scores(repository, tasks, seconds)
    return Located(scores, seconds, _prompted(repository, tasks))


def _prompted(repository: LearnedRepository, tasks: Sequence[Task]) -> Prompted:
    recalls = [
        (task, {one.path for one in recalled(str(repository.store), str(repository.root), task.subject)})
        for task in tasks
    ]
    spoke = [(task, paths) for task, paths in recalls if paths]
    right = sum(1 for task, paths in spoke if not task.files.isdisjoint(paths))
    return Prompted(len(spoke) / len(recalls), right / len(spoke) if spoke else 0.0)


def _search_scores(repository: LearnedRepository, tasks: Sequence[Task], seconds: dict[str, float]) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    times: list[float] = []
    store = repository.store
    with ExitStack() as opened:
        graph = opened.enter_context(Store.open(store, write=False))
        sources = opened.enter_context(sources_of(repository, graph))

        def whole(subject: str) -> Sequence[str]:
            started = time.perf_counter()
            hits = search(sources, SearchRequest(subject, kind="file", limit=FIRST)).hits
            times.append(time.perf_counter() - started)
            return [hit.file for hit in hits]

        def shown(subject: str) -> Sequence[str]:
            """A search for all kinds: documents, packages and notes take up results, too."""
            return [hit.file for hit in search(sources, SearchRequest(subject, limit=FIRST)).hits]

        if sources.meaning is not None:
            scores["vectors"] = score(tasks, by_meaning(sources, sources.meaning))
            scores["all, with vectors"] = score(tasks, whole)
        else:
            for name in ("words", "history"):
                scores[name] = score(tasks, ranking_of(sources, GROUPS[name]))
            scores["words and history"] = score(tasks, ranking_of(sources, [*GROUPS["words"], *GROUPS["history"]]))
            scores["words and graph"] = score(tasks, ranking_of(sources, GROUPS["words"], graph))
            scores["all"] = score(tasks, whole)
            scores["as shown"] = score(tasks, shown)
    times.sort()
    seconds |= {"p50": times[len(times) // 2], "p95": times[len(times) * 95 // 100]}
    return scores


def ranking_of(sources: SearchContext, only: Iterable[str], graph: Store | None = None) -> Ranking:
    chosen = tuple(only)

    def ranked(subject: str) -> Sequence[str]:
        signals = signals_of(sources.index, sources.view, question_of(subject))
        return _best(sources, with_neighbours(weighted_sums(signals, chosen), signals, sources.view, graph))

    return ranked


def by_meaning(sources: SearchContext, meaning: Callable[[str], Mapping[int, Near]]) -> Ranking:
    return lambda text: _best(sources, {file: near.value for file, near in meaning(text).items()})


def _best(sources: SearchContext, totals: Mapping[int, float]) -> Sequence[str]:
    files = sources.view.files
    return [files[id].path for id in sorted(totals, key=lambda id: (-totals[id], files[id].path))[:FIRST]]


def bm25(tree: Path, paths: Sequence[str]) -> Ranking:
    """Okapi BM25, k1 1.2 and b 0.75."""
    postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    lengths: list[int] = []
    for number, path in enumerate(paths):
        counts = Counter(terms((tree / path).read_text(encoding="utf-8", errors="replace")))
        for term in terms(path.removesuffix(".go")):
            counts[term] += 3
        lengths.append(sum(counts.values()))
        for term, times in counts.items():
            postings[term].append((number, times))
    average = sum(lengths) / max(1, len(lengths))

    def ranked(subject: str) -> Sequence[str]:
        scores: defaultdict[int, float] = defaultdict(float)
        for term in question_of(subject).terms:
            found = postings.get(term, ())
            weight = log(1 + (len(paths) - len(found) + 0.5) / (len(found) + 0.5))
            for number, times in found:
                scores[number] += weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[number] / average))
        best = sorted(scores, key=lambda number: (-scores[number], paths[number]))[:FIRST]
        return [paths[number] for number in best]

    return ranked


def score(tasks: Sequence[Task], ranking: Ranking) -> Score:
    recall = mrr = 0.0
    for task in tasks:
        found = ranking(task.subject)[:FIRST]
        recall += len(task.files.intersection(found)) / len(task.files)
        mrr += next((1 / position for position, path in enumerate(found, 1) if path in task.files), 0.0)
    return Score(recall / len(tasks), mrr / len(tasks)) if tasks else Score(0.0, 0.0)


def clone_at(git: Path, commit: str, tree: Path) -> None:
    """Create a clone without a checkout that shares the history and has the commit as its HEAD."""
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(git), str(tree)], check=True)
    subprocess.run(["git", "-C", str(tree), "update-ref", "--no-deref", "HEAD", commit], check=True)


def tasks_of(git: Path, commits: int, existing: set[str], run_git: Callable[..., str]) -> list[Task]:
    """Tasks from the newest commits, as far as they changed Go files that existed before."""
    output = run_git(
        git,
        "log",
        *("--no-merges", "--date-order", "--name-only", "--no-renames", "-z", "--format=%x01%s", "-n", str(commits)),
        "HEAD",
    )
    found: list[Task] = []
    for part in output.split("\x01")[1:]:
        subject, *fields = part.split("\0")
        files = frozenset(path for field in fields if (path := field.lstrip("\n")) in existing)
        if files:
            found.append(Task(subject.partition("\n")[0], files))
    return found
