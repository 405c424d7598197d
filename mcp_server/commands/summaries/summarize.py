"""`golore summarize`: has a model write drafts for code that has no summary or a stale one.

Only one run at a time works on a store. Cards and graph are updated during the run and at its end, also after Ctrl-C.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from golore.graph.cards.card_builder import rebuild_cards_of
from golore.graph.errors import GoloreError, ModelUnavailable, StoreBusy
from golore.graph.files import locks
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import SummaryRecord
from golore.graph.knowledge.summary_lines import card_paths_of
from golore.graph.knowledge.summary_staleness import update_summaries
from golore.graph.phrases import counted
from golore.graph.safety.secret_filter import removal_message
from golore.graph.safety.system import lower_priority
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.settings import ModelSettings, model_settings, require_agreed
from golore.mcp_server.text.output import print_json, print_lines, print_message, styled, to_json_value
from golore.mcp_server.text.progress import show_progress
from golore.summarizers.drafting.run import Bounds, DraftRun, draft
from golore.summarizers.models.endpoint import OLLAMA_HOST, is_loopback
from golore.summarizers.models.filtered_model import FilteredModel
from golore.summarizers.models.model import Model, make_ready
from golore.summarizers.models.ollama import MODEL, OllamaModel
from golore.summarizers.models.openai import OpenAiModel

LOCK_NAME: Final = "summarize.lock"
_EVERY: Final = 25
"""The number of new drafts after which the cards are updated."""
_INTERRUPTED: Final = 130


def run_summarize(
    start: Path,
    *,
    limit: int | None,
    minutes: float | None,
    as_json: bool,
    is_background: bool = False,
    **options: object,
) -> int:
    repository = find_repository(start)
    settings = model_settings(repository.store, options)
    host = settings.host or OLLAMA_HOST
    require_agreed(host, options)
    if is_background:
        with suppress(OSError):
            lower_priority()
    opened = open_model(settings)
    with closing(opened if is_loopback(host) else FilteredModel(opened)) as model:
        make_ready(model, threading.Event())
        try:
            outcome = summarize(repository, model, Bounds(limit, minutes), settings.parallel, is_silent=is_background)
        except KeyboardInterrupt:
            print_message("golore: Interrupted. The drafts written so far are saved; the next run continues.")
            return _INTERRUPTED
    if isinstance(model, FilteredModel) and model.removed and not is_background:
        print_message(f"golore: {removal_message(model.removed)}")
    if as_json:
        print_json({**to_json_value(outcome), "model": model.name})
    elif not is_background:
        print_lines(_lines(outcome, model.name))
    return 1 if outcome.stopped else 0


def summarize(
    repository: LearnedRepository, model: Model, bounds: Bounds, parallel: int, *, is_silent: bool = False
) -> DraftRun:
    try:
        lock = locks.acquire(repository.store / LOCK_NAME, exclusive=True, timeout=0, purpose="summarized")
    except StoreBusy as busy:
        raise StoreBusy(f"{busy} Wait until that run has ended.") from busy
    publisher = SummaryPublisher(repository)
    try:
        # Publishes the drafts of a killed run, and marks stale ones: drafts are written from what was learned.
        update_summaries(repository.root, repository.store)
        with show_progress() as progress:
            return draft(
                repository.root,
                repository.store,
                model,
                bounds=bounds,
                parallel=parallel,
                progress=None if is_silent else progress,
                kept=publisher.add,
            )
    finally:
        publisher.publish()
        lock.release()


class SummaryPublisher:
    """Publishes new summaries: the cards after every few, the graph at the end."""

    def __init__(self, repository: LearnedRepository) -> None:
        self._repository = repository
        self._new: list[SummaryRecord] = []

    def add(self, record: SummaryRecord) -> None:
        self._new.append(record)
        if len(self._new) >= _EVERY:
            self.publish_cards()

    def publish_cards(self) -> None:
        if not self._new:
            return
        with Knowledge.open(self._repository.store) as knowledge, knowledge.transaction() as run:
            card_paths = card_paths_of(run, ((record.level, record.subject) for record in self._new))
        self._new.clear()
        rebuild_cards_of(self._repository.store, card_paths)

    def publish(self) -> None:
        """Update the cards and the copies in the graph. If a learn is running, it updates the copies when it ends."""
        with suppress(GoloreError):
            self.publish_cards()
            update_summaries(self._repository.root, self._repository.store, changed=(), wait=1.0)


def open_model(settings: ModelSettings) -> OllamaModel | OpenAiModel:
    if settings.server == "openai":
        if not settings.host:
            raise ModelUnavailable("No server is set. Name it with --host, such as --host http://127.0.0.1:8080.")
        # The user's key is for remote services; a server on this machine needs none.
        key = "" if is_loopback(settings.host) else os.environ.get("OPENAI_API_KEY", "")
        return OpenAiModel(
            settings.model, settings.host, key=key, context=settings.context, seconds=float(settings.seconds)
        )
    return OllamaModel(
        settings.model or MODEL, settings.host or OLLAMA_HOST, context=settings.context, seconds=float(settings.seconds)
    )


def _lines(outcome: DraftRun, model: str) -> list[str]:
    rate = outcome.asked / outcome.seconds * 60 if outcome.seconds else 0.0
    drafts = f"{counted(outcome.kept, 'draft')} by {model} in {outcome.seconds:.0f} s ({rate:.1f} per minute)"
    lines = [styled(f"Wrote {drafts}.", "bold")]
    if not outcome.asked and not outcome.left and not outcome.stopped:
        lines = ["Nothing to do: everything that a model can summarize has an up-to-date summary."]
    if outcome.repaired:
        lines.append(f"{counted(outcome.repaired, 'text')} passed the check at the second attempt.")
    if outcome.refused:
        reasons = ", ".join(f"{kind} {number:,}" for kind, number in sorted(outcome.reasons.items()))
        lines.append(f"{counted(outcome.refused, 'text')} not saved: failed the check twice ({reasons}).")
    if outcome.failed:
        lines.append(f"{counted(outcome.failed, 'answer')} could not be used; the next run asks again.")
    if outcome.skipped:
        lines.append(f"{counted(outcome.skipped, 'subject')} skipped: changed since the last learn, or refused before.")
    if outcome.left:
        lines.append(f"{counted(outcome.left, 'subject')} left; run it again to continue.")
    if outcome.stopped:
        lines.append(f"Stopped: {outcome.stopped}")
    return lines
