"""Compares golore's search with SQLite's FTS5 and, if its package is importable, with tantivy: time, size, updates and
quality.

    python benchmarks/word_indexes.py PATH [--commits N]     a learned repository
    python benchmarks/word_indexes.py --library              Go's standard library, for `paraphrases.tsv`

All index the same files. The engines get each file twice: as it is, with their own tokenizer, and as golore's terms,
which is what they would have to index to find as much. Both begin with the path, three times, as it counts in golore.
Times are seconds of CPU in one process, from texts in memory to an index on disk; an update replaces the text of one
file. For golore, pyarrow is imported before, as it is in a learn.

Quality is that of the files in the first ten results. The engines rank with their own BM25, any of the question's terms
matching. golore is measured twice: its whole search, which also uses names, history, calls and a closer look at the
best files, and the signals of its word index alone. Questions are the subjects of the newest N commits, asked of the
repository as it was before them (see `locating`), the questions of developers about this repository, for which any
expected file is a full answer, and paraphrases (see `meaning`). All engines get the same questions without the same
stop words. The time of a question is CPU, at the median.
"""

from __future__ import annotations

import argparse
import importlib
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import developer_questions
from golore.graph.database.arrow import import_arrow
from golore.graph.database.store import Store
from golore.graph.files.store_path import CACHE_NAME, store_of
from golore.graph.search.index import open_index
from golore.graph.search.index_entries import FileText, IndexedSymbol, terms
from golore.graph.search.index_parts import PartBuilder, numbered
from golore.graph.search.past_commits import without_numbers
from golore.graph.search.signals import question_of
from golore.graph.search.term_counts import term_counts
from golore.graph.search.terms import STOP_WORDS, words
from golore.graph.search.weights import GROUPS
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import sources_of
from locating import FIRST, Ranking, Score, Task, clone_at, ranking_of, score, tasks_of
from meaning import copy_library, paraphrases, search_ranking
from usefulness import check_out, run_git

UPDATES = 20
PATH_TIMES = 3
Asked = Callable[[str], Sequence[str]]
"""The words of a question, as an index has them."""


class Measured(NamedTuple):
    name: str
    seconds: float
    size: int
    update: float


class Engine(NamedTuple):
    """An index that can be built once, updated, and asked."""

    build: Callable[[], None]
    update: Callable[[int], None]
    ranked: Ranking


class Form(NamedTuple):
    """What an engine gets: texts of files by path, and the words of a question."""

    name: str
    texts: Mapping[str, str]
    asked: Asked


def measured(name: str, directory: Path, build: Callable[[], None], update: Callable[[int], None]) -> Measured:
    began = time.process_time()
    build()
    seconds = time.process_time() - began
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    updates: list[float] = []
    for number in range(UPDATES):
        began = time.process_time()
        update(number)
        updates.append(time.process_time() - began)
    return Measured(name, seconds, size, statistics.median(updates))


def ours(texts: dict[str, bytes], symbols: dict[str, tuple[IndexedSymbol, ...]], directory: Path) -> Measured:
    index = open_index(directory, write=True)
    assert index is not None
    import_arrow("pyarrow.compute")

    def entry(path: str, data: bytes) -> FileText:
        return FileText(path, "", "", "", False, False, symbols[path], term_counts(data))

    def build() -> None:
        builder = PartBuilder(numbered(list(texts)))
        for path, data in texts.items():
            builder.add(entry(path, data))
        with index.writing():
            index.replace_all(builder.parts())
        with closing(sqlite3.connect(directory / CACHE_NAME)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def update(number: int) -> None:
        path = sorted(texts)[number]
        with index.writing():
            index.replace([entry(path, texts[path] + b" another word")], ())

    with index:
        return measured("golore, with names and declarations", directory, build, update)


@contextmanager
def fts5(form: Form, directory: Path) -> Generator[Engine]:
    paths, texts = list(form.texts), list(form.texts.values())
    with closing(sqlite3.connect(directory / "fts.db", isolation_level=None)) as connection:
        run = connection.execute
        run("PRAGMA synchronous = OFF")
        run("PRAGMA journal_mode = WAL")
        run("CREATE VIRTUAL TABLE words USING fts5(text, content='')")

        def build() -> None:
            run("BEGIN")
            connection.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", enumerate(texts, 1))
            run("COMMIT")
            run("PRAGMA wal_checkpoint(TRUNCATE)")

        def update(number: int) -> None:
            text = texts[number]
            run("BEGIN")
            run("INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)", (number + 1, text))
            run("INSERT INTO words(rowid, text) VALUES (?, ?)", (number + 1, f"{text} another word"))
            run("COMMIT")

        def ranked(question: str) -> Sequence[str]:
            match = " OR ".join(f'"{word}"' for word in form.asked(question))
            statement = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?"
            found: list[tuple[int]] = run(statement, (match, FIRST)).fetchall() if match else []
            return [paths[id - 1] for (id,) in found]

        yield Engine(build, update, ranked)


@contextmanager
def tantivy(form: Form, directory: Path) -> Generator[Engine]:
    module: Any = importlib.import_module("tantivy")
    fields = module.SchemaBuilder().add_text_field("path", stored=True, tokenizer_name="raw").add_text_field("text")
    schema = fields.build()
    index = module.Index(schema, path=str(directory))
    paths = sorted(form.texts)

    def build() -> None:
        writer = index.writer()
        for path, text in form.texts.items():
            writer.add_document(module.Document(path=path, text=text))
        writer.commit()
        writer.wait_merging_threads()

    def update(number: int) -> None:
        path = paths[number]
        writer = index.writer()
        writer.delete_documents_by_term("path", path)
        writer.add_document(module.Document(path=path, text=f"{form.texts[path]} another word"))
        writer.commit()
        writer.wait_merging_threads()

    def ranked(question: str) -> Sequence[str]:
        index.reload()
        searcher = index.searcher()
        each = [module.Query.term_query(schema, "text", word) for word in form.asked(question)]
        query = module.Query.boolean_query([(module.Occur.Should, one) for one in each])
        return [searcher.doc(address)["path"][0] for _, address in searcher.search(query, FIRST).hits]

    yield Engine(build, update, ranked)


ENGINES = {"FTS5": fts5, "tantivy": tantivy}


def available() -> list[str]:
    """The engines that can be used here."""
    try:
        importlib.import_module("tantivy")
    except ImportError:
        return ["FTS5"]
    return list(ENGINES)


def forms(texts: Mapping[str, bytes]) -> list[Form]:
    plain = {
        path: f"{f'{path} ' * PATH_TIMES}{data.decode('utf-8', 'replace')}" for path, data in sorted(texts.items())
    }
    return [
        Form("its own tokenizer", plain, plain_words),
        Form("golore's terms", split_texts(texts), question_terms),
    ]


def split_texts(texts: Mapping[str, bytes]) -> dict[str, str]:
    return {
        path: " ".join([*terms(path.removesuffix(".go")) * PATH_TIMES, *terms(data.decode("utf-8", "replace"))])
        for path, data in sorted(texts.items())
    }


def question_terms(question: str) -> Sequence[str]:
    return question_of(question).terms


def plain_words(question: str) -> Sequence[str]:
    """The words of a question that `question_of` takes the terms of."""
    found = [word.lower() for word in words(without_numbers(question))]
    return tuple(dict.fromkeys([word for word in found if word not in STOP_WORDS] or found))


def print_costs(root: Path) -> None:
    """Print time, size and update cost of the index of a learned repository."""
    index = open_index(store_of(root))
    if index is None:
        sys.exit(f"{root} has no search index. Run `golore learn` first.")
    with index:
        files = {file.path: tuple(index.symbols(file.id)) for file in index.files()}
    texts = {path: (root / path).read_bytes() for path in files}
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="golore-benchmark-") as place:
        directories = (Path(tempfile.mkdtemp(dir=place)) for _ in iter(int, 1))
        found.append(ours(texts, files, next(directories)))
        for name in available():
            for form in forms(texts):
                directory = next(directories)
                with ENGINES[name](form, directory) as engine:
                    found.append(measured(f"{name}, {form.name}", directory, engine.build, engine.update))
    began = time.process_time()
    split_texts(texts)
    seconds = time.process_time() - began
    print(f"{root.name}: {len(texts):,} files, {sum(map(len, texts.values())) / 1e6:.1f} MB")
    print(f"splitting into golore's terms, which the engines' figures leave out: {seconds:.2f} s")
    for one in found:
        print(f"{one.name:38}{one.seconds:7.2f} s {one.size / 1e6:7.1f} MB, update {one.update * 1000:7.1f} ms")


Judge = Callable[[Sequence[Task], Ranking], Score]


def answered(tasks: Sequence[Task], ranking: Ranking) -> Score:
    """Like `locating.score`, for questions of which any expected file is a full answer."""
    places = [
        next((number for number, path in enumerate(ranking(task.subject)[:FIRST], 1) if path in task.files), 0)
        for task in tasks
    ]
    return Score(sum(map(bool, places)) / len(places), sum(1 / place for place in places if place) / len(places))


def print_quality(repository: LearnedRepository, title: str, tasks: Sequence[Task], judge: Judge) -> None:
    """Print how well each engine and golore answer these tasks."""
    print(f"{title}: {len(tasks)} questions")
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(repository.store, write=False))
        sources = stack.enter_context(sources_of(repository, store))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="golore-benchmark-")))
        texts = {file.path: (repository.root / file.path).read_bytes() for file in sources.view.files.values()}
        rankings: dict[str, Ranking] = {
            "golore, whole search": search_ranking(sources),
            "golore, its word signals": ranking_of(sources, GROUPS["words"]),
        }
        for name in available():
            for form in forms(texts):
                directory = Path(tempfile.mkdtemp(dir=place))
                engine = stack.enter_context(ENGINES[name](form, directory))
                engine.build()
                rankings[f"{name}, {form.name}"] = engine.ranked
        for name, ranking in rankings.items():
            times: list[float] = []
            result = judge(tasks, _timed(ranking, times))
            print(
                f"{name:38} recall@{FIRST} {result.recall:.3f}  MRR@{FIRST} {result.mrr:.3f}  "
                f"{statistics.median(times) * 1000:6.2f} ms",
                flush=True,
            )


def _timed(ranking: Ranking, times: list[float]) -> Ranking:
    def timed(question: str) -> Sequence[str]:
        began = time.process_time()
        found = ranking(question)
        times.append(time.process_time() - began)
        return found

    return timed


def learned(root: Path, store: Path) -> LearnedRepository:
    learn_graph(root, store_directory=store)
    finish(root, store)
    return LearnedRepository(root, store)


def print_commits(git: Path, commits: int) -> None:
    newest = run_git(git, "rev-list", "--no-merges", "--date-order", "-n", str(commits), "HEAD").split()
    base = run_git(git, "rev-parse", f"{newest[-1]}^").strip()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        clone_at(git, base, tree)
        tasks = tasks_of(git, commits, check_out(git, base, tree), run_git)
        print_quality(learned(tree, Path(folder, "store")), f"{git.name}, subjects of commits", tasks, score)


def print_developer_questions(root: Path, part: str) -> None:
    """`part`: of the questions, as `developer_questions` names them. golore's search was not changed for `held`."""
    asked = developer_questions.questions(developer_questions.QUESTIONS, part)
    tasks = [
        Task(one.text, frozenset(path for path, _ in one.expected)) for one in asked if one.repository == root.name
    ]
    if tasks:
        repository = LearnedRepository(root, store_of(root))
        print_quality(repository, f"{root.name}, developers, {part}", tasks, answered)


def print_paraphrases() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy_library(Path(folder, "go"), None)
        repository = learned(Path(folder, "go"), Path(folder, "store"))
        print_quality(repository, "standard library, paraphrases", paraphrases(), score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?", help="a learned repository with its history")
    parser.add_argument("--commits", type=int, default=400, help="newest commits to ask about (400)")
    parser.add_argument("--library", action="store_true", help="ask the paraphrases of the standard library")
    options = parser.parse_args()
    if options.path is not None:
        root: Path = options.path.resolve()
        print_costs(root)
        print_commits(root, options.commits)
        for part in ("all", "held"):
            print_developer_questions(root, part)
    if options.library:
        print_paraphrases()


if __name__ == "__main__":
    main()
