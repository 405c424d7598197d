"""The facts of file contents that need not be on disk, such as those of an older commit.

They are cached by digest like those of a learn, so that comparing with the same commit again parses nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from golore.graph.errors import StoreError
from golore.graph.files.cache_db import Cache, CachedFacts
from golore.graph.files.read_only_db import is_writable
from golore.graph.files.store_path import CACHE_NAME
from golore.learner.checkout.content_digest import digest
from golore.learner.extraction import facts as f
from golore.learner.project.read_facts import encoded_facts, facts_key_of


class ContentFacts(NamedTuple):
    """The facts of one content without its bodies."""

    digest: str
    outline: f.Outline
    shape: f.Shape


@contextmanager
def open_facts_cache(store_directory: Path) -> Generator[Cache | None]:
    """The cache of a store; None if there is none or it cannot be written."""
    path = store_directory / CACHE_NAME
    try:
        cache = Cache.open(path) if path.is_file() and is_writable(path) else None
    except StoreError:
        cache = None
    if cache is None:
        yield None
        return
    with cache:
        yield cache


def facts_of(contents: Mapping[str, bytes], cache: Cache | None) -> dict[str, ContentFacts]:
    """The facts of contents by name, from the cache if it has them."""
    digests = {name: digest(data) for name, data in contents.items()}
    parts = _cached(set(digests.values()), cache)
    fresh: dict[str, CachedFacts] = {}
    for name, data in contents.items():
        if digests[name] not in parts and digests[name] not in fresh:
            fresh[digests[name]] = encoded_facts(data, facts_key_of(digests[name], "outline"), "outline")
    if cache is not None and fresh:
        cache.put_many(fresh.values())
    parts |= {known: (facts.outline, facts.shape) for known, facts in fresh.items()}
    return {name: _decoded(known, *parts[known]) for name, known in digests.items()}


def _cached(digests: set[str], cache: Cache | None) -> dict[str, tuple[bytes, bytes]]:
    """The outline and the shape of each digest that the cache has, with or without bodies."""
    if cache is None:
        return {}
    digest_of = {facts_key_of(known, extent): known for known in digests for extent in ("all", "outline")}
    outlines = {digest_of[key]: outline for key, outline in cache.get_outlines(digest_of)}
    shapes = {digest_of[key]: shape for key, shape in cache.get_shapes(digest_of)}
    return {known: (outline, shapes[known]) for known, outline in outlines.items() if known in shapes}


def _decoded(known: str, outline: bytes, shape: bytes) -> ContentFacts:
    return ContentFacts(known, f.decode_outline(outline), f.decode_shape(shape))
