"""`golore watch`: learns once, then again after every burst of changes below the root.

Events only trigger a learn, which finds out itself what changed, so lost or duplicate events cost time but not
correctness. Once a minute the files are compared without an event, for changes that the system did not report.
Code outside the root (module cache, `replace` to elsewhere, a go.work above) is not watched.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
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
from golore.graph.files.claim import claim_store, create_store_directory
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.phrases import counted
from golore.graph.safety.system import open_directory, require_reader
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.freshness import changes_since
from golore.learner.learn import Learner
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.text.output import print_json_line, print_message
from golore.mcp_server.watching.background_drafts import BackgroundDrafts
from golore.mcp_server.watching.file_events import BurstCollector, DirectoryObserver

LOCK_NAME: Final = "watch.lock"
_PATIENCE: Final = 60.0
"""Seconds that the root may be missing, as while it is cloned again, before the watch ends."""
_TICK: Final = 0.5
"""Seconds between checks that the root is still the same directory."""
_GRACE: Final = 2.0
"""Seconds that an orderly exit may take before the process is killed."""
_COMPARE_EVERY: Final = 60.0
_SETTLE_AFTER: Final = 20.0
"""Seconds without an edit after which work that updates have deferred is done."""
_FULL_LEARN_EVERY: Final = 600.0
"""Seconds after which an ordinary learn covers what updates after edits do not, such as code outside the root."""
_FIRST_RETRY: Final = 1.0
_LAST_RETRY: Final = 60.0


class StopRequested(BaseException):
    """A signal has asked the watch to end."""


def run_watch(root: Path, *, as_json: bool, patience: float = _PATIENCE) -> int:
    if not root.is_dir():
        raise RepositoryError(f"There is no directory {root}. Check the path.")
    root = root.resolve()
    repository = LearnedRepository(root, store_of(root))
    if not (repository.store / MANIFEST_NAME).exists():
        discover(root)  # refuses a directory that is no repository, before anything is written to it
    printer = _EventPrinter(as_json)
    try:
        with _ending_on_signals():
            while True:
                _watch_directory(repository, printer)
                _await_return(repository, printer, patience)
    except StopRequested:
        printer.print_event("ended", "Stopped watching.")
    return 0


class _EventPrinter:
    """Prints each event as one line: a sentence on standard error, or a JSON object on standard output."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def print_event(self, name: str, sentence: str, **details: object) -> None:
        if self._as_json:
            print_json_line({"event": name, "message": sentence, **details})
        else:
            print_message(sentence)

    def require_reader(self) -> None:
        """Raise `BrokenPipeError` if nobody reads the JSON lines any more: the watch ends even without an event."""
        if self._as_json:
            require_reader(sys.stdout.fileno())

    def print_update(self, report: Report) -> None:
        summary = ", ".join(
            (
                f"{counted(report.files_parsed, 'file')} parsed",
                f"{counted(report.packages_resolved, 'package')} resolved",
                f"{counted(report.rows_written, 'row')} written",
            )
        )
        details = {
            name: value for name, value in report._asdict().items() if name not in ("problems", "missing_imports")
        }
        self.print_event("updated", f"{summary} in {report.seconds:.2f} s", **details)
        for message in report.messages:
            self.print_event("message", message)


@contextmanager
def _ending_on_signals() -> Generator[None]:
    """Raise `StopRequested` on SIGINT or SIGTERM.

    Python handles a signal only between two of its own instructions, and loading a large graph is one long call of the
    engine. So a thread waits for signals too, and kills the process if it has not ended after `_GRACE` seconds.
    """

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        # Ignore further signals: they must not interrupt the cleanup.
        for signal_number in previous:
            signal.signal(signal_number, signal.SIG_IGN)
        raise StopRequested

    def kill_after_grace() -> None:
        read_end.recv(1)
        if not is_over.wait(_GRACE):
            for worker in multiprocessing.active_children():
                worker.kill()
            os._exit(0)

    is_over = threading.Event()
    read_end, write_end = socket.socketpair()  # on Windows, the only kind of file that works here
    write_end.setblocking(False)
    killer = threading.Thread(target=kill_after_grace, daemon=True)
    killer.start()
    signal.set_wakeup_fd(write_end.fileno())
    previous = {signal_number: signal.signal(signal_number, end) for signal_number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        is_over.set()
        for signal_number, handler in previous.items():
            signal.signal(signal_number, handler)
        signal.set_wakeup_fd(-1)
        write_end.close()
        killer.join()
        read_end.close()


def _watch_directory(repository: LearnedRepository, printer: _EventPrinter) -> None:
    """Keep the store up to date until the root or the store is removed or replaced."""
    try:
        # An open directory keeps its inode number, which a directory that replaces it could otherwise get.
        descriptor = open_directory(repository.root)
    except FileNotFoundError:
        return
    bursts = BurstCollector(repository.root, repository.store)
    observing = DirectoryObserver(repository.root, bursts)
    lock: locks.FileLock | None = None
    try:
        if message := claim_store(repository.root, repository.store):
            printer.print_event("renamed", message)
        create_store_directory(repository.store)
        lock = locks.acquire(repository.store / LOCK_NAME, exclusive=True, timeout=0, purpose="watched")
        identity = _identity(repository)
        if reason := observing.start():
            printer.print_event("polling", f"{reason}. Polling the files every second instead.")
        printer.print_event(
            "watching",
            f"Watching {repository.root}. Press Ctrl-C to stop.",
            root=repository.root,
            store=repository.store,
        )
        _keep_fresh(repository, printer, identity, bursts, observing)
    except FileNotFoundError:
        if repository.root.is_dir():
            raise
    finally:
        observing.stop()
        if descriptor >= 0:
            os.close(descriptor)
        if lock is not None:
            lock.release()


_Identity = tuple[tuple[int, int], ...]


def _identity(repository: LearnedRepository) -> _Identity:
    """Device and inode numbers of the root and of our lock file; empty if one of them is missing."""
    try:
        statuses = [path.stat() for path in (repository.root, repository.store / LOCK_NAME)]
    except OSError:
        return ()
    return tuple((status.st_dev, status.st_ino) for status in statuses)


def _keep_fresh(
    repository: LearnedRepository,
    printer: _EventPrinter,
    identity: _Identity,
    bursts: BurstCollector,
    observing: DirectoryObserver,
) -> None:
    learning = _Learning(repository, printer)
    learning.try_once()
    drafts = BackgroundDrafts(repository)
    try:
        _follow(repository, printer, identity, bursts, observing, learning, drafts)
    finally:
        drafts.stop()
        learning.end()


def _follow(
    repository: LearnedRepository,
    printer: _EventPrinter,
    identity: _Identity,
    bursts: BurstCollector,
    observing: DirectoryObserver,
    learning: _Learning,
    drafts: BackgroundDrafts,
) -> None:
    compared_at = time.monotonic()
    while _identity(repository) == identity:
        printer.require_reader()
        drafts.look()
        burst = bursts.wait(_TICK)
        if burst is not None or learning.is_due:
            learning.try_once(burst.paths if burst is not None and burst.is_only_files else None)
            compared_at = time.monotonic()
            if reason := observing.shortage():
                printer.print_event("polling", f"{reason}. Polling the files every second instead.")
        else:
            learning.do_deferred_work()
            if time.monotonic() - compared_at > _COMPARE_EVERY:
                if learning.is_stale or _is_behind(repository):
                    learning.try_once()
                compared_at = time.monotonic()
        if not observing.is_alive and _identity(repository) == identity:
            observing.stop()
            if reason := observing.start():
                printer.print_event("polling", f"{reason}. Polling the files every second instead.")
            learning.try_once()


class _Learning:
    """Learns, and tries again after a failure, with increasing pauses. The same failure is reported once."""

    def __init__(self, repository: LearnedRepository, printer: _EventPrinter) -> None:
        self._repository = repository
        self._printer = printer
        self._pause = _FIRST_RETRY
        self._due = float("inf")
        self._reported: str = ""
        self._learner = Learner(repository.root, repository.store)
        self._compared_at = 0.0
        self._learned_at = float("inf")

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    @property
    def is_stale(self) -> bool:
        """Whether it is time to compare all files again: updates after edits see only some of them."""
        return self._learner.updates > 0 and time.monotonic() - self._compared_at > _FULL_LEARN_EVERY

    def try_once(self, paths: frozenset[str] | None = None) -> None:
        """Learn after an edit of these files, or after comparing all files if `paths` is None."""
        try:
            update = self._learner.learn(paths)
        except (GoloreError, OSError) as failure:
            self._report_failure(str(failure))
        except Exception as failure:  # noqa: BLE001  a watch survives bugs in a learn
            if os.environ.get("GOLORE_DEBUG"):
                print_message(traceback.format_exc())
            self._report_failure(f"{type(failure).__name__}: {failure}".split("\n")[0])
        else:
            self._learned_at = time.monotonic()
            report = update.report
            if report.files_parsed or report.rows_written or report.messages or self._reported:
                self._printer.print_update(report)
            self._pause, self._due, self._reported = _FIRST_RETRY, float("inf"), ""
            if not update.is_incremental:
                self._compared_at = time.monotonic()
                gc.unfreeze()
                gc.collect()  # a learn leaves cycles behind, and nobody waits now
                gc.freeze()  # the collector need not scan the rest at every edit

    def do_deferred_work(self) -> None:
        """Fold the graph's log into its file, since every open reads it, and save the state for the next command."""
        if time.monotonic() - self._learned_at > _SETTLE_AFTER:
            self._learned_at = float("inf")
            with suppress(GoloreError, OSError):
                fold_log(self._repository.store)
                self._learner.save()

    def end(self) -> None:
        with suppress(GoloreError, OSError):
            self._learner.save()

    def _report_failure(self, reason: str) -> None:
        if reason != self._reported and self._repository.root.exists():
            sentence = reason if reason.endswith(".") else f"{reason}."
            self._printer.print_event("failed", f"The learn failed: {sentence} Trying again.")
            self._reported = reason
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


def _await_return(repository: LearnedRepository, printer: _EventPrinter, patience: float) -> None:
    """Wait until a missing root is back. Returns at once if it was replaced."""
    if repository.root.is_dir():
        printer.print_event("returned", f"{repository.root} or its store was replaced; learning it again.")
        return
    printer.print_event("gone", f"{repository.root} is missing; waiting for it to come back.")
    deadline = time.monotonic() + patience
    while not repository.root.is_dir():
        if time.monotonic() >= deadline:
            raise RepositoryError(
                f"{repository.root} did not come back within {patience:.0f} s. Run `golore watch` again when it exists."
            )
        time.sleep(min(_TICK, patience))
    printer.print_event("returned", f"{repository.root} is back; learning it.")
