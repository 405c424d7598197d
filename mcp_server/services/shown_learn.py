"""Learns a repository and embeds its new texts, with or without progress on standard error."""

from __future__ import annotations

from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.graph.progress import Progress
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.services.learn_speed import estimated_seconds, record_speed
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.text.progress import show_progress


def learn_with_progress(repository: LearnedRepository, *, full: bool = False, workers: int | None = None) -> Report:
    """Like `learn_and_embed`, with progress, and an estimate of the time from the last learn."""
    with show_progress(estimated_seconds) as progress:
        report = learn_and_embed(repository, full=full, workers=workers, progress=progress)
        if report.files_parsed == report.files:
            record_speed(progress.size, report.seconds)
        return report


def learn_and_embed(
    repository: LearnedRepository,
    *,
    full: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Learn, then embed new texts if the store has vectors (see `golore embed`)."""
    report = learn(repository.root, repository.store, full=full, workers=workers, progress=progress)
    if (repository.store / VECTOR_MODEL_NAME).exists():
        from golore.mcp_server.services.knowledge.vectors import update_vectors

        update_vectors(repository, progress)
    return report
