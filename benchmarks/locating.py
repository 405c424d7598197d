"""Whether search leads from what a commit says to the files it changes; the part of `usefulness.py` for `--locate`.

The repository is learned and indexed as it was before its newest commits, in a clone whose HEAD is that commit: nothing
of what is asked about can be known. Then each subject is a question, and the `.go` files
that the commit changed, as far as they existed, are the answer. Beside the whole search stand some of its signals by
themselves, and BM25 over whole files in plain Python: the same terms, those of the path counted three times.
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
from golore.graph.search.call_proximity import with_neighbours
from golore.graph.search.prompt_recall import recalled
from golore.graph.search.search import SearchContext, SearchRequest, search
from golore.graph.search.signals import question_of, signals_of
from golore.graph.search.terms import terms
from golore.graph.search.vectors import Near
from golore.graph.search.weights import GROUPS, fused
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import MODEL_NAME, sources_of
from golore.mcp_server.services.vectors import embed
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
    """For which share of the subjects, taken as prompts, something was recalled, and in which share of those a file
    was among it that the commit changed."""

    spoke: float
    right: float


class Located(NamedTuple):
    """Scores by ranking, seconds by what took them."""

    scores: dict[str, Score]
    seconds: dict[str, float]
    prompted: Prompted


def locate(tree: Path, store: Path, tasks: Sequence[Task], *, vectors: bool = False) -> Located:
    """`tree` is checked out and a git repository. With `vectors`, also by vectors alone, and all with them."""
    started = time.perf_counter()
    learn_graph(tree, store_directory=store)
    learned = time.perf_counter()
    finish(tree, store)
    indexed = time.perf_counter()
    paths = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*.go"))]
    scores = {"BM25": judged(tasks, bm25(tree, paths))}
    place = LearnedRepository(tree, store)
    seconds = {"learn": learned - started, "rest": indexed - learned}
    scores |= _searched(place, tasks, seconds)
    if vectors:
        seconds["embed"] = embed(place, open_embedder()).seconds
        (store / MODEL_NAME).write_text(DEFAULT, encoding="utf-8")
        scores |= _searched(place, tasks, seconds)
    return Located(scores, seconds, _prompted(place, tasks))


def _prompted(place: LearnedRepository, tasks: Sequence[Task]) -> Prompted:
    told = [(task, {one.path for one in recalled(str(place.store), str(place.root), task.subject)}) for task in tasks]
    spoke = [(task, paths) for task, paths in told if paths]
    right = sum(1 for task, paths in spoke if not task.files.isdisjoint(paths))
    return Prompted(len(spoke) / len(told), right / len(spoke) if spoke else 0.0)


def _searched(place: LearnedRepository, tasks: Sequence[Task], seconds: dict[str, float]) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    took: list[float] = []
    store = place.store
    with ExitStack() as opened:
        graph = opened.enter_context(Store.open(store, write=False))
        sources = opened.enter_context(sources_of(place, graph))

        def whole(subject: str) -> Sequence[str]:
            begun = time.perf_counter()
            hits = search(sources, SearchRequest(subject, kind="file", limit=FIRST)).hits
            took.append(time.perf_counter() - begun)
            return [hit.file for hit in hits]

        def shown(subject: str) -> Sequence[str]:
            """What somebody sees who asks for nothing in particular: documents, packages and notes take places, too."""
            return [hit.file for hit in search(sources, SearchRequest(subject, limit=FIRST)).hits]

        if sources.meaning is not None:
            scores["vectors"] = judged(tasks, by_meaning(sources, sources.meaning))
            scores["all, with vectors"] = judged(tasks, whole)
        else:
            for name in ("words", "history"):
                scores[name] = judged(tasks, _some(sources, GROUPS[name]))
            scores["words and history"] = judged(tasks, _some(sources, [*GROUPS["words"], *GROUPS["history"]]))
            scores["words and graph"] = judged(tasks, _some(sources, GROUPS["words"], graph))
            scores["all"] = judged(tasks, whole)
            scores["as shown"] = judged(tasks, shown)
    took.sort()
    seconds |= {"p50": took[len(took) // 2], "p95": took[len(took) * 95 // 100]}
    return scores


def _some(sources: SearchContext, only: Iterable[str], graph: Store | None = None) -> Ranking:
    chosen = tuple(only)

    def ranked(subject: str) -> Sequence[str]:
        signals = signals_of(sources.index, sources.view, question_of(subject))
        return _best(sources, with_neighbours(fused(signals, chosen), signals, sources.view, graph))

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


def judged(tasks: Sequence[Task], ranking: Ranking) -> Score:
    recall = mrr = 0.0
    for task in tasks:
        found = ranking(task.subject)[:FIRST]
        recall += len(task.files.intersection(found)) / len(task.files)
        mrr += next((1 / place for place, path in enumerate(found, 1) if path in task.files), 0.0)
    return Score(recall / len(tasks), mrr / len(tasks)) if tasks else Score(0.0, 0.0)


def clone_at(git: Path, commit: str, tree: Path) -> None:
    """An empty clone that shares the history and has the commit as its HEAD."""
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(git), str(tree)], check=True)
    subprocess.run(["git", "-C", str(tree), "update-ref", "--no-deref", "HEAD", commit], check=True)


def tasks_of(git: Path, commits: int, existing: set[str], said: Callable[..., str]) -> list[Task]:
    """The newest commits that changed Go files which existed before them."""
    log_of = said(
        git,
        "log",
        *("--no-merges", "--date-order", "--name-only", "--no-renames", "-z", "--format=%x01%s", "-n", str(commits)),
        "HEAD",
    )
    found: list[Task] = []
    for part in log_of.split("\x01")[1:]:
        subject, *fields = part.split("\0")
        files = frozenset(path for field in fields if (path := field.lstrip("\n")) in existing)
        if files:
            found.append(Task(subject.partition("\n")[0], files))
    return found
