"""Which summaries are most worth improving, and what is needed to improve them: for `golore drafts` and memory_drafts.

A draft is worth the more the more depends on what it is about, the more often its card was shown, and if it is stale.
Where nobody has written anything, what is composed from the graph counts as the draft. A person's text is not offered.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from math import log1p
from typing import Final, NamedTuple

from golore.graph.cards.card_store import CardStore, open_card_store
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import all_current
from golore.graph.knowledge.summary_inputs import InputReader, Inputs, inputs_from
from golore.graph.model.entities import REPOSITORY_ID
from golore.mcp_server.services.repository import LearnedRepository
from golore.summarizers.drafting.graph_facts import facts_about, name_of
from golore.summarizers.drafting.prompts import prompt_for

_STALE: Final = 3.0
_UNWRITTEN: Final = 0.7
_LEVELS: Final = {"symbol": 0.6, "file": 1.0, "package": 1.5, "repository": 2.0}
_CONTEXT: Final = 3_000
"""Tokens of code and facts that come with a draft."""
_UNWRITTEN_MOST: Final = 200
_MORE: Final = 50


class Draft(NamedTuple):
    """One that could be better. `digest` is of what it would be written from now."""

    level: str
    subject: str
    text: str
    quality: str
    standing: str
    value: float
    digest: str = ""
    material: str = ""


def drafts(
    repository: LearnedRepository, store: Store, limit: int, level: str = "", *, with_material: bool
) -> list[Draft]:
    """The most valuable ones, best first."""
    with ExitStack() as stack:
        knowledge = stack.enter_context(Knowledge.open(repository.store))
        card_store = open_card_store(repository.store, write=False)
        if card_store is not None:
            stack.enter_context(closing(card_store))
        worth = _Worth(store, card_store, knowledge)
        ranked = _candidates(worth, knowledge, limit, level)
        found: list[Draft] = []
        matter = InputReader(store, repository.root, knowledge)
        for one in ranked:
            if len(found) == limit:
                break
            inputs = inputs_from(matter, one.level, one.subject)
            if inputs is None:  # gone, or changed since it was learned
                continue
            text = one.text or structural_summary(store, one.level, one.subject)
            material = _material(store, card_store, inputs) if with_material else ""
            found.append(one._replace(text=text, digest=inputs.digest, material=material))
        return found


def _candidates(worth: _Worth, knowledge: Knowledge, limit: int, level: str) -> list[Draft]:
    """The best by what is quickly told; then by how many use a symbol, too, which is asked of few."""
    found: list[Draft] = []
    known: set[tuple[str, str]] = set()
    for record in all_current(knowledge):
        known.add((record.level, record.subject))
        is_weak = record.source == "model" or (record.source == "agent" and record.doubt)
        if is_weak and record.doubt != "gone":
            value = worth.of(record.level, record.subject, record.id) * (_STALE if record.doubt else 1.0)
            found.append(Draft(record.level, record.subject, record.text, record.quality, record.standing, value))
    for other, subject in worth.unwritten():
        if (other, subject) not in known:
            found.append(Draft(other, subject, "", "structural", "structural", worth.of(other, subject) * _UNWRITTEN))
    wanted = sorted((one for one in found if not level or one.level == level), key=_best_first)
    near = [one._replace(value=round(one.value * worth.by_users(one), 4)) for one in wanted[: limit * 4 + _MORE]]
    return sorted(near, key=_best_first)


def _best_first(one: Draft) -> tuple[float, str, str]:
    return (-one.value, one.level, one.subject)


class _Worth:
    """How much hangs on a subject: what depends on it, and how often it is looked at."""

    def __init__(self, store: Store, card_store: CardStore | None, knowledge: Knowledge) -> None:
        self._store = store
        self._deck = card_store
        self._shown = card_store.times_shown() if card_store is not None else {}
        self._ranks: dict[str, float] = {}
        self._files: dict[str, list[str]] = {}
        statement = (
            "SELECT p.summary, p.kind, p.subject, p.place FROM summary_parts p JOIN summaries s ON s.id = p.summary "
            "WHERE s.current AND p.kind IN ('source', 'shape', 'file summary')"
        )
        for summary, kind, subject, source in knowledge.rows(statement):
            self._files.setdefault(summary, []).append(source if kind == "source" else subject)

    def of(self, level: str, subject: str, summary: str = "") -> float:
        if level == "repository":
            return _LEVELS[level] * 2.2 * (1.0 + log1p(self._shown.get("this repository", 0)))
        files = [subject] if level == "file" else self._files.get(summary, [])
        rank = max(map(self._rank, files), default=0.0)
        shown = sum(self._shown.get(path, 0) for path in set(files))
        return _LEVELS[level] * (0.2 + rank) * (1.0 + log1p(shown))

    def by_users(self, one: Draft) -> float:
        if one.level != "symbol":
            return 1.0
        statement = "MATCH (b:Symbol {id: $id})<-[:CALLS|REFERENCES]-(a:Symbol) RETURN count(*)"
        users = next(iter(self._store.rows(statement, {"id": one.subject})))[0]
        return 1.0 + log1p(users) / 4

    def unwritten(self) -> list[tuple[str, str]]:
        """Files on which most depends; and the repository."""
        statement = "MATCH (f:File) WHERE NOT f.test AND NOT f.generated RETURN f.id"
        paths = sorted(row[0] for row in self._store.rows(statement))
        paths.sort(key=lambda path: -self._rank(path))
        return [*(("file", path) for path in paths[:_UNWRITTEN_MOST]), ("repository", REPOSITORY_ID)]

    def _rank(self, path: str) -> float:
        if path not in self._ranks:
            standing = self._deck.rank_and_history(path) if self._deck is not None else None
            self._ranks[path] = standing[0] if standing is not None else 0.0
        return self._ranks[path]


def _material(store: Store, card_store: CardStore | None, inputs: Inputs) -> str:
    """Code and facts, as a model would be shown them, without the words that ask."""
    prompt = prompt_for(inputs, name_of(inputs), facts_about(store, card_store, inputs), _CONTEXT)
    return prompt.text.rpartition("\n\n")[0]
