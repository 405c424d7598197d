"""Saying that something was useful or not, for the command line and for agents alike; and looking at what was said."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.cards.card_store import open_deck
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import note_of
from golore.graph.knowledge.ratings import Standing, rate, standings, take_back
from golore.graph.search.index import open_index
from golore.mcp_server.services.note_actions import Asked
from golore.mcp_server.services.repository import Place

WORDS: Final = ("useful", "useless", "reset")
_SHORTEST_ID: Final = 4
_WAIT: Final = 0.1


def item_of(asked: Asked, target: str) -> str:
    """What a text means as something to rate: a note by its id, or a symbol, file or package as people name it."""
    is_id = len(target) >= _SHORTEST_ID and all(letter in "0123456789abcdef" for letter in target)
    if not is_id:
        return asked.subject(target).id
    with Knowledge.open(asked.place.store) as knowledge:
        return note_of(knowledge, target).id


def run_rate(place: Place, item: str, word: str, by: str = "") -> str:
    """Rate a file by its path, a symbol by its qualified name or a note by its id; what to tell of it."""
    if word not in WORDS:
        raise UsageError(f"There is no rating {word!r}. Use one of {', '.join(WORDS)}.")
    with Knowledge.open(place.store) as knowledge:
        if word == "reset":
            number = take_back(knowledge, item)
            told = f"Taken back: {number} of what was said of {item or 'everything'}."
        else:
            told = _told(rate(knowledge, item, useful=word == "useful", by=by))
        worth = {one.item: one.worth for one in standings(knowledge)}
    index = open_index(place.store, write=True)
    if index is not None:
        with index, index.writing():
            index.set_ratings(worth)
    return told


def note_shown(store_directory: Path, target: str, characters: int) -> None:
    """Record that an agent was told of something, as hooks do; where it cannot be written, it goes unrecorded."""
    with suppress(sqlite3.Error):
        deck = open_deck(store_directory, write=False, wait=_WAIT)
        if deck is not None:
            with deck:
                deck.show(f"mcp {os.getpid()}", "mcp", f"context {target or '.'}", characters)


def rating_lines(place: Place) -> list[str]:
    """What was rated, one line each."""
    if not Knowledge.exists(place.store):
        return ["Nothing has been rated."]
    with Knowledge.open(place.store) as knowledge:
        return [_told(one) for one in standings(knowledge)] or ["Nothing has been rated."]


def _told(one: Standing) -> str:
    return f"{one.item}: useful {one.useful}, useless {one.useless}; stands {one.worth:+.0%} in searches."
