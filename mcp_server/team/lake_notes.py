"""Notes of a team server: events that are exchanged with the lake, and shown on the cards of the installed store.

A note is on the disk of the server before it is sent. If the lake cannot be reached, it is sent later. The graph is not
changed, so Cypher and the search by words find the notes that were published with it only. There are no source files,
so a note belongs to the name that it was pinned to, until somebody who has them receives it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.cards.card_builder import rebuild_cards, with_package_files
from golore.graph.cards.card_store import open_card_store
from golore.graph.errors import LakeError, StoreBusy
from golore.graph.files import locks
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import card_paths
from golore.graph.lake.bucket import Lake
from golore.graph.lake.lake_events import LakeEvents
from golore.mcp_server.services.knowledge.team_notes import Exchange, sync_events
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.team.served_publication import ServedPublication

_LOCK_NAME: Final = "notes.lock"
_WAIT: Final = 10.0
_LATER: Final = "The lake cannot be reached: it is kept on the server, and sent when the lake is back."


def send_notes(store: Path, lake: Lake, repository: str) -> str:
    """Send what was written here. Returns a message for the writer, if there is anything to say."""
    try:
        exchange = exchange_notes(store, lake, repository, wait=_WAIT)
    except (LakeError, StoreBusy):
        return _LATER
    return " ".join(exchange.messages)


def exchange_notes(store: Path, lake: Lake, repository: str, *, wait: float) -> Exchange:
    """Exchange events with the lake, in one process at a time. Raises `StoreBusy` if another one does for longer than
    `wait` seconds."""
    lock = locks.acquire(store / _LOCK_NAME, exclusive=True, timeout=wait, purpose="exchanged")
    try:
        return sync_events(store, LakeEvents(lake, repository))
    finally:
        lock.release()


def receive_notes(served: ServedPublication, lake: Lake, *, shows_all: bool) -> None:
    """Exchange events, and show those that came, or all. Does nothing if another process does so. Raises `LakeError`
    after showing those that are here."""
    has_new = shows_all
    try:
        with suppress(StoreBusy), served.kept() as store:
            has_new = bool(exchange_notes(store, lake, served.name, wait=0).received) or shows_all
    finally:
        if has_new:
            with served.opened() as opened:
                store = opened.repository.store
                if Knowledge.exists(store):
                    with Knowledge.open(store) as knowledge:
                        changed = card_paths(knowledge)
                    show_notes(opened, changed)


def show_notes(opened: OpenRepository, changed: Collection[str]) -> None:
    """Make these cards again. If that fails, notes are shown with symbols, but not yet on cards."""
    with suppress(sqlite3.Error):
        card_store = open_card_store(opened.repository.store, write=False) if changed else None
        if card_store is not None:
            with card_store:
                rebuild_cards(opened.store, card_store, with_package_files(card_store, changed))
