"""`golore watch`: learn once, then again after every burst of changes below the root.

Events only say that something happened; what changed is found by the learn itself, so that lost or doubled events cost
time and no truth. Once a minute the files are compared without being asked, for what the system did not report.
Code outside the root (module cache, `replace` to elsewhere, a go.work above) is not watched.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from golore.graph.database.projection import fold_log
from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, RepositoryError, StoreMissing
from golore.graph.files import locks
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.phrases import counted
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.freshness import changes_since
from golore.learner.learn import Learner
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.text.output import plain
from golore.mcp_server.watching.background_drafts import BackgroundDrafts
from golore.mcp_server.watching.file_events import Bursts, Observing

LOCK_NAME: Final = "watch.lock"
_PATIENCE: Final = 60.0
"""Seconds that a root may be gone, as while it is cloned anew, before the watch ends."""
_TICK: Final = 0.5
"""Seconds between two looks at whether the root is still the same directory."""
_GRACE: Final = 2.0
"""Seconds that the end may take before it is enforced."""
_COMPARE_EVERY: Final = 60.0
_SETTLE_AFTER: Final = 20.0
"""Seconds without an edit after which what edits have left for later is done, while nobody waits for an answer."""
_LOOK_EVERY: Final = 600.0
"""Seconds after which an ordinary learn looks at what updates after edits do not, such as code outside."""
_FIRST_RETRY: Final = 1.0
_LAST_RETRY: Final = 60.0


class Ended(BaseException):
    """The user has asked for the end."""


def run_watch(root: Path, *, as_json: bool, patience: float = _PATIENCE) -> int:
    if not root.is_dir():
        raise RepositoryError(f"There is no directory {root}. Check the path.")
    root = root.resolve()
    repository = LearnedRepository(root, store_of(root))
    if not (repository.store / MANIFEST_NAME).exists():
        discover(root)  # a directory that is no repository is refused before anything is left in it
    say = _EventPrinter(as_json)
    try:
        with _ending_on_signals():
            while True:
                _watch_directory(repository, say)
                _await_return(repository, say, patience)
    except Ended:
        say.event("ended", "Stopped watching.")
    return 0


class _EventPrinter:
    """Each event as one line: a sentence on standard error, or a JSON object on standard output."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def event(self, name: str, sentence: str, **details: object) -> None:
        if self._as_json:
            print(json.dumps({"event": name, "message": sentence, **plain(details)}), flush=True)
        else:
            print(sentence, file=sys.stderr, flush=True)

    def require_reader(self) -> None:
        """A watch for a program ends with that program, also when there is nothing to tell."""
        if self._as_json:
            poll = select.poll()
            poll.register(sys.stdout.fileno(), 0)
            if any(event & select.POLLERR for _, event in poll.poll(0)):
                raise BrokenPipeError

    def updated(self, report: Report) -> None:
        done = ", ".join(
            (
                f"{counted(report.files_parsed, 'file')} parsed",
                f"{counted(report.packages_resolved, 'package')} resolved",
                f"{counted(report.rows_written, 'row')} written",
            )
        )
        details = {
            name: value for name, value in report._asdict().items() if name not in ("problems", "missing_imports")
        }
        self.event("updated", f"{done} in {report.seconds:.2f} s", **details)
        for message in report.messages:
            self.event("message", message)


@contextmanager
def _ending_on_signals() -> Generator[None]:
    """Raise `Ended` when a signal asks for it.

    Python hears of a signal only between two steps of its own, and loading a large graph is one step of the engine. So
    a thread waits for signals too, and when nothing has come of one in time it ends the process, as a kill would.
    """

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        # Once is enough: the clearing up that follows is not to be disturbed.
        for asked in before:
            signal.signal(asked, signal.SIG_IGN)
        raise Ended

    def end_anyway() -> None:
        os.read(heard, 1)
        if not is_over.wait(_GRACE):
            for worker in multiprocessing.active_children():
                worker.kill()
            os._exit(0)

    is_over = threading.Event()
    heard, hear = os.pipe()
    os.set_blocking(hear, False)
    waiting = threading.Thread(target=end_anyway, daemon=True)
    waiting.start()
    signal.set_wakeup_fd(hear)
    before = {asked: signal.signal(asked, end) for asked in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        is_over.set()
        for asked, handler in before.items():
            signal.signal(asked, handler)
        signal.set_wakeup_fd(-1)
        os.close(hear)
        waiting.join()
        os.close(heard)


def _watch_directory(repository: LearnedRepository, say: _EventPrinter) -> None:
    """Keep the store fresh for as long as it and the root are the directories that they are now."""
    try:
        # Below a root that has gone again there is nothing to be made.
        repository.store.mkdir(parents=not repository.store.is_relative_to(repository.root), exist_ok=True)
        # What is held open keeps its inode number, which something made in its place could otherwise get.
        descriptor = os.open(repository.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    bursts = Bursts(repository.root, repository.store)
    observing = Observing(repository.root, bursts)
    held: locks.FileLock | None = None
    try:
        held = locks.acquire(repository.store / LOCK_NAME, exclusive=True, timeout=0, purpose="watched")
        ground = _ground(repository)
        if reason := observing.start():
            say.event("polling", f"{reason}. Looking at the files every second instead.")
        say.event(
            "watching", f"Watching {repository.root}; Ctrl-C ends it.", root=repository.root, store=repository.store
        )
        _keep_fresh(repository, say, ground, bursts, observing)
    except FileNotFoundError:
        if repository.root.is_dir():
            raise
    finally:
        observing.stop()
        os.close(descriptor)
        if held is not None:
            held.release()


_Ground = tuple[tuple[int, int], ...]


def _ground(repository: LearnedRepository) -> _Ground:
    """Which directory is the root and which file our lock at this moment; nothing where one of them is gone."""
    try:
        there = [path.stat() for path in (repository.root, repository.store / LOCK_NAME)]
    except OSError:
        return ()
    return tuple((status.st_dev, status.st_ino) for status in there)


def _keep_fresh(
    repository: LearnedRepository, say: _EventPrinter, ground: _Ground, bursts: Bursts, observing: Observing
) -> None:
    learning = _Learning(repository, say)
    learning.try_once()
    drafts = BackgroundDrafts(repository)
    try:
        _follow(repository, say, ground, bursts, observing, learning, drafts)
    finally:
        drafts.stop()
        learning.end()


def _follow(
    repository: LearnedRepository,
    say: _EventPrinter,
    ground: _Ground,
    bursts: Bursts,
    observing: Observing,
    learning: _Learning,
    drafts: BackgroundDrafts,
) -> None:
    compared = time.monotonic()
    while _ground(repository) == ground:
        say.require_reader()
        drafts.look()
        burst = bursts.wait(_TICK)
        if burst is not None or learning.is_due:
            learning.try_once(burst.paths if burst is not None and burst.is_only_files else None)
            compared = time.monotonic()
            if reason := observing.shortage():
                say.event("polling", f"{reason}. Looking at the files every second instead.")
        else:
            learning.do_deferred_work()
            if time.monotonic() - compared > _COMPARE_EVERY:
                if learning.is_stale or _is_behind(repository):
                    learning.try_once()
                compared = time.monotonic()
        if not observing.is_alive and _ground(repository) == ground:
            observing.stop()
            observing.start()
            learning.try_once()


class _Learning:
    """Learns, and learns again after a failure, with ever longer pauses; the same failure is told once."""

    def __init__(self, repository: LearnedRepository, say: _EventPrinter) -> None:
        self._repository = repository
        self._say = say
        self._pause = _FIRST_RETRY
        self._due = float("inf")
        self._told: str = ""
        self._learner = Learner(repository.root, repository.store)
        self._looked = 0.0
        self._learned = float("inf")

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    @property
    def is_stale(self) -> bool:
        """Whether it is time to look at everything again, of which updates after edits see but a part."""
        return self._learner.updates > 0 and time.monotonic() - self._looked > _LOOK_EVERY

    def try_once(self, paths: frozenset[str] | None = None) -> None:
        """Learn: after an edit of these files, or without such knowledge."""
        try:
            update = self._learner.learn(paths)
        except (GoloreError, OSError) as failure:
            self._failed(str(failure))
        except Exception as failure:  # noqa: BLE001  a watch survives what it watches
            if os.environ.get("GOLORE_DEBUG"):
                traceback.print_exc()
            self._failed(f"{type(failure).__name__}: {failure}".split("\n")[0])
        else:
            self._learned = time.monotonic()
            report = update.report
            if report.files_parsed or report.rows_written or report.messages or self._told:
                self._say.updated(report)
            self._pause, self._due, self._told = _FIRST_RETRY, float("inf"), ""
            if not update.is_warm:
                self._looked = time.monotonic()
                gc.unfreeze()
                gc.collect()  # a learn leaves cycles behind, and now nobody waits
                gc.freeze()  # what stays is not to be looked through again with every edit

    def do_deferred_work(self) -> None:
        """Fold the log of the graph, which every open of it reads, and keep what is known for the next command."""
        if time.monotonic() - self._learned > _SETTLE_AFTER:
            self._learned = float("inf")
            with suppress(GoloreError, OSError):
                fold_log(self._repository.store)
                self._learner.save()

    def end(self) -> None:
        with suppress(GoloreError, OSError):
            self._learner.save()

    def _failed(self, reason: str) -> None:
        if reason != self._told and self._repository.root.exists():
            sentence = reason if reason.endswith(".") else f"{reason}."
            self._say.event("failed", f"Not learned: {sentence} Trying again.")
            self._told = reason
        self._due = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, _LAST_RETRY)


def _is_behind(repository: LearnedRepository) -> bool:
    try:
        with Store.open(repository.store, write=False, wait=0) as store:
            changes = changes_since(repository.root, store)
    except StoreMissing:
        return True
    except GoloreError:
        return False
    return changes is None or len(changes) > 0


def _await_return(repository: LearnedRepository, say: _EventPrinter, patience: float) -> None:
    """Wait for a root that is gone; one that was replaced is there already."""
    if repository.root.is_dir():
        say.event("returned", f"{repository.root} or its store was replaced; learning it anew.")
        return
    say.event("gone", f"{repository.root} is gone; waiting for it to return.")
    until = time.monotonic() + patience
    while not repository.root.is_dir():
        if time.monotonic() >= until:
            raise RepositoryError(
                f"{repository.root} did not return within {patience:.0f} s. Watch it again when it is there."
            )
        time.sleep(min(_TICK, patience))
    say.event("returned", f"{repository.root} is back; learning it.")
