"""What a model is told of a subject's surroundings: sentences from the graph, and which files change along with it."""

from __future__ import annotations

import json

from golore.graph.cards.card_store import Deck
from golore.graph.database.store import Store
from golore.graph.knowledge.composed_summaries import spoken, structural_summary
from golore.graph.knowledge.summary_inputs import Inputs

_PARTNERS = 5
_OFTEN = 2


def facts_about(store: Store, deck: Deck | None, inputs: Inputs) -> list[str]:
    """One sentence or two each, most useful first."""
    found = [structural_summary(store, inputs.level, inputs.subject)]
    if deck is not None and inputs.level == "file":
        standing = deck.standing(inputs.subject)
        partners: list[tuple[str, float, int]] = (
            json.loads(standing[1])[3] if standing is not None and standing[1] else []
        )
        often = [f"{path} ({commits:,})" for path, _, commits in partners[:_PARTNERS] if commits >= _OFTEN]
        if often:
            found.append(f"In git's history it changes along with {', '.join(often)}.")
    return [fact for fact in found if fact]


def name_of(inputs: Inputs) -> str:
    """What a subject is called in a prompt."""
    if inputs.level == "symbol":
        return spoken(inputs.pieces[0].title)
    return inputs.subject
