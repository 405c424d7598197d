"""`golore summarize`: have a model write drafts of what has no summary yet, or a stale one.

What the model's server needs comes from the settings; what a draft is worth is decided in `summarizers`. One run at a
time works on a store. Cards and graph are brought up to date in between and at the end, also after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
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
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.settings import ModelSettings, is_loopback, model_settings
from golore.mcp_server.text.output import plain, print_json, print_lines, styled
from golore.mcp_server.text.progress import show_progress
from golore.summarizers.drafting.run import Bounds, DraftRun, draft
from golore.summarizers.models.model import Model, make_ready
from golore.summarizers.models.ollama import HOST, MODEL, OllamaModel
from golore.summarizers.models.openai import OpenAiModel

LOCK_NAME: Final = "summarize.lock"
_EVERY: Final = 25
"""Texts after which the cards tell of them."""
_INTERRUPTED: Final = 130
_LEAST_PRIORITY: Final = 19


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
    if is_background:
        with suppress(OSError):
            os.nice(_LEAST_PRIORITY)
    with closing(made_model(settings)) as model:
        make_ready(model, threading.Event())
        try:
            outcome = summarize(repository, model, Bounds(limit, minutes), settings.parallel, is_silent=is_background)
        except KeyboardInterrupt:
            print("golore: Interrupted; what is written is kept, and the next run goes on.", file=sys.stderr)
            return _INTERRUPTED
    if as_json:
        print_json({**plain(outcome), "model": model.name})
    elif not is_background:
        print_lines(_lines(outcome, model.name))
    return 1 if outcome.stopped else 0


def summarize(
    repository: LearnedRepository, model: Model, bounds: Bounds, parallel: int, *, is_silent: bool = False
) -> DraftRun:
    try:
        held = locks.acquire(repository.store / LOCK_NAME, exclusive=True, timeout=0, purpose="summarized")
    except StoreBusy as busy:
        raise StoreBusy(f"{busy} Wait until that run has ended.") from busy
    telling = SummaryPublisher(repository)
    try:
        # What a kill has left untold; and what has changed since: a text is written from what is learned.
        update_summaries(repository.root, repository.store)
        with show_progress() as progress:
            return draft(
                repository.root,
                repository.store,
                model,
                bounds=bounds,
                parallel=parallel,
                progress=None if is_silent else progress,
                kept=telling.add,
            )
    finally:
        telling.tell()
        held.release()


class SummaryPublisher:
    """Brings cards and graph up to date with new texts, some at a time."""

    def __init__(self, repository: LearnedRepository) -> None:
        self._repository = repository
        self._new: list[SummaryRecord] = []

    def add(self, record: SummaryRecord) -> None:
        self._new.append(record)
        if len(self._new) >= _EVERY:
            self.tell_cards()

    def tell_cards(self) -> None:
        if not self._new:
            return
        with Knowledge.open(self._repository.store) as knowledge, knowledge.transaction() as run:
            places = card_paths_of(run, ((record.level, record.subject) for record in self._new))
        self._new.clear()
        rebuild_cards_of(self._repository.store, places)

    def tell(self) -> None:
        """The cards, and the graph's copy. A learn that goes on does the latter when it ends."""
        with suppress(GoloreError):
            self.tell_cards()
            update_summaries(self._repository.root, self._repository.store, changed=(), wait=1.0)


def made_model(settings: ModelSettings) -> OllamaModel | OpenAiModel:
    if settings.server == "openai":
        if not settings.host:
            raise ModelUnavailable("Which server? Name it with --host, such as --host http://127.0.0.1:8080.")
        # A key of the user's is for services; a server on this machine asks for none.
        key = "" if is_loopback(settings.host) else os.environ.get("OPENAI_API_KEY", "")
        return OpenAiModel(
            settings.model, settings.host, key=key, context=settings.context, seconds=float(settings.seconds)
        )
    return OllamaModel(
        settings.model or MODEL, settings.host or HOST, context=settings.context, seconds=float(settings.seconds)
    )


def _lines(outcome: DraftRun, model: str) -> list[str]:
    rate = outcome.asked / outcome.seconds * 60 if outcome.seconds else 0.0
    told = f"{counted(outcome.kept, 'draft')} by {model} in {outcome.seconds:.0f} s ({rate:.1f} a minute)"
    lines = [styled(f"Wrote {told}.", "bold")]
    if not outcome.asked and not outcome.left and not outcome.stopped:
        lines = ["Everything that a model can be asked about has a summary that is up to date."]
    if outcome.repaired:
        lines.append(f"{counted(outcome.repaired, 'text')} passed the check at the second attempt.")
    if outcome.refused:
        why = ", ".join(f"{sort} {number:,}" for sort, number in sorted(outcome.reasons.items()))
        lines.append(f"{counted(outcome.refused, 'text')} failed the check twice ({why}); there the graph tells alone.")
    if outcome.failed:
        lines.append(f"{counted(outcome.failed, 'answer')} could not be used; the next run asks again.")
    if outcome.skipped:
        lines.append(f"{counted(outcome.skipped, 'subject')} skipped: changed since the last learn, or refused before.")
    if outcome.left:
        lines.append(f"{counted(outcome.left, 'subject')} left; run it again to go on.")
    if outcome.stopped:
        lines.append(f"Stopped: {outcome.stopped}")
    return lines
