"""`golore snapshot`, `restore` and `diff`: save, restore and compare copies of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, StoreError, StoreUntrusted, UsageError
from golore.graph.files.claim import require_trust
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.phrases import counted
from golore.graph.transfer.graph_diff import ADDED, CHANGED, REMOVED, Difference, differences, knowledge_differences
from golore.graph.transfer.snapshots import (
    BEFORE_RESTORE,
    NOW,
    SNAPSHOTS_NAME,
    Snapshot,
    knowledge_of,
    remove_snapshot,
    restore_snapshot,
    snapshot_named,
    snapshots,
    take_snapshot,
)
from golore.learner.derived.card_step import update_cards
from golore.mcp_server.commands.sharing.import_store import compare_tree, difference_lines
from golore.mcp_server.services.repository import LearnedRepository, find_repository, store_of
from golore.mcp_server.text.output import columns, print_json, print_lines, to_json_value
from golore.mcp_server.text.progress import show_progress

_MEGABYTE: Final = 1 << 20
_MOVED: Final = "moved"


class _DiffSide(NamedTuple):
    store: Store
    knowledge: Knowledge | None
    files: object
    """The digests of a snapshot's files: if equal, the sides are identical. None for the current store."""


def run_snapshot(start: Path, name: str, *, replace: bool, as_json: bool) -> int:
    snapshot = take_snapshot(find_repository(start).store, name, replace=replace)
    if as_json:
        print_json(snapshot)
    else:
        print_lines([f"Saved as {snapshot.name} ({_size(snapshot)}). `golore restore {snapshot.name}` restores it."])
    return 0


def run_list(start: Path, *, as_json: bool) -> int:
    found = snapshots(_repository(start).store)
    if as_json:
        print_json({"snapshots": found})
    elif found:
        print_lines(columns([(one.name, one.created[:19].replace("T", " "), _size(one)) for one in found]))
    else:
        print_lines(["There are no snapshots. `golore snapshot NAME` saves one."])
    return 0


def run_remove(start: Path, name: str, *, as_json: bool) -> int:
    remove_snapshot(_repository(start).store, name)
    if as_json:
        print_json({"removed": name})
    else:
        print_lines([f"Removed the snapshot {name}."])
    return 0


def run_restore(start: Path, name: str, *, as_json: bool) -> int:
    repository = _repository(start)
    snapshot_named(repository.store, name)
    undo = _save_for_undo(repository.store, name)
    snapshot = restore_snapshot(repository.store, name)
    changes = compare_tree(repository)
    with show_progress() as progress:
        update_cards(repository.root, repository.store, whole=True, progress=progress)
    if as_json:
        print_json({**to_json_value(snapshot), "differing": to_json_value(changes), "undo": undo})
    else:
        print_lines(
            [f"Restored {name}, saved at {snapshot.created[:19].replace('T', ' ')}.", *difference_lines(changes)]
        )
        if undo:
            print_lines([f"The previous state is saved as {undo}: `golore restore {undo}` undoes this."])
    return 0


def run_diff(start: Path, before: str, after: str, *, as_json: bool) -> int:
    repository = _repository(start)
    with _side(repository, before) as old, _side(repository, after) as new:
        found: Iterable[Difference] = ()
        if old.files != new.files or old.files is None:
            found = [*differences(old.store, new.store), *knowledge_differences(old.knowledge, new.knowledge)]
    if as_json:
        listed = [
            {**to_json_value(one), "fields": {name: [was, now] for name, was, now in one.fields}} for one in found
        ]
        print_json({"before": before, "after": after, "summary": _counts(found), "differences": listed})
    else:
        print_lines(_table(_counts(found), before, after))
    return 0


@contextmanager
def _side(repository: LearnedRepository, name: str) -> Generator[_DiffSide]:
    if name == NOW:
        with Store.open(repository.store, write=False) as store:
            if not Knowledge.exists(repository.store):
                yield _DiffSide(store, None, None)
                return
            with Knowledge.open(repository.store) as knowledge:
                yield _DiffSide(store, knowledge, None)
        return
    snapshot = snapshot_named(repository.store, name)
    with Store.open(snapshot.path, write=False) as store, knowledge_of(snapshot) as knowledge:
        yield _DiffSide(store, knowledge, snapshot.files)


def _counts(found: Iterable[Difference]) -> dict[str, dict[str, int]]:
    """The number of added, removed, changed and moved items, by type, label and kind."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        name = " ".join(filter(None, (one.type, one.label, one.kind)))
        counts.setdefault(name, Counter())[_MOVED if one.is_moved else one.how] += 1
    return {name: {how: counts[name][how] for how in (ADDED, REMOVED, CHANGED, _MOVED)} for name in counts}


def _table(counts: dict[str, dict[str, int]], before: str, after: str) -> list[str]:
    if not counts:
        return [f"{before} and {after} are identical."]
    rows = [("", ADDED, REMOVED, CHANGED, _MOVED)]
    rows += [(name, *(f"{number:,}" for number in numbers.values())) for name, numbers in counts.items()]
    return [f"From {before} to {after}:", *columns(rows)]


def _save_for_undo(directory: Path, name: str) -> str:
    """Save the current store, so that restoring `name` can be undone. Returns the snapshot's name; empty if none was
    saved: because `name` is that snapshot itself, or because the store cannot be read."""
    if name == BEFORE_RESTORE:
        return ""
    with suppress(GoloreError):
        return take_snapshot(directory, BEFORE_RESTORE, replace=True).name
    return ""


def _repository(start: Path) -> LearnedRepository:
    """The repository at or above `start`, even if only the snapshots of its store are left: restore needs that."""
    try:
        return find_repository(start)
    except StoreUntrusted:
        raise
    except StoreError:
        pass
    if not start.exists():
        raise UsageError(f"There is no directory {start}. Check the path.")
    start = start.resolve()
    for root in (start, *start.parents):
        if (store_of(root) / SNAPSHOTS_NAME).is_dir():
            require_trust(root, store_of(root))
            return LearnedRepository(root, store_of(root))
    return find_repository(start)


def _size(snapshot: Snapshot) -> str:
    return f"{snapshot.bytes / _MEGABYTE:.1f} MB, {counted(len(snapshot.files), 'file')}"
