"""`golore adopt`: takes over a store that this user's golore did not make at this path, after showing its notes.

A store of this user that was moved or copied, and a store of another user, are used as they are. Of a stranger's store,
and of one that a learn set aside, only notes, summaries and ratings are taken over; everything else is learned again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from golore.graph.cards.annotations import quoted
from golore.graph.errors import StoreError, StoreMissing, StoreUntrusted, UsageError
from golore.graph.files.claim import create_store_directory, describe_distrust, newest_aside, register, set_aside
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge
from golore.graph.files.knowledge_rows import copy_rows_from
from golore.graph.knowledge.notes import all_notes
from golore.graph.phrases import counted
from golore.graph.safety.regular_file import NotRegularError, require_regular
from golore.graph.safety.trust import FOREIGN, MOVED, UNKNOWN, distrust_reason, store_id
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.text.output import print_json, print_lines, styled

_SHOWN: Final = 50


def run_adopt(start: Path, source: Path | None, *, is_agreed: bool, as_json: bool) -> int:
    repository = _repository_at(start.resolve())
    reason = distrust_reason(str(repository.root), str(repository.store))
    if reason not in ("", MOVED, FOREIGN, UNKNOWN):
        raise StoreUntrusted(describe_distrust(reason, repository.store))
    old = source or (repository.store if reason else newest_aside(repository.store))
    if old is None:
        raise UsageError(f"There is nothing to adopt: {repository.store} is yours, and no other store is beside it.")
    is_whole = source is None and reason in (MOVED, FOREIGN)
    with _copied_knowledge(old) as copy:
        counts = _show(old, copy, is_whole=is_whole, is_quiet=as_json)
        if not is_agreed and not _is_confirmed():
            print_lines(["Nothing was changed. Use `--yes` to adopt it without asking."])
            return 1
        if is_whole:
            register(repository.store)
        else:
            _take_over(repository.store, copy, is_stranger=bool(reason), own_id=store_id(str(old)) if reason else "")
    if as_json:
        print_json({"store": str(repository.store), "adopted": str(old), "whole": is_whole, **counts})
    else:
        print_lines([f"Adopted {old}. Run `golore learn` to bring the store up to date."])
    return 0


def _repository_at(start: Path) -> LearnedRepository:
    """The nearest directory at or above `start` with a store, trusted or not, or with one that was set aside."""
    for root in (start, *start.parents):
        store = store_of(root)
        if store.is_symlink() or store.exists() or newest_aside(store) is not None:
            return LearnedRepository(root, store)
    raise StoreMissing(f"There is no store at or above {start}. Run `golore learn` at the root of the repository.")


@contextmanager
def _copied_knowledge(store: Path) -> Generator[Path | None]:
    """A copy of the knowledge of a store, which opening may change; None if it has none."""
    with tempfile.TemporaryDirectory(prefix="golore-adopt-") as folder:
        copied = Path(folder) / KNOWLEDGE_NAME
        for suffix in ("", "-wal"):
            path = store / f"{KNOWLEDGE_NAME}{suffix}"
            try:
                require_regular(path)
                if path.exists():
                    shutil.copyfile(path, copied.with_name(path.name))
            except NotRegularError as failure:
                raise StoreUntrusted(f"{path} is not a regular file, so {store} cannot be adopted.") from failure
            except OSError as failure:
                raise StoreError(f"{path} cannot be read: {failure.strerror}. Check who owns it.") from failure
        yield copied if copied.exists() else None


def _show(store: Path, copy: Path | None, *, is_whole: bool, is_quiet: bool) -> dict[str, int]:
    if copy is None:
        lines, counts = ["It has no notes and no summaries."], {"notes": 0, "summaries": 0}
    else:
        with Knowledge.open_file(copy) as knowledge:
            notes = all_notes(knowledge)
            summaries: int = next(knowledge.rows("SELECT count(*) FROM summaries"))[0]
        counts = {"notes": len(notes), "summaries": summaries}
        lines = [f"{counted(len(notes), 'note')} and {counted(summaries, 'summary')}, as somebody wrote them:"]
        for note in notes[:_SHOWN]:
            author = note.author or "unknown author"
            lines.append(
                f"  {note.kind} on {note.anchor.name} ({author}, {note.created[:10]}): {quoted(note.text, 300)}"
            )
        if len(notes) > _SHOWN:
            lines.append(f"  and {counted(len(notes) - _SHOWN, 'more note')}")
    use = "It is used as it is." if is_whole else "Only this is taken over; its graph and its settings are not."
    if not is_quiet:
        print_lines([styled(f"{store} has:", "bold"), *lines, use])
    return counts


def _is_confirmed() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Adopt it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _take_over(store: Path, copy: Path | None, *, is_stranger: bool, own_id: str) -> None:
    """Add the knowledge to the store. A stranger's store is set aside first; its id is kept, so that another machine
    that shares the directory, such as a container, recognizes it."""
    if is_stranger:
        set_aside(store)
    create_store_directory(store, own_id)
    if copy is not None:
        with Knowledge.open(store) as knowledge:
            copy_rows_from(knowledge, copy, merge=True)
