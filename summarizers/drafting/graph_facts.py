"""What a model is told of a subject's surroundings: sentences from the graph, and which files change along with it."""

from __future__ import annotations

import json

from golore.graph.cards.card_store import CardStore
from golore.graph.database.store import Store
from golore.graph.knowledge.composed_summaries import short_name, structural_summary
from golore.graph.knowledge.summary_inputs import Inputs

_PARTNERS = 5
_OFTEN = 2


def facts_about(store: Store, card_store: CardStore | None, inputs: Inputs) -> list[str]:
    """One sentence or two each, most useful first."""
    found = [structural_summary(store, inputs.level, inputs.subject)]
    if card_store is not None and inputs.level == "file":
        standing = card_store.rank_and_history(inputs.subject)
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
        return short_name(inputs.pieces[0].title)
    return inputs.subject
