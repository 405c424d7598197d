"""Saying that something was useful or not, for the command line and for agents alike; and looking at what was said."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.cards.card_store import open_card_store
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import note_of
from golore.graph.knowledge.ratings import RatedItem, rate, rated_items, take_back
from golore.graph.search.index import open_index
from golore.mcp_server.services.note_actions import subject_of
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository

WORDS: Final = ("useful", "useless", "reset")
_SHORTEST_ID: Final = 4
_WAIT: Final = 0.1


def item_of(opened: OpenRepository, target: str) -> str:
    """What a text means as something to rate: a note by its id, or a symbol, file or package as people name it."""
    is_id = len(target) >= _SHORTEST_ID and all(letter in "0123456789abcdef" for letter in target)
    if not is_id:
        return subject_of(opened, target).id
    with Knowledge.open(opened.repository.store) as knowledge:
        return note_of(knowledge, target).id


def rate_item(repository: LearnedRepository, item: str, word: str, by: str = "") -> str:
    """Rate a file by its path, a symbol by its qualified name or a note by its id; what to tell of it."""
    if word not in WORDS:
        raise UsageError(f"There is no rating {word!r}. Use one of {', '.join(WORDS)}.")
    with Knowledge.open(repository.store) as knowledge:
        if word == "reset":
            number = take_back(knowledge, item)
            told = f"Taken back: {number} of what was said of {item or 'everything'}."
        else:
            told = _told(rate(knowledge, item, useful=word == "useful", by=by))
        worth = {one.item: one.worth for one in rated_items(knowledge)}
    index = open_index(repository.store, write=True)
    if index is not None:
        with index, index.writing():
            index.set_ratings(worth)
    return told


def record_shown(store_directory: Path, target: str, characters: int) -> None:
    """Record that an agent was told of something, as hooks do; where it cannot be written, it goes unrecorded."""
    with suppress(sqlite3.Error):
        card_store = open_card_store(store_directory, write=False, wait=_WAIT)
        if card_store is not None:
            with card_store:
                card_store.record_shown(f"mcp {os.getpid()}", "mcp", f"context {target or '.'}", characters)


def rating_lines(repository: LearnedRepository) -> list[str]:
    """What was rated, one line each."""
    if not Knowledge.exists(repository.store):
        return ["Nothing has been rated."]
    with Knowledge.open(repository.store) as knowledge:
        return [_told(one) for one in rated_items(knowledge)] or ["Nothing has been rated."]


def _told(one: RatedItem) -> str:
    return f"{one.item}: useful {one.useful}, useless {one.useless}; stands {one.worth:+.0%} in searches."
