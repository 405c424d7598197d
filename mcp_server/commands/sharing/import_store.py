"""`golore import`: creates the store of a repository from an export, and lists the files that differ from it.

Files that have not changed since they were learned are recorded in the cache: the next learn does not read them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import RepositoryError, StoreMissing, StoreUntrusted, UsageError
from golore.graph.files.cache_db import Cache, CachedFile, facts_key
from golore.graph.files.claim import claim_store
from golore.graph.files.file_state import state_to_record
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.phrases import counted, listed
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.transfer.importer import ImportResult, import_store, read_header
from golore.learner.checkout.content_digest import digest
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.freshness import Changes
from golore.learner.derived.card_step import update_cards
from golore.learner.extraction import facts
from golore.learner.pipeline.version import learner_version
from golore.mcp_server.services.repository import LearnedRepository, find_repository, store_of
from golore.mcp_server.text.output import print_json, print_lines, to_json_value
from golore.mcp_server.text.progress import show_progress

_NAMED: Final = 10


def run_import(source: Path, start: Path, *, replace: bool, as_json: bool) -> int:
    repository = _target(start)
    _require_edition(source)
    message = claim_store(repository.root, repository.store)
    imported = import_store(source, repository.store, replace=replace)
    changes = compare_tree(repository)
    with show_progress() as progress:
        update_cards(repository.root, repository.store, whole=True, progress=progress)
    if as_json:
        directories = {"root": str(repository.root), "store": str(repository.store)}
        print_json({**directories, **to_json_value(imported._asdict()), "differing": to_json_value(changes)})
    else:
        print_lines([*filter(None, [message]), *_summary(source, repository, imported), *difference_lines(changes)])
    return 0


def compare_tree(repository: LearnedRepository) -> Changes | None:
    """The files that differ from the graph; None if there is no Go code to compare. Records the others in the cache."""
    with Store.open(repository.store, write=False) as store:
        learned = dict(zip(*store.columns("MATCH (f:File) RETURN f.path, f.digest"), strict=True))
    try:
        found = discover(repository.root)
    except RepositoryError:
        return None
    since_ns = time.time_ns()
    same: list[CachedFile] = []
    edited: list[str] = []
    for file in found.files:
        data = read_regular(found.root / file.path, SOURCE_LIMIT, follow=True)
        now = digest(data)
        if learned.get(file.path) == now:
            state = state_to_record(file.state._replace(size=len(data)), since_ns)
            same.append(CachedFile(file.path, now, state, facts_key(now, facts.EXTRACTOR)))
        elif file.path in learned:
            edited.append(file.path)
    with Cache.open(repository.store / CACHE_NAME) as cache:
        cache.set_files(same, removed=cache.files())
    paths = {file.path for file in found.files}
    return Changes(tuple(sorted(paths - learned.keys())), tuple(edited), tuple(sorted(learned.keys() - paths)))


def difference_lines(changes: Changes | None) -> list[str]:
    if changes is None:
        return ["There is no Go code here to compare with."]
    if not len(changes):
        return ["No file has changed since it was learned."]
    named = listed(changes.paths, _NAMED)
    verb = "differs" if len(changes) == 1 else "differ"
    files = counted(len(changes), "file")
    return [f"{files} {verb} from what was learned: {named}. Run `golore learn` to update the graph."]


def _summary(source: Path, repository: LearnedRepository, imported: ImportResult) -> list[str]:
    parts = [counted(imported.nodes, "node"), counted(imported.edges, "edge")]
    if imported.knowledge:
        parts.append(f"{counted(imported.knowledge, 'row')} of notes and summaries")
    lines = [f"Imported {', '.join(parts)} from {source} into {repository.store}."]
    if _numbers(imported.header.edition) < _numbers(learner_version()):
        lines.append("An older golore learned it; the next learn rebuilds the graph.")
    elif not imported.facts:
        lines.append("The export has no facts, so the next learn parses every file once; a Parquet export has them.")
    return lines


def _require_edition(source: Path) -> None:
    header = read_header(source)
    if _numbers(header.edition) > _numbers(learner_version()):
        raise UsageError(f"{source} was learned by a newer golore ({header.golore}). Upgrade golore to import it.")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in text.split("."))


def _target(start: Path) -> LearnedRepository:
    """`start`, or the learned repository around it if `start` has neither a store nor a `.git` nor a `go.mod`."""
    if not start.is_dir():
        raise UsageError(f"There is no directory {start}. Check the path.")
    root = start.resolve()
    repository = LearnedRepository(root, store_of(root))
    if (repository.store / MANIFEST_NAME).exists() or (root / ".git").exists() or (root / "go.mod").exists():
        return repository
    try:
        return find_repository(start)
    except (StoreMissing, StoreUntrusted):
        return repository
