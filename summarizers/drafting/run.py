"""Runs the queue: asks a model for drafts, several at a time, checks each answer, and stores or refuses it.

One thread reads the store, checks and writes; the other threads only wait for the server. The store is open only for
moments, so that a learn never waits for a model. Each draft is stored as soon as it arrives, so a run that is killed
continues there the next time, and nothing is written twice. If an answer fails the check, the model is asked once more
with the problems; if that answer fails too, it is refused and the structural summary stays.
"""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.cards.card_store import CardStore, open_card_store
from golore.graph.database.store import Store
from golore.graph.errors import AnswerFailed, GoloreError, ModelError, ModelUnavailable
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import (
    DRAFT,
    NewSummary,
    Refusal,
    SummaryRecord,
    add_to_counter,
    refuse,
    store_summary,
    was_refused,
)
from golore.graph.knowledge.summary_inputs import InputReader, Inputs, inputs_from
from golore.graph.progress import Progress
from golore.summarizers.drafting.graph_facts import facts_about, name_of
from golore.summarizers.drafting.prompts import prompt_for, retry_prompt
from golore.summarizers.drafting.queue import Task, tasks
from golore.summarizers.grounding.check import GroundingProblem, grounding_problems
from golore.summarizers.grounding.repetition import repetition_problems
from golore.summarizers.grounding.text_form import clean_answer
from golore.summarizers.models.model import Completion, Model, Prompt, ask

_FAILED_IN_A_ROW: Final = 8
"""After this many failed answers in a row the run ends, because something is wrong with the server."""


class Bounds(NamedTuple):
    """Limits of a run: the number of summaries to ask for, and the minutes after which none is started."""

    limit: int | None = None
    minutes: float | None = None


@dataclass(slots=True)
class DraftRun:
    """The outcome of a run. `stopped`: the reason why it ended early, if it did."""

    asked: int = 0
    kept: int = 0
    repaired: int = 0
    refused: int = 0
    failed: int = 0
    skipped: int = 0
    left: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    stopped: str = ""
    reasons: dict[str, int] = field(default_factory=dict[str, int])


class _Job(NamedTuple):
    number: int
    inputs: Inputs
    prompt: Prompt
    is_second: bool = False


_Answer = Completion | ModelError


def draft(
    root: Path,
    store_directory: Path,
    model: Model,
    *,
    bounds: Bounds | None = None,
    parallel: int = 1,
    progress: Progress | None = None,
    kept: Callable[[SummaryRecord], None] | None = None,
) -> DraftRun:
    """Write drafts that are missing or stale. `kept` is called for every draft that is stored."""
    started = time.monotonic()
    with Knowledge.open(store_directory) as knowledge:
        run = _Run(root, store_directory, knowledge, model, bounds or Bounds(), kept)
        with Store.open(store_directory, write=False) as store:
            run.plan(tasks(store, knowledge), progress)
        with _model_threads(model, parallel) as pool:
            try:
                run.work(pool, parallel)
            except ModelUnavailable as failure:
                run.outcome.stopped = str(failure)
        run.outcome.seconds = time.monotonic() - started
        return run.outcome


class _ModelWorkers(NamedTuple):
    jobs: queue.SimpleQueue[_Job | None]
    answers: queue.SimpleQueue[tuple[_Job, _Answer]]


@contextmanager
def _model_threads(model: Model, number: int) -> Generator[_ModelWorkers]:
    """Threads that ask the model. They are not joined, so that the command ends without waiting for a model."""
    pool = _ModelWorkers(queue.SimpleQueue(), queue.SimpleQueue())
    stop = threading.Event()

    def work() -> None:
        while (job := pool.jobs.get()) is not None:
            try:
                answer: _Answer = ask(model, job.prompt, stop)
            except ModelError as failure:
                answer = failure
            except Exception as failure:  # noqa: BLE001  without an answer, the run would wait forever
                answer = AnswerFailed(f"{type(failure).__name__}: {failure}")
            pool.answers.put((job, answer))

    for _ in range(number):
        threading.Thread(target=work, daemon=True, name="golore-model").start()
    try:
        yield pool
    finally:
        stop.set()
        for _ in range(number):
            pool.jobs.put(None)


class _Run:
    def __init__(
        self,
        root: Path,
        store_directory: Path,
        knowledge: Knowledge,
        model: Model,
        bounds: Bounds,
        kept: Callable[[SummaryRecord], None] | None,
    ) -> None:
        self.outcome = DraftRun()
        self._root = root
        self._directory = store_directory
        self._knowledge = knowledge
        self._model = model
        self._on_kept = kept
        self._limit = bounds.limit
        self._deadline = time.monotonic() + bounds.minutes * 60 if bounds.minutes is not None else float("inf")
        self._tasks: Sequence[Task] = ()
        self._ready: list[int] = []
        self._needs: dict[int, int] = {}
        self._parents: defaultdict[int, list[int]] = defaultdict(list)
        self._progress: Progress | None = None
        self._failed_in_a_row = 0

    def plan(self, planned: Sequence[Task], progress: Progress | None) -> None:
        self._tasks, self._progress = planned, progress
        for number, task in enumerate(planned):
            needs = set(task.needs)
            self._needs[number] = len(needs)
            for other in needs:
                self._parents[other].append(number)
            if not needs:
                heapq.heappush(self._ready, number)
        if progress is not None:
            total = len(planned) if self._limit is None else min(self._limit, len(planned))
            progress.stage("Drafting", total)

    def work(self, pool: _ModelWorkers, parallel: int) -> None:
        running = 0
        while True:
            jobs = self._next(parallel - running)
            running += len(jobs)
            for job in jobs:
                pool.jobs.put(job)
            if not running:
                break
            answered = [pool.answers.get()]
            while not pool.answers.empty():
                answered.append(pool.answers.get())
            running -= len(answered)
            for job in self._handle_answers(answered):
                running += 1
                pool.jobs.put(job)
        self.outcome.left = len(self._ready) + sum(1 for needs in self._needs.values() if needs > 0)

    @property
    def _is_over(self) -> bool:
        return (self._limit is not None and self.outcome.asked >= self._limit) or time.monotonic() >= self._deadline

    def _next(self, free: int) -> list[_Job]:
        """The next jobs for `free` threads. Opens the store once for all of them."""
        if not free or not self._ready or self._is_over:
            return []
        found: list[_Job] = []
        with self._opened() as (store, card_store):
            reader = InputReader(store, self._root, self._knowledge)
            while len(found) < free and self._ready and not self._is_over:
                number = heapq.heappop(self._ready)
                job = self._job(number, store, card_store, reader)
                if job is None:
                    self.outcome.skipped += 1
                    self._finish_task(number)
                else:
                    self.outcome.asked += 1
                    found.append(job)
        return found

    def _job(self, number: int, store: Store, card_store: CardStore | None, reader: InputReader) -> _Job | None:
        """The job for a task; None if a file changed since it was learned, or if this draft was refused before."""
        task = self._tasks[number]
        inputs = inputs_from(reader, task.level, task.subject)
        if inputs is None:
            return None
        prompt = prompt_for(inputs, name_of(store, inputs), facts_about(store, card_store, inputs), self._model.context)
        if was_refused(self._knowledge, inputs, self._model.name, prompt.version):
            return None
        return _Job(number, inputs, prompt)

    def _handle_answers(self, answered: Sequence[tuple[_Job, _Answer]]) -> list[_Job]:
        """Store or refuse the answers. Returns the jobs to ask once more. Raises `ModelUnavailable`."""
        repeated: list[_Job] = []
        broken: ModelUnavailable | None = None
        with self._opened() as (store, _):
            for job, answer in answered:
                if isinstance(answer, ModelUnavailable):
                    broken = answer
                elif isinstance(answer, ModelError):
                    self._count_failure(job, answer)
                elif (second := self._judge(job, answer, store)) is not None:
                    repeated.append(second)
        if broken is not None:
            raise broken
        return repeated

    def _judge(self, job: _Job, answer: Completion, store: Store) -> _Job | None:
        """Check an answer, and store or refuse it. Returns the job to ask once more, if it was the first answer."""
        outcome = self.outcome
        outcome.prompt_tokens += answer.prompt_tokens
        outcome.answer_tokens += answer.answer_tokens
        self._failed_in_a_row = 0
        text = clean_answer(answer.text)
        inputs, context = job.inputs, job.prompt.context
        problems = (
            *grounding_problems(store, self._root, text, context),
            *repetition_problems(self._knowledge, inputs.level, inputs.subject, text, context),
        )
        self._count(problems)
        if not problems:
            new = NewSummary(text, DRAFT, "model", self._model.name, job.prompt.version)
            record = store_summary(self._knowledge, job.inputs, new)
            outcome.kept += 1
            outcome.repaired += job.is_second
            self._finish_task(job.number)
            if record is not None and self._on_kept is not None:
                self._on_kept(record)
            return None
        if not job.is_second:
            return job._replace(
                prompt=retry_prompt(job.prompt, text, (problem.sentence for problem in problems)), is_second=True
            )
        self._refuse(job, problems[0].sentence)
        return None

    def _count(self, problems: Sequence[GroundingProblem]) -> None:
        """Count the answer and the sorts of its problems, in the knowledge and in the outcome."""
        with self._knowledge.transaction() as run:
            add_to_counter(run, "answers")
            for sort in sorted({problem.sort for problem in problems}):
                add_to_counter(run, f"complaints {sort}")
                self.outcome.reasons[sort] = self.outcome.reasons.get(sort, 0) + 1

    def _refuse(self, job: _Job, reason: str) -> None:
        inputs = job.inputs
        version = job.prompt.version
        refuse(self._knowledge, Refusal(inputs.level, inputs.subject, inputs.digest, self._model.name, version, reason))
        self.outcome.refused += 1
        self._finish_task(job.number)

    def _count_failure(self, job: _Job, failure: GoloreError) -> None:
        """Count a failed answer; the next run tries it again. Raises `ModelUnavailable` after too many in a row."""
        self.outcome.failed += 1
        self._failed_in_a_row += 1
        self._finish_task(job.number)
        if self._failed_in_a_row >= _FAILED_IN_A_ROW:
            raise ModelUnavailable(
                f"{failure} This happened {self._failed_in_a_row} times in a row. "
                "Check the server and run the command again."
            )

    def _finish_task(self, number: int) -> None:
        """Mark a task as written or given up. Tasks that need only finished tasks become ready."""
        self._needs[number] = -1
        for parent in self._parents[number]:
            self._needs[parent] -= 1
            if not self._needs[parent]:
                heapq.heappush(self._ready, parent)
        if self._progress is not None:
            self._progress.tick(1)

    @contextmanager
    def _opened(self) -> Generator[tuple[Store, CardStore | None]]:
        with ExitStack() as stack:
            store = stack.enter_context(Store.open(self._directory, write=False, wait=60.0))
            card_store = open_card_store(self._directory, write=False)
            yield store, stack.enter_context(card_store) if card_store is not None else None
