"""Ratings: whether something was useful, for the command line and for agents."""

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
from golore.graph.knowledge.ratings import RatedItem, rate, rated_items, remove_ratings
from golore.graph.phrases import counted
from golore.graph.search.index import open_index
from golore.mcp_server.services.knowledge.note_actions import is_note_id, subject_of
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository

RATINGS: Final = ("useful", "useless", "reset")
_WAIT: Final = 0.1


def rated_id(opened: OpenRepository, target: str) -> str:
    """The id of what is rated: a note, named by its id, or a symbol, file or package, named as a target."""
    if not is_note_id(opened.repository, target):
        return subject_of(opened, target).id
    with Knowledge.open(opened.repository.store) as knowledge:
        return note_of(knowledge, target).id


def rate_item(repository: LearnedRepository, item: str, word: str, by: str = "") -> str:
    """Rate a file by its path, a symbol by its qualified name or a note by its id. Returns a message."""
    if word not in RATINGS:
        raise UsageError(f"There is no rating {word!r}. Use one of {', '.join(RATINGS)}.")
    with Knowledge.open(repository.store) as knowledge:
        if word == "reset":
            number = remove_ratings(knowledge, item)
            message = f"Removed {counted(number, 'rating')} of {item or 'everything'}."
        else:
            message = _line(rate(knowledge, item, useful=word == "useful", by=by))
        worth = {one.item: one.worth for one in rated_items(knowledge)}
    index = open_index(repository.store, write=True)
    if index is not None:
        with index, index.writing():
            index.set_ratings(worth)
    return message


def record_shown(store_directory: Path, target: str, characters: int) -> None:
    """Record that an agent was shown a target, as hooks do. If the store cannot be written, nothing is recorded."""
    with suppress(sqlite3.Error):
        card_store = open_card_store(store_directory, write=False, wait=_WAIT)
        if card_store is not None:
            with card_store:
                card_store.record_shown(f"mcp {os.getpid()}", "mcp", f"context {target or '.'}", characters)


def all_ratings(repository: LearnedRepository, item: str = "") -> list[RatedItem]:
    """The ratings of one item, or all if `item` is empty."""
    if not Knowledge.exists(repository.store):
        return []
    with Knowledge.open(repository.store) as knowledge:
        return [one for one in rated_items(knowledge) if item in ("", one.item)]


def rating_lines(repository: LearnedRepository) -> list[str]:
    """All ratings, one line per item."""
    return [_line(one) for one in all_ratings(repository)] or ["Nothing has been rated."]


def _line(one: RatedItem) -> str:
    return f"{one.item}: useful {one.useful}, useless {one.useless}; search score {one.worth:+.0%}."
