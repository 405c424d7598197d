"""Publishes a store: its tables and its packed files first, its head last.

A publisher that is killed, or loses the network, leaves keys that no head names. Nobody reads them, and `prune` removes
them later.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from golore.graph.database.engine import engine_name
from golore.graph.errors import LakeError
from golore.graph.files.identity import graph_identity
from golore.graph.lake.bucket import Lake
from golore.graph.lake.heads import Head, PackedFile, WarmStore, encoded, head_keys, read_head
from golore.graph.lake.keys import HeadKey, new_id, stamp_after
from golore.graph.lake.packed_store import PackedPart, locked_store, pack_store, packed_key, reason_not_to_pack
from golore.graph.lake.segments import SUFFIX, write_segments


class Revision(NamedTuple):
    """What is published, as the caller knows it (see `Head`). `edition`: the version of the learner."""

    repository: str
    commit: str
    version: str
    modules: tuple[str, ...]
    requires: dict[str, str]
    edition: str


class Prepared(NamedTuple):
    """Everything to upload, in files of a temporary directory."""

    head: Head
    tables: dict[str, Path]
    parts: list[PackedPart]
    warm: WarmStore | None


def published_before(lake: Lake, revision: Revision) -> HeadKey | None:
    """The publication of this commit by the same version of the learner, if there is one."""
    for key in reversed(head_keys(lake, revision.repository)):
        if key.commit == revision.commit:
            try:
                head = read_head(lake, key)
            except LakeError:
                continue
            if head.store is not None and head.store.edition == revision.edition:
                return key
    return None


def publish(lake: Lake, revision: Revision, directory: Path, names: Sequence[str]) -> tuple[HeadKey, Head]:
    """Publish the store in `directory`. `names`: the other files of the store that are worth packing."""
    with TemporaryDirectory(prefix="golore-publish-") as temporary:
        prepared = _prepare(revision, directory, names, Path(temporary))
        return _upload(lake, prepared)


def _prepare(revision: Revision, directory: Path, names: Sequence[str], folder: Path) -> Prepared:
    parts: list[PackedPart] = []
    warm: WarmStore | None = None
    # Tables and packed files are of one state of the store.
    with locked_store(directory) as (store, manifest):
        counts = write_segments(store, folder)
        why_not = reason_not_to_pack(store)
        missing = store.columns("MATCH (e:External) WHERE e.kind = 'package' AND e.source = 'missing' RETURN e.id")
        if not why_not:
            parts = pack_store(directory, manifest, names, folder)
            identity = graph_identity(directory)
            warm = WarmStore(revision.edition, manifest.schema, engine_name(), manifest.graph, identity, {})
    head = Head(
        revision.repository,
        revision.commit,
        datetime.now(UTC).isoformat(timespec="seconds"),
        metadata.version("golore"),
        revision.version,
        revision.modules,
        revision.requires,
        tuple(sorted(missing[0])) if missing else (),
        counts,
        {},
        why_no_store=why_not,
    )
    return Prepared(head, {name: folder / f"{name}{SUFFIX}" for name in counts}, parts, warm)


def _upload(lake: Lake, prepared: Prepared) -> tuple[HeadKey, Head]:
    head = prepared.head
    known = head_keys(lake, head.repository)
    stamp = stamp_after(datetime.now(UTC), known[-1].stamp if known else "")
    key = HeadKey(head.repository, stamp, head.commit, new_id())
    tables = {name: lake.write(f"{key.folder}/{name}{SUFFIX}", path) for name, path in prepared.tables.items()}
    files = {
        part.name: PackedFile(lake.write(packed_key(key, part.name), part.path), part.size) for part in prepared.parts
    }
    store = msgspec.structs.replace(prepared.warm, files=files) if prepared.warm is not None else None
    head = msgspec.structs.replace(head, tables=tables, store=store)
    lake.write(key.key, encoded(head))
    return key, head
