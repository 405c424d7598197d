"""Heads: what was published, of which revision, and the digest of every key that belongs to it.

A publication exists when its head does. The head of a newer golore may have another format: it is reported, not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from golore.graph.errors import LakeError
from golore.graph.gc_pause import gc_disabled
from golore.graph.lake.bucket import KeyDigest, Lake
from golore.graph.lake.keys import HEADS, HeadKey, head_key

FORMAT: Final = 1
"""Version of the layout of a lake."""
_LIMIT: Final = 64 << 20


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What heads and indexes have in common."""

    format: int = FORMAT


_Document = TypeVar("_Document", bound=Document)


class PackedFile(msgspec.Struct, frozen=True):
    """A file of the warm store: the digest of its compressed key, and its size when it is unpacked."""

    packed: KeyDigest
    size: int


class WarmStore(msgspec.Struct, frozen=True):
    """A packed store. `edition` is the version of the learner that made it, `graph` the file name of its database, and
    `identity` the graph that its saved survey belongs to (see `graph.files.identity`)."""

    edition: str
    schema: int
    engine: str
    graph: str
    identity: str
    files: dict[str, PackedFile]


class Head(Document, frozen=True):
    """`published`: the time of the publisher's clock, in ISO format. `version`: the revision as its tags name it.
    `modules` are declared by the repository, `requires` has the versions of those that it uses, and `missing` lists
    imported packages whose source was not available."""

    repository: str
    commit: str
    published: str
    golore: str
    version: str
    modules: tuple[str, ...]
    requires: dict[str, str]
    missing: tuple[str, ...]
    counts: dict[str, int]
    tables: dict[str, KeyDigest]
    store: WarmStore | None = None
    why_no_store: str = ""


def encoded(document: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=1) + b"\n"


def read_document(lake: Lake, key: str, type: type[_Document]) -> _Document:
    """Raises `LakeError` if the key is damaged, half written or of a newer golore."""
    data = lake.read(key, _LIMIT)
    try:
        with gc_disabled():
            document = msgspec.json.decode(data, type=type)
        is_newer = document.format > FORMAT
    except (msgspec.MsgspecError, ValueError, RecursionError) as failure:
        if not _is_newer(data):
            raise LakeError(
                f"{key} in the lake {lake.name} is damaged or half written, so it is not used."
            ) from failure
        document, is_newer = None, True
    if document is None or is_newer:
        raise LakeError(f"{key} in the lake {lake.name} was written by a newer golore. Upgrade golore to read it.")
    return document


def _is_newer(data: bytes) -> bool:
    """Whether a document that this golore cannot read says that a newer one wrote it."""
    try:
        return msgspec.json.decode(data, type=Document).format > FORMAT
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


def read_head(lake: Lake, key: HeadKey) -> Head:
    head = read_document(lake, key.key, Head)
    if (head.repository, head.commit) != (key.repository, key.commit):
        raise LakeError(f"{key.key} in the lake {lake.name} describes another publication, so it is not used.")
    return head


def head_keys(lake: Lake, repository: str = "") -> list[HeadKey]:
    """The publications in the lake, or those of one repository, oldest first."""
    prefix = f"{HEADS}/{repository}" if repository else HEADS
    found = (key for name in lake.names(prefix) if (key := head_key(name)) is not None)
    return sorted((key for key in found if repository in ("", key.repository)), key=lambda key: (key.stamp, key))


def newest_keys(lake: Lake, known: Mapping[str, HeadKey]) -> dict[str, HeadKey]:
    """The newest publication of each repository, by the name of the repository, sorted. `known`: keys that need not be
    taken apart, by their names."""
    found: dict[str, HeadKey] = {}
    for name in lake.names(HEADS):
        key = known.get(name) or head_key(name)
        if key is None:
            continue
        other = found.get(key.repository)
        if other is None or (other.stamp, other.publication) < (key.stamp, key.publication):
            found[key.repository] = key
    return dict(sorted(found.items()))
