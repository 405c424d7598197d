"""Facts for prompts: sentences about the surroundings of a subject, from the graph and from git's history."""

from __future__ import annotations

import json
from typing import Any

from golore.graph.cards.card_store import CardStore
from golore.graph.database.store import Store
from golore.graph.history.co_change import Partner
from golore.graph.knowledge.summary_inputs import Inputs
from golore.graph.knowledge.surrounding_facts import surrounding_facts
from golore.graph.queries.names.short_names import ShortNames

_MOST_PARTNERS = 5
_FEWEST_COMMITS = 2


def facts_about(store: Store, card_store: CardStore | None, inputs: Inputs) -> list[str]:
    """The facts about a subject, one or two sentences each, most useful first."""
    found = [surrounding_facts(store, inputs.level, inputs.subject)]
    if card_store is not None and inputs.level == "file":
        stored = card_store.rank_and_history(inputs.subject)
        encoded: list[list[Any]] = json.loads(stored[1])[3] if stored is not None and stored[1] else []
        partners = [Partner(*one) for one in encoded[:_MOST_PARTNERS]]
        frequent = [f"{one.path} ({one.commits:,})" for one in partners if one.commits >= _FEWEST_COMMITS]
        if frequent:
            found.append(f"In git's history it changes along with {', '.join(frequent)}.")
    return [fact for fact in found if fact]


def name_of(store: Store, inputs: Inputs) -> str:
    """The name of a subject in a prompt."""
    if inputs.level == "symbol":
        return ShortNames(store)(inputs.pieces[0].title)
    return inputs.subject
