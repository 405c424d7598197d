"""Reads the facts of files into the cache: reads only changed files and parses only unknown contents.

A file is read again if its state changed (see `file_state`); facts are looked up by its digest. Facts that another
checkout of the same repository has parsed are copied from its cache. Extraction runs in the processes of the worker
pool, which write nothing: they return the facts encoded, and this process writes them to the cache in batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from golore.graph.compression import compress, decompress
from golore.graph.files.cache_db import Cache, CachedFacts, CachedFile, facts_key
from golore.graph.files.file_state import UNKNOWN, FileState, is_unchanged, state_to_record
from golore.graph.files.read_only_caches import ReadOnlyCaches
from golore.graph.model.entities import Problem
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest as digest_of
from golore.learner.extraction import facts as f
from golore.learner.project.catalog import FileHead, head_of, head_of_shape
from golore.learner.worker_pool import WorkerPool

BATCH_BYTES = 1 << 19
FEW_FILES = 20
"""Reading this many files takes less time than starting a process."""
Tick = Callable[[int], None]
Extent = Literal["all", "outline", "shape"]
"""How much of a file is extracted: everything, all but function bodies, or only what other files can use."""


class FileToRead(NamedTuple):
    """A file to read: its name in the cache (relative if in the repository), its path, and its state on disk."""

    name: str
    path: str
    state: FileState


class ReadResult(NamedTuple):
    """The heads of all files that could be read, and how many files were read and parsed."""

    heads: dict[str, FileHead]
    files: dict[str, CachedFile]
    problems: list[Problem]
    read: int
    parsed: int

    def with_more(self, more: ReadResult) -> ReadResult:
        """This result and that of other files."""
        return ReadResult(
            self.heads | more.heads,
            self.files | more.files,
            self.problems + more.problems,
            self.read + more.read,
            self.parsed + more.parsed,
        )


class _Batch(NamedTuple):
    """Files to read, the cache that may have their facts, and caches from which these can be copied."""

    files: tuple[FileToRead, ...]
    cache: Path
    neighbours: tuple[Path, ...]
    extent: Extent


class _Read(NamedTuple):
    """One file as a worker read it; `facts` is None if the cache already has them."""

    digest: str
    key: str
    facts: CachedFacts | None
    size: int = 0
    """The size of the data that was read: the file may have changed since discovery."""
    parsed: bool = False
    """Whether the file was parsed now; False if its facts come from a cache."""
    problem: str = ""


def read_files(
    cache: Cache,
    pool: WorkerPool,
    wanted: Iterable[FileToRead],
    before: Mapping[str, CachedFile],
    tick: Tick,
    *,
    extent: Extent = "all",
) -> ReadResult:
    """Read the heads of the `wanted` files. Facts that the cache does not have are extracted and added to it.

    `before` is the state of the files at the last learn, from the cache.
    """
    since_ns = time.time_ns()
    wanted = list(wanted)
    files: dict[str, CachedFile] = {}
    changed: list[FileToRead] = []
    for file in wanted:
        last = before.get(file.name)
        if last is not None and is_unchanged(last.state, file.state) and last.key == facts_key_of(last.digest, extent):
            files[file.name] = last
        else:
            changed.append(file)
    heads = _heads(cache, {file.key for file in files.values()})
    changed += [file for file in wanted if file.name in files and files[file.name].key not in heads]
    problems: list[Problem] = []
    parsed = 0
    tick(len(wanted) - len(changed))
    if len(changed) <= FEW_FILES:
        pool = WorkerPool(0)
    for batch, results in pool.run(_read_batch, _batches(changed, cache, extent)):
        if results is None:
            results = _read_one_by_one(batch)
        fresh = [result.facts for result in results if result.facts is not None]
        parsed += sum(result.parsed for result in results)
        cache.put_many(fresh)
        for file, result in zip(batch.files, results, strict=True):
            if result.problem:
                problems.append(Problem(file.name, 0, result.problem))
                continue
            last = before.get(file.name)
            last_state = last.state if last is not None and last.digest == result.digest else UNKNOWN
            state = state_to_record(file.state._replace(size=result.size), since_ns, last_state)
            files[file.name] = CachedFile(file.name, result.digest, state, result.key)
            if result.facts is not None:
                heads[result.key] = msgspec.msgpack.decode(result.facts.head, type=FileHead)
        tick(len(batch.files))
    missing = {file.key for file in files.values()} - heads.keys()
    heads.update(_heads(cache, missing))
    cache.set_files([files[file.name] for file in changed if file.name in files])
    return ReadResult({name: heads[file.key] for name, file in files.items()}, files, problems, len(changed), parsed)


def _heads(cache: Cache, keys: set[str]) -> dict[str, FileHead]:
    decoder = msgspec.msgpack.Decoder(FileHead)
    return {key: decoder.decode(head) for key, head in cache.get_heads(keys)}


def _batches(files: list[FileToRead], cache: Cache, extent: Extent) -> Iterator[_Batch]:
    """Batches of about equal size, with the largest files first so that none of them is processed last."""
    batch: list[FileToRead] = []
    size = 0
    for file in sorted(files, key=lambda file: (-min(file.state.size, BATCH_BYTES), file.name)):
        batch.append(file)
        size += file.state.size
        if size >= BATCH_BYTES or len(batch) >= 200:
            yield _Batch(tuple(batch), cache.path, cache.neighbours, extent)
            batch, size = [], 0
    if batch:
        yield _Batch(tuple(batch), cache.path, cache.neighbours, extent)


def _read_one_by_one(batch: _Batch) -> list[_Read]:
    """Read each file of a batch separately, after a worker crashed on the batch, to find the file that causes it. In a
    process of its own, because the other workers are still reading other batches."""
    single_file_batches = [batch._replace(files=(file,)) for file in batch.files]
    with WorkerPool(1) as pool:
        results_by_name = {task.files[0].name: results for task, results in pool.run(_read_batch, single_file_batches)}
    crashed = _Read("", "", None, problem="file not learned: the parser crashed on it")
    return [(results_by_name[file.name] or [crashed])[0] for file in batch.files]


def _read_batch(batch: _Batch) -> list[_Read]:
    with ReadOnlyCaches((batch.cache,)) as cache, ReadOnlyCaches(batch.neighbours) as neighbours:
        return [_read(file, cache, neighbours, batch.extent) for file in batch.files]


def _read(file: FileToRead, cache: ReadOnlyCaches, neighbours: ReadOnlyCaches, extent: Extent) -> _Read:
    try:
        data = read_regular(file.path, SOURCE_LIMIT, follow=True)
    except OSError as error:
        return _Read("", "", None, problem=f"file cannot be read: {error.strerror or error}")
    digest = digest_of(data)
    key = facts_key_of(digest, extent)
    if cache.has(key):
        return _Read(digest, key, None, len(data))
    if (borrowed := neighbours.facts(key)) is not None:
        return _Read(digest, key, borrowed, len(data))
    return _Read(digest, key, encoded_facts(data, key, extent), len(data), parsed=True)


def encoded_facts(data: bytes, key: str, extent: Extent) -> CachedFacts:
    """Extract the facts of a content, as the cache stores them."""
    # Imported here, because a learn of unchanged files does not parse.
    from golore.learner.extraction.extract import encode, extract, extract_shape

    if extent == "shape":
        shape = f.encode(found := extract_shape(data))
        head = head_of_shape(key, found, blake2b(shape, digest_size=16).hexdigest())
        return CachedFacts(key, msgspec.msgpack.encode(head), b"", shape, b"")
    facts = extract(data, bodies=extent == "all")
    packed = encode(facts)
    head = msgspec.msgpack.encode(head_of(key, facts.outline))
    return CachedFacts(key, head, packed.outline, packed.shape, compress(packed.body))


def facts_key_of(digest: str, extent: Extent) -> str:
    return facts_key(digest, f.EXTRACTOR if extent == "all" else f"{f.EXTRACTOR}:{extent}")


def body_from(data: bytes) -> f.Body:
    return f.decode_body(decompress(data))
