"""`golore snapshot`, `restore` and `diff`: keep the store under a name, go back to it, and compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, StoreError, StoreMissing, UsageError
from golore.graph.files.knowledge_db import Knowledge
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
from golore.learner.derived.card_step import make_cards
from golore.mcp_server.commands.import_store import compare_tree, difference_lines
from golore.mcp_server.services.repository import Place, find_place, store_of
from golore.mcp_server.text.output import columns, counted, plain, print_json, print_lines
from golore.mcp_server.text.progress import shown_progress

_MEGABYTE: Final = 1 << 20
_MOVED: Final = "moved"


class _Side(NamedTuple):
    store: Store
    knowledge: Knowledge | None
    files: object
    """What tells that two sides are the same without a look."""


def run_snapshot(start: Path, name: str, *, replace: bool, as_json: bool) -> int:
    snapshot = take_snapshot(find_place(start).store, name, replace=replace)
    if as_json:
        print_json(snapshot)
    else:
        print_lines([f"Kept as {snapshot.name} ({_size(snapshot)}). `golore restore {snapshot.name}` brings it back."])
    return 0


def run_list(start: Path, *, as_json: bool) -> int:
    found = snapshots(_place(start).store)
    if as_json:
        print_json({"snapshots": found})
    elif found:
        print_lines(columns([(one.name, one.created[:19].replace("T", " "), _size(one)) for one in found]))
    else:
        print_lines(["There are no snapshots. `golore snapshot NAME` makes one."])
    return 0


def run_remove(start: Path, name: str) -> int:
    remove_snapshot(_place(start).store, name)
    print_lines([f"Removed the snapshot {name}."])
    return 0


def run_restore(start: Path, name: str, *, as_json: bool) -> int:
    place = _place(start)
    snapshot_named(place.store, name)
    undo = _kept_before(place.store, name)
    snapshot = restore_snapshot(place.store, name)
    changes = compare_tree(place)
    with shown_progress() as progress:
        make_cards(place.root, place.store, whole=True, progress=progress)
    if as_json:
        print_json({**plain(snapshot), "differing": plain(changes), "undo": undo})
    else:
        print_lines([f"Restored {name} of {snapshot.created[:19].replace('T', ' ')}.", *difference_lines(changes)])
        if undo:
            print_lines([f"What was there until now is kept as {undo}."])
    return 0


def run_diff(start: Path, before: str, after: str, *, as_json: bool) -> int:
    place = _place(start)
    with _side(place, before) as old, _side(place, after) as new:
        found: Iterable[Difference] = ()
        if old.files != new.files or old.files is None:
            found = [*differences(old.store, new.store), *knowledge_differences(old.knowledge, new.knowledge)]
    if as_json:
        listed = [{**plain(one), "fields": {name: [was, now] for name, was, now in one.fields}} for one in found]
        print_json({"before": before, "after": after, "summary": _counts(found), "differences": listed})
    else:
        print_lines(_table(_counts(found), before, after))
    return 0


@contextmanager
def _side(place: Place, name: str) -> Generator[_Side]:
    if name == NOW:
        with Store.open(place.store, write=False) as store:
            if not Knowledge.exists(place.store):
                yield _Side(store, None, None)
                return
            with Knowledge.open(place.store) as knowledge:
                yield _Side(store, knowledge, None)
        return
    snapshot = snapshot_named(place.store, name)
    with Store.open(snapshot.path, write=False) as store, knowledge_of(snapshot) as knowledge:
        yield _Side(store, knowledge, snapshot.files)


def _counts(found: Iterable[Difference]) -> dict[str, dict[str, int]]:
    """By what it is, how many came, went, changed, or only moved."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        name = " ".join(filter(None, (one.type, one.label, one.kind)))
        counts.setdefault(name, Counter())[_MOVED if one.is_moved else one.how] += 1
    return {name: {how: counts[name][how] for how in (ADDED, REMOVED, CHANGED, _MOVED)} for name in counts}


def _table(counts: dict[str, dict[str, int]], before: str, after: str) -> list[str]:
    if not counts:
        return [f"{before} and {after} hold the same."]
    rows = [("", ADDED, REMOVED, CHANGED, _MOVED)]
    rows += [(name, *(f"{number:,}" for number in told.values())) for name, told in counts.items()]
    return [f"From {before} to {after}:", *columns(rows)]


def _kept_before(directory: Path, name: str) -> str:
    """The name of a snapshot by which a restore can be undone; none where there is nothing left to keep."""
    if name == BEFORE_RESTORE:
        return ""
    with suppress(GoloreError):
        return take_snapshot(directory, BEFORE_RESTORE, replace=True).name
    return ""


def _place(start: Path) -> Place:
    """The repository whose store is or was here: what a restore is for may have lost all but the snapshots."""
    with suppress(StoreMissing, StoreError):
        return find_place(start)
    if not start.exists():
        raise UsageError(f"There is no directory {start}. Check the path.")
    start = start.resolve()
    for root in (start, *start.parents):
        if (store_of(root) / SNAPSHOTS_NAME).is_dir():
            return Place(root, store_of(root))
    return find_place(start)


def _size(snapshot: Snapshot) -> str:
    return f"{snapshot.bytes / _MEGABYTE:.1f} MB, {counted(len(snapshot.files), 'file')}"
