"""Compares the word index with SQLite's FTS5 and, if its package is importable, with tantivy: time, size, updates.

    python benchmarks/word_indexes.py PATH

All index the same files of a learned repository. The engines get each text twice: as it is, with their own tokenizer,
and as golore's terms, which is what they would have to index to find as much. Times are seconds of CPU in one process,
from texts in memory to an index on disk; an update replaces the text of one file. Ranking is not compared: golore's
signals need counts for each part of a file, which neither engine keeps for a text of its own.
"""

from __future__ import annotations

import importlib
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from golore.graph.files.store_path import store_of
from golore.graph.search.index import open_index
from golore.graph.search.index_entries import FileText, IndexedSymbol, terms
from golore.graph.search.index_parts import PartBuilder, numbered
from golore.graph.search.term_counts import term_counts

UPDATES = 20


class Measured(NamedTuple):
    name: str
    seconds: float
    size: int
    update: float


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

    def entry(path: str, data: bytes) -> FileText:
        return FileText(path, "", "", "", False, False, symbols[path], term_counts(data))

    def build() -> None:
        builder = PartBuilder(numbered(list(texts)))
        for path, data in texts.items():
            builder.add(entry(path, data))
        with index.writing():
            index.replace_all(builder.parts())

    def update(number: int) -> None:
        path = sorted(texts)[number]
        with index.writing():
            index.replace([entry(path, texts[path] + b" another word")], ())

    with index:
        return measured("golore, with names and declarations", directory, build, update)


def fts5(name: str, texts: dict[str, str], directory: Path) -> Measured:
    with closing(sqlite3.connect(directory / "fts.db", isolation_level=None)) as connection:
        run = connection.execute
        run("PRAGMA synchronous = OFF")
        run("PRAGMA journal_mode = WAL")
        run("CREATE VIRTUAL TABLE words USING fts5(text, content='')")

        def build() -> None:
            run("BEGIN")
            connection.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", enumerate(texts.values(), 1))
            run("COMMIT")
            run("PRAGMA wal_checkpoint(TRUNCATE)")

        def update(number: int) -> None:
            text = list(texts.values())[number]
            run("BEGIN")
            run("INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)", (number + 1, text))
            run("INSERT INTO words(rowid, text) VALUES (?, ?)", (number + 1, f"{text} another word"))
            run("COMMIT")

        return measured(name, directory, build, update)


def tantivy(name: str, texts: dict[str, str], directory: Path) -> Measured:
    module: Any = importlib.import_module("tantivy")
    schema = module.SchemaBuilder().add_text_field("path", stored=True, tokenizer_name="raw").add_text_field("text")
    index = module.Index(schema.build(), path=str(directory))
    writer = index.writer()

    def build() -> None:
        for path, text in texts.items():
            writer.add_document(module.Document(path=path, text=text))
        writer.commit()
        writer.wait_merging_threads()

    def update(number: int) -> None:
        path = sorted(texts)[number]
        again = index.writer()
        again.delete_documents("path", path)
        again.add_document(module.Document(path=path, text=f"{texts[path]} another word"))
        again.commit()
        again.wait_merging_threads()

    return measured(name, directory, build, update)


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    index = open_index(store_of(root))
    if index is None:
        sys.exit(f"{root} has no search index. Run `golore learn` first.")
    with index:
        files = {file.path: tuple(index.symbols(file.id)) for file in index.files()}
    texts = {path: (root / path).read_bytes() for path in files}
    plain = {path: data.decode("utf-8", "replace") for path, data in texts.items()}
    split = {path: " ".join(terms(text)) for path, text in plain.items()}
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="golore-benchmark-") as place:
        directories = (Path(tempfile.mkdtemp(dir=place)) for _ in iter(int, 1))
        found.append(ours(texts, files, next(directories)))
        for engine in (fts5, tantivy):
            with suppress(ImportError):
                found.append(engine(f"{engine.__name__}, its tokenizer", plain, next(directories)))
                found.append(engine(f"{engine.__name__}, golore's terms", split, next(directories)))
    print(f"{len(texts):,} files, {sum(map(len, texts.values())) / 1e6:.1f} MB")
    for one in found:
        print(f"{one.name:38}{one.seconds:7.2f} s {one.size / 1e6:7.1f} MB, update {one.update * 1000:7.1f} ms")


if __name__ == "__main__":
    main()
