"""The system's reports of changed files, gathered into bursts.

A burst begins with the first report that could matter to a learn and ends when there were none for a moment. Where the
system will not watch so many directories, they are looked at every second instead.
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
"""Seconds without a report that end a burst; the short ones while all were of one file, as when an editor saves it."""
_LONGEST: Final = 2.0
_STOPPING: Final = 2.0
_NAMES: Final = frozenset({"go.mod", "go.work", ".gitignore", ".gitmodules", "modules.txt"})
# Reading a file is an event too, and a learn reads many.
_EVENTS: Final[list[type[FileSystemEvent]]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
_SHORTAGES: Final = {
    errno.ENOSPC: "The system's limit of watched directories (fs.inotify.max_user_watches) is reached",
    errno.EMFILE: "The system's limit of watchers (fs.inotify.max_user_instances) is reached",
}

# What it has to tell is told by us or made good by looking at the files.
logging.getLogger("watchdog").addHandler(logging.NullHandler())


class Burst(NamedTuple):
    """What was reported: paths below the root, and whether they are all of Go files and documents, and nothing else."""

    paths: frozenset[str]
    is_only_files: bool


class Bursts(FileSystemEventHandler):
    """Takes events from the observer's thread; whoever waits is told once for all that come close together."""

    def __init__(self, root: Path, store: Path) -> None:
        self._base = f"{root}{os.sep}"
        self._store = f"{store}{os.sep}"
        self._changed = threading.Condition()
        self._first = self._last = 0.0
        self._paths: set[str] = set()
        self._is_only_files = True

    def on_any_event(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        mattering = [path for path in paths if self._matters(path, event.is_directory)]
        if mattering:
            with self._changed:
                self._last = time.monotonic()
                self._first = self._first or self._last
                below = [path[len(self._base) :] for path in mattering]
                self._paths.update(below)
                if event.is_directory or not all(map(_is_learned, below)):
                    self._is_only_files = False
                self._changed.notify()

    def wait(self, timeout: float) -> Burst | None:
        """The next burst, once it is over; None if none has come after so many seconds."""
        with self._changed:
            if not self._first and not self._changed.wait_for(lambda: self._first, timeout):
                return None
            while (left := self._end() - time.monotonic()) > 0:
                self._changed.wait(left)
            burst = Burst(frozenset(self._paths), self._is_only_files)
            self._first, self._is_only_files = 0.0, True
            self._paths.clear()
        return burst

    def _end(self) -> float:
        is_one = self._is_only_files and len(self._paths) == 1
        return min(self._last + (_SHORT_QUIET if is_one else _QUIET), self._first + _LONGEST)

    def _matters(self, path: str, is_directory: bool) -> bool:
        if not path.startswith(self._base) or f"{path}{os.sep}".startswith(self._store):
            return False
        parts = Path(path[len(self._base) :]).parts
        if ".git" in parts:
            # A checkout shows itself by the files that it changes.
            return parts[-2:] == ("info", "exclude")
        return is_directory or parts[-1] in _NAMES or _is_learned("/".join(parts))


def _is_learned(path: str) -> bool:
    """Whether it is a file that is read for what it says, and that has no say in which others are."""
    return path.endswith(".go") or is_document(path)


class Observing:
    """The observer of one directory, which may have to be exchanged for one that polls."""

    def __init__(self, root: Path, bursts: Bursts) -> None:
        self._root = str(root)
        self._bursts = bursts
        self._observer: BaseObserver | None = None
        self._polls = False

    def start(self) -> str:
        """Begin; the answer says why the files are polled, if they are."""
        if not self._polls:
            try:
                self._begin(Observer())
            except OSError as failure:
                return self._begin_polling(failure)
            return self.shortage()
        self._begin(PollingObserver(timeout=1.0))
        return ""

    def shortage(self) -> str:
        """The reason for polling from now on, if there are no watches left for directories that came since."""
        if self._polls:
            return ""
        # The observer says nothing of directories below the root that it was refused.
        try:
            probe = Observer()
            try:
                probe.schedule(FileSystemEventHandler(), self._root, event_filter=_EVENTS)
                probe.start()
            finally:
                _end(probe)
        except OSError as failure:
            if failure.errno == errno.ENOSPC:
                self.stop()
                return self._begin_polling(failure)
        return ""

    @property
    def is_alive(self) -> bool:
        observer = self._observer
        return observer is not None and observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)

    def stop(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            _end(observer)

    def _begin(self, observer: BaseObserver) -> None:
        try:
            observer.schedule(self._bursts, self._root, recursive=True, event_filter=_EVENTS)
            observer.start()
        except BaseException:
            _end(observer)
            raise
        self._observer = observer

    def _begin_polling(self, failure: OSError) -> str:
        reason = _SHORTAGES.get(failure.errno or 0)
        if reason is None:
            raise failure
        self._polls = True
        self._begin(PollingObserver(timeout=1.0))
        return reason


def _end(observer: BaseObserver) -> None:
    observer.stop()
    if observer.is_alive():
        observer.join(_STOPPING)
