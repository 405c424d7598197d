"""Deletes what nobody needs from a lake: old publications, old indexes, and the keys of interrupted publishers.

A head is deleted before its data, so that nobody starts to read what is going away. What is young is left alone:
someone may be writing or reading it. The newest publication of a repository and the newest index always stay.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from golore.graph.lake.bucket import KeyInfo, Lake
from golore.graph.lake.heads import head_keys
from golore.graph.lake.keys import INDEXES, REPOSITORIES, HeadKey, data_folder, made_folder
from golore.graph.lake.lake_index import newest_index


class Pruned(NamedTuple):
    """Numbers of what was deleted. `abandoned`: folders of publishers and compactors that were interrupted."""

    publications: int
    indexes: int
    abandoned: int
    bytes: int


def prune(lake: Lake, *, keep: int, age: timedelta) -> Pruned:
    """Keep the newest `keep` publications of each repository, and everything that is younger than `age`."""
    before = datetime.now(UTC) - age
    data = _by_folder(lake.keys(REPOSITORIES, temporary=True))
    indexes = _by_folder(lake.keys(INDEXES, temporary=True))
    heads = head_keys(lake)  # after the data: what was published meanwhile has a head in this list
    old = [key for key in _superseded(heads, keep) if _is_older(data.get(key.folder, []), before)]
    for key in old:
        lake.remove(key.key)
    named = {key.folder for key in heads} - {key.folder for key in old}
    published = {key.folder for key in heads}
    current = newest_index(lake)
    gone = [folder for folder in data if folder not in named and _is_older(data[folder], before)]
    stale = [
        folder
        for folder in indexes
        if current is not None and folder != current.folder and _is_older(indexes[folder], before)
    ]
    size = 0
    for info in (info for folder in gone for info in data[folder]):
        lake.remove(info.key)
        size += info.size
    for info in (info for folder in stale for info in sorted(indexes[folder], key=_made_first)):
        lake.remove(info.key)
        size += info.size
    return Pruned(len(old), len(stale), len([folder for folder in gone if folder not in published]), size)


def _superseded(heads: list[HeadKey], keep: int) -> list[HeadKey]:
    by_repository: dict[str, list[HeadKey]] = {}
    for key in heads:
        by_repository.setdefault(key.repository, []).append(key)
    return [key for keys in by_repository.values() for key in keys[:-keep]]


def _by_folder(keys: list[KeyInfo]) -> dict[str, list[KeyInfo]]:
    found: dict[str, list[KeyInfo]] = {}
    for info in keys:
        folder = data_folder(info.key)
        if folder:
            found.setdefault(folder, []).append(info)
    return found


def _made_first(info: KeyInfo) -> bool:
    return not made_folder(info.key)


def _is_older(keys: list[KeyInfo], before: datetime) -> bool:
    return all(info.changed is not None and info.changed <= before for info in keys)
