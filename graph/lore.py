"""What a card tells of a file beyond structure: its role, notes, documents, the last change. Collected from the
modules that know; how it is told is `cards`' affair.
"""

from __future__ import annotations

from typing import NamedTuple


class Lore(NamedTuple):
    """Each part in the words that the card shows, best first, empty where there is nothing to say."""

    role: str = ""
    """one or two sentences, with the quality of the summary they are from"""
    notes: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    recent: str = ""


NOTHING = Lore()
