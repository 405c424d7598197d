"""The digest of a file's content, by which golore decides whether it changed."""

from __future__ import annotations

from hashlib import blake2b

from golore.graph.model.entities import Digest


def digest(data: bytes) -> Digest:
    return Digest(blake2b(data, digest_size=16).hexdigest())
