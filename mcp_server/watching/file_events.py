"""Collects the system's events about changed files into bursts.

A burst begins with the first event that may concern a learn and ends when no more arrive for a moment. If the system's
limit of watched directories is reached, the files are polled every second instead.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

from golore.learner.checkout.document_names import is_document
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

_QUIET: Final = 0.2
_SHORT_QUIET: Final = 0.02
"""Seconds without an event that end a burst; the shorter time if all are about one file, as when an editor saves."""
_MAX_BURST: Final = 2.0
_STOP_TIMEOUT: Final = 2.0
_CONFIG_NAMES: Final = frozenset({"go.mod", "go.work", ".gitignore", ".gitmodules", "modules.txt"})
# Only these: opening a file is an event too, and a learn opens many.
_EVENTS: Final[list[type[FileSystemEvent]]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
_LIMITS: Final = {
    errno.ENOSPC: "The system's limit of watched directories (fs.inotify.max_user_watches) is reached",
    errno.EMFILE: "The system's limit of watchers (fs.inotify.max_user_instances) is reached",
}

# golore reports its failures itself, or compensates for them by comparing the files.
logging.getLogger("watchdog").addHandler(logging.NullHandler())


class Burst(NamedTuple):
    """The paths of a burst, relative to the root. `is_only_files`: all are Go files or documents."""

    paths: frozenset[str]
    is_only_files: bool


class BurstCollector(FileSystemEventHandler):
    """Receives events in the observer's thread. `wait` returns those that arrive close together as one burst."""

    def __init__(self, root: Path, store: Path) -> None:
        self._base = f"{root}{os.sep}"
        self._store = f"{store}{os.sep}"
        self._changed = threading.Condition()
        self._first = self._last = 0.0
        self._paths: set[str] = set()
        self._is_only_files = True

    def on_any_event(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        relevant = [path for path in paths if self._is_relevant(path, event.is_directory)]
        if relevant:
            with self._changed:
                self._last = time.monotonic()
                self._first = self._first or self._last
                relative = [path[len(self._base) :].replace(os.sep, "/") for path in relevant]
                self._paths.update(relative)
                if event.is_directory or not all(map(_is_learned, relative)):
                    self._is_only_files = False
                self._changed.notify()

    def wait(self, timeout: float) -> Burst | None:
        """The next burst, once it has ended; None if none has begun within `timeout` seconds."""
        with self._changed:
            if not self._first and not self._changed.wait_for(lambda: self._first, timeout):
                return None
            while (left := self._end_time() - time.monotonic()) > 0:
                self._changed.wait(left)
            burst = Burst(frozenset(self._paths), self._is_only_files)
            self._first, self._is_only_files = 0.0, True
            self._paths.clear()
        return burst

    def _end_time(self) -> float:
        is_one = self._is_only_files and len(self._paths) == 1
        return min(self._last + (_SHORT_QUIET if is_one else _QUIET), self._first + _MAX_BURST)

    def _is_relevant(self, path: str, is_directory: bool) -> bool:
        if not path.startswith(self._base) or f"{path}{os.sep}".startswith(self._store):
            return False
        parts = Path(path[len(self._base) :]).parts
        if ".git" in parts:
            # A git checkout is noticed by the files that it changes.
            return parts[-2:] == ("info", "exclude")
        return is_directory or parts[-1] in _CONFIG_NAMES or _is_learned("/".join(parts))


def _is_learned(path: str) -> bool:
    """Whether it is a Go file or a document: its content is learned, and it does not affect which other files are."""
    return path.endswith(".go") or is_document(path)


class DirectoryObserver:
    """Observes one directory tree. Falls back to polling if the system's limits are reached."""

    def __init__(self, root: Path, bursts: BurstCollector) -> None:
        self._root = str(root)
        self._bursts = bursts
        self._observer: BaseObserver | None = None
        self._polls = False

    def start(self) -> str:
        """Start observing. Returns the reason if the files have to be polled from now on, else an empty text."""
        if not self._polls:
            try:
                self._start(Observer())
            except OSError as failure:
                return self._start_polling(failure)
            return self.shortage()
        self._start(PollingObserver(timeout=1.0))
        return ""

    def shortage(self) -> str:
        """Start polling if no watches are left for new directories. Returns the reason, empty if it does not poll."""
        if self._polls:
            return ""
        # The observer does not report directories below the root that it could not watch.
        try:
            probe = Observer()
            try:
                probe.schedule(FileSystemEventHandler(), self._root, event_filter=_EVENTS)
                probe.start()
            finally:
                _stop(probe)
        except OSError as failure:
            if failure.errno == errno.ENOSPC:
                self.stop()
                return self._start_polling(failure)
        return ""

    @property
    def is_alive(self) -> bool:
        observer = self._observer
        return observer is not None and observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)

    def stop(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            _stop(observer)

    def _start(self, observer: BaseObserver) -> None:
        try:
            observer.schedule(self._bursts, self._root, recursive=True, event_filter=_EVENTS)
            observer.start()
        except BaseException:
            _stop(observer)
            raise
        self._observer = observer

    def _start_polling(self, failure: OSError) -> str:
        reason = _LIMITS.get(failure.errno or 0)
        if reason is None:
            raise failure
        self._polls = True
        self._start(PollingObserver(timeout=1.0))
        return reason


def _stop(observer: BaseObserver) -> None:
    observer.stop()
    if observer.is_alive():
        observer.join(_STOP_TIMEOUT)
