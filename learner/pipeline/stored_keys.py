"""The meta rows of the graph that record with which keys its rows were made.

They are written in the same transaction as the rows. The keys of thousands of packages are spread over 512 meta rows,
so that an edit rewrites one of them and not all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

import msgspec
from golore.learner.pipeline.package_keys import Keys, PackageKeys
from golore.learner.pipeline.version import VERSION_META, learner_version

STATE: Final = "learned"
"""Name of the meta row with the state key of the whole graph."""
_OUTSIDE: Final = "outside"
_SHARDS: Final = 512
_shard_names: Final = [f"packages {number:03}/{_SHARDS}" for number in range(_SHARDS)]
_Shard = dict[str, tuple[str, str]]


class StoredKeys(NamedTuple):
    """The keys that a graph was made with. `texts`: the meta rows, by name."""

    state: str
    keys: Keys
    meta_rows: dict[str, str]


def read_stored_keys(texts: dict[str, str]) -> StoredKeys:
    """Decode the meta rows. If they are unreadable or missing, every package counts as changed."""
    packages: dict[str, PackageKeys] = {}
    decoder = msgspec.json.Decoder(_Shard)
    try:
        for name in _shard_names:
            shard = decoder.decode(texts.get(name) or "{}")
            packages.update((id, PackageKeys(*keys)) for id, keys in shard.items())
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return StoredKeys("", Keys({}, ""), texts)
    if texts.get(VERSION_META) != learner_version():
        # Another version may have made other rows from the same files: every package counts as changed. The ids are
        # kept, so that packages that no longer exist are still removed.
        return StoredKeys("", Keys(dict.fromkeys(packages, PackageKeys("", "")), ""), texts)
    return StoredKeys(texts.get(STATE, ""), Keys(packages, texts.get(_OUTSIDE, "")), texts)


def make_stored_keys(state: str, keys: Keys) -> StoredKeys:
    shards: dict[str, _Shard] = {name: {} for name in _shard_names}
    for id, key in keys.packages.items():
        shards[_shard_of(id)][id] = (key.edges, key.shape)
    texts = {name: _encoded(shard) for name, shard in shards.items()}
    return StoredKeys(state, keys, {STATE: state, VERSION_META: learner_version(), _OUTSIDE: keys.outside, **texts})


def updated_stored_keys(before: StoredKeys, state: str, keys: Keys, changed: Iterable[str]) -> StoredKeys:
    """Like `make_stored_keys`, but encodes only the keys of the changed packages. None may be added or removed."""
    decoder = msgspec.json.Decoder(_Shard)
    shards: dict[str, _Shard] = {}
    for id in changed:
        name = _shard_of(id)
        if name not in shards:
            shards[name] = decoder.decode(before.meta_rows[name])
        shards[name][id] = (keys.packages[id].edges, keys.packages[id].shape)
    texts = {name: _encoded(shard) for name, shard in shards.items()}
    return StoredKeys(state, keys, {**before.meta_rows, STATE: state, _OUTSIDE: keys.outside, **texts})


def changed_meta(before: StoredKeys, after: StoredKeys) -> dict[str, str]:
    """The meta rows to write to get from `before` to `after`."""
    return {name: text for name, text in after.meta_rows.items() if before.meta_rows.get(name) != text}


def _shard_of(id: str) -> str:
    return _shard_names[crc32(id.encode("utf-8", "surrogateescape")) % _SHARDS]


def _encoded(shard: _Shard) -> str:
    return msgspec.json.encode(shard, order="sorted").decode()
