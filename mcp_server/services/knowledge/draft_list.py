"""The summaries that are most worth improving, with material to improve them: for `golore drafts` and `memory_drafts`.

The value of a draft grows with the rank of its files, the users of its symbol and how often its card was shown; it is
higher if the draft is stale. Where no summary was written, the structural one counts as the draft. A text that a person
wrote is not offered.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from math import log1p
from typing import Final, NamedTuple

from golore.graph.cards.card_store import CardStore, open_card_store
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import all_current, rejected_subjects
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
_MOST_UNWRITTEN: Final = 200
_MORE: Final = 50


class Draft(NamedTuple):
    """A summary that could be improved. `digest` is that of its inputs as they are now."""

    level: str
    subject: str
    text: str
    quality: str
    standing: str
    value: float
    digest: str = ""
    material: str = ""


def drafts(
    repository: LearnedRepository,
    store: Store,
    limit: int,
    level: str = "",
    *,
    with_material: bool,
    with_structural: bool = True,
) -> list[Draft]:
    """The most valuable drafts, best first, with code and facts to write from if `with_material`. Without
    `with_structural`, the text of a summary that nobody has written is empty: composing it takes long for a file that
    thousands use."""
    with ExitStack() as stack:
        knowledge = stack.enter_context(Knowledge.open(repository.store))
        card_store = open_card_store(repository.store, write=False)
        if card_store is not None:
            stack.enter_context(closing(card_store))
        importance = _Importance(store, card_store, knowledge)
        ranked = _candidates(importance, knowledge, limit, level)
        found: list[Draft] = []
        reader = InputReader(store, repository.root, knowledge)
        for one in ranked:
            if len(found) == limit:
                break
            inputs = inputs_from(reader, one.level, one.subject)
            if inputs is None:  # deleted, or changed since it was learned
                continue
            text = one.text or (structural_summary(store, one.level, one.subject) if with_structural else "")
            material = _material(store, card_store, inputs) if with_material else ""
            found.append(one._replace(text=text, digest=inputs.digest, material=material))
        return found


def draft_material(repository: LearnedRepository, store: Store, level: str, subject: str) -> str:
    """The code and facts that a summary is written from; empty if the subject is gone or has changed."""
    with ExitStack() as stack:
        knowledge = stack.enter_context(Knowledge.open(repository.store))
        card_store = open_card_store(repository.store, write=False)
        if card_store is not None:
            stack.enter_context(closing(card_store))
        inputs = inputs_from(InputReader(store, repository.root, knowledge), level, subject)
        return "" if inputs is None else _material(store, card_store, inputs)


def _candidates(importance: _Importance, knowledge: Knowledge, limit: int, level: str) -> list[Draft]:
    """Drafts, best first. The users of a symbol take a query each, so they are counted for the best candidates only."""
    found: list[Draft] = []
    known = rejected_subjects(knowledge)
    for record in all_current(knowledge):
        known.add((record.level, record.subject))
        is_weak = record.source == "model" or (record.source == "agent" and record.doubt)
        if is_weak and record.doubt != "gone":
            value = importance.of(record.level, record.subject, record.id) * (_STALE if record.doubt else 1.0)
            found.append(Draft(record.level, record.subject, record.text, record.quality, record.standing, value))
    for other, subject in importance.unwritten():
        if (other, subject) not in known:
            found.append(
                Draft(other, subject, "", "structural", "structural", importance.of(other, subject) * _UNWRITTEN)
            )
    wanted = sorted((one for one in found if not level or one.level == level), key=_best_first)
    best = [one._replace(value=round(one.value * importance.by_users(one), 4)) for one in wanted[: limit * 4 + _MORE]]
    return sorted(best, key=_best_first)


def _best_first(one: Draft) -> tuple[float, str, str]:
    return (-one.value, one.level, one.subject)


class _Importance:
    """The importance of a subject: the rank of its files, its users, and how often its cards were shown."""

    def __init__(self, store: Store, card_store: CardStore | None, knowledge: Knowledge) -> None:
        self._store = store
        self._shown = card_store.times_shown() if card_store is not None else {}
        self._ranks = card_store.ranks() if card_store is not None else {}
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
        """The files of the highest rank, and the repository."""
        statement = "MATCH (f:File) WHERE NOT f.test AND NOT f.generated RETURN f.id"
        paths = sorted(row[0] for row in self._store.rows(statement))
        paths.sort(key=lambda path: -self._rank(path))
        return [*(("file", path) for path in paths[:_MOST_UNWRITTEN]), ("repository", REPOSITORY_ID)]

    def _rank(self, path: str) -> float:
        return self._ranks[path][0] if path in self._ranks else 0.0


def _material(store: Store, card_store: CardStore | None, inputs: Inputs) -> str:
    """The code and facts of a model's prompt, without the paragraph that says what to write."""
    prompt = prompt_for(inputs, name_of(store, inputs), facts_about(store, card_store, inputs), _CONTEXT)
    return prompt.text.rpartition("\n\n")[0]
