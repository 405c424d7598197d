"""The keys of a lake: how they are named and what their names say. No I/O.

    heads/REPOSITORY/STAMP-COMMIT-PUBLICATION             one publication; written last
    repos/REPOSITORY/COMMIT/PUBLICATION/uses.parquet …    its data
    index/STAMP-PUBLICATION/across.parquet …              an index; made.json is written last
    notes/REPOSITORY/EVENT.json                           an event of team knowledge (see `lake_events`)

A publication has a random id, so that two jobs which publish the same commit write different keys.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from golore.graph.errors import UsageError

HEADS: Final = "heads"
REPOSITORIES: Final = "repos"
INDEXES: Final = "index"
NOTES: Final = "notes"
MADE: Final = "made.json"
_STAMP_FORMAT: Final = "%Y%m%dT%H%M%S%fZ"
_STAMP: Final = r"\d{8}T\d{12}Z"
_ID: Final = r"[0-9a-f]{16}"
_COMMIT: Final = r"[0-9a-f]{40}|[0-9a-f]{64}"
_HEAD: Final = re.compile(rf"{HEADS}/(.+)/({_STAMP})-({_COMMIT})-({_ID})")
_MADE: Final = re.compile(rf"{INDEXES}/(({_STAMP})-{_ID})/{MADE}")
_DATA: Final = re.compile(rf"({REPOSITORIES}/.+/(?:{_COMMIT})/{_ID})/[^/]+")
_INDEX_DATA: Final = re.compile(rf"({INDEXES}/{_STAMP}-{_ID})/[^/]+")
_NAME: Final = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~+-]*(/[A-Za-z0-9_~][A-Za-z0-9._~+-]*)*")
_LONGEST_NAME: Final = 300


class HeadKey(NamedTuple):
    """What the key of a head says. `stamp` orders the publications of a repository."""

    repository: str
    stamp: str
    commit: str
    publication: str

    @property
    def key(self) -> str:
        return f"{HEADS}/{self.repository}/{self.stamp}-{self.commit}-{self.publication}"

    @property
    def folder(self) -> str:
        """The prefix of the publication's data."""
        return f"{REPOSITORIES}/{self.repository}/{self.commit}/{self.publication}"


def head_key(key: str) -> HeadKey | None:
    """None if the key is not that of a head, such as a temporary file."""
    found = _HEAD.fullmatch(key)
    return HeadKey(found[1], found[2], found[3], found[4]) if found and is_repository_name(found[1]) else None


def made_folder(key: str) -> str:
    """The folder of a complete index, if the key says that it is complete; else empty."""
    found = _MADE.fullmatch(key)
    return f"{INDEXES}/{found[1]}" if found else ""


def data_folder(key: str) -> str:
    """The folder of the publication or index that a key belongs to; empty if it is no such key."""
    found = _DATA.fullmatch(key) or _INDEX_DATA.fullmatch(key)
    return found[1] if found else ""


def index_folder(stamp: str) -> str:
    return f"{INDEXES}/{stamp}-{new_id()}"


def new_id() -> str:
    return os.urandom(8).hex()


def is_repository_name(name: str) -> bool:
    """Whether a name may be part of a key: segments without `..`, spaces or characters that some file system lacks."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def require_repository_name(name: str) -> str:
    if not is_repository_name(name):
        raise UsageError(f"{name!r} cannot name a repository in a lake. Choose one like example.com/team/shop: --name.")
    return name


def stamp_after(now: datetime, known: str) -> str:
    """The stamp of a publication: the time, or just after the newest `known` stamp. So a publisher whose clock is slow
    still replaces what it has seen."""
    stamp = now.astimezone(UTC).strftime(_STAMP_FORMAT)
    return stamp if stamp > known else (time_of(known) + timedelta(microseconds=1)).strftime(_STAMP_FORMAT)


def time_of(stamp: str) -> datetime:
    return datetime.strptime(stamp, _STAMP_FORMAT).replace(tzinfo=UTC)
