"""The learner's notes in the store: which keys its rows were made with.

They are written in the same transaction as the rows. The keys of thousands of packages are spread over some texts, so
that an edit writes one of these again and not all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

import msgspec
from golore.learner.pipeline.package_keys import Keys, PackageKeys
from golore.learner.pipeline.version import VERSION_META, learner_version

STATE: Final = "learned"
_OUTSIDE: Final = "outside"
_SHARES: Final = 512
_share_names: Final = [f"packages {number:03}/{_SHARES}" for number in range(_SHARES)]
_Share = dict[str, tuple[str, str]]


class StoredKeys(NamedTuple):
    """What the store says it was made from. `texts` are the notes themselves."""

    state: str
    keys: Keys
    texts: dict[str, str]


def read_stored_keys(texts: dict[str, str]) -> StoredKeys:
    """Unreadable or missing notes say nothing, and then nothing of the store is believed."""
    packages: dict[str, PackageKeys] = {}
    decoder = msgspec.json.Decoder(_Share)
    try:
        for name in _share_names:
            share = decoder.decode(texts.get(name) or "{}")
            packages.update((id, PackageKeys(*keys)) for id, keys in share.items())
    except msgspec.MsgspecError:
        return StoredKeys("", Keys({}, ""), texts)
    if texts.get(VERSION_META) != learner_version():
        # Other facts may lie behind the same digests: every package is to be looked at, and none is forgotten.
        return StoredKeys("", Keys(dict.fromkeys(packages, PackageKeys("", "")), ""), texts)
    return StoredKeys(texts.get(STATE, ""), Keys(packages, texts.get(_OUTSIDE, "")), texts)


def make_stored_keys(state: str, keys: Keys) -> StoredKeys:
    shares: dict[str, _Share] = {name: {} for name in _share_names}
    for id, key in keys.packages.items():
        shares[_share_of(id)][id] = (key.edges, key.shape)
    texts = {name: _encoded(share) for name, share in shares.items()}
    return StoredKeys(state, keys, {STATE: state, VERSION_META: learner_version(), _OUTSIDE: keys.outside, **texts})


def updated_stored_keys(before: StoredKeys, state: str, keys: Keys, changed: Iterable[str]) -> StoredKeys:
    """The notes for other keys that differ for these packages alone; none has come and none is gone."""
    decoder = msgspec.json.Decoder(_Share)
    shares: dict[str, _Share] = {}
    for id in changed:
        name = _share_of(id)
        if name not in shares:
            shares[name] = decoder.decode(before.texts[name])
        shares[name][id] = (keys.packages[id].edges, keys.packages[id].shape)
    texts = {name: _encoded(share) for name, share in shares.items()}
    return StoredKeys(state, keys, {**before.texts, STATE: state, _OUTSIDE: keys.outside, **texts})


def changed_texts(before: StoredKeys, after: StoredKeys) -> dict[str, str]:
    """The notes that are to be written to make one of the other."""
    return {name: text for name, text in after.texts.items() if before.texts.get(name) != text}


def _share_of(id: str) -> str:
    return _share_names[crc32(id.encode("utf-8", "surrogateescape")) % _SHARES]


def _encoded(share: _Share) -> str:
    return msgspec.json.encode(share, order="sorted").decode()
