"""What a change affects, for the command line, the MCP server and the view: two states compared, then the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from golore.graph.changes.affected import Affected, AffectedLimits, affected_by
from golore.graph.changes.change_set import DeclarationChange
from golore.graph.changes.program_builder import is_program_due, make_program_files
from golore.graph.database.store import Store
from golore.graph.errors import GoloreError
from golore.graph.queries.symbol_steps import Steps
from golore.learner.changes.compared_files import Request, compared_files
from golore.learner.changes.declaration_changes import compare, read_facts_pairs
from golore.learner.changes.other_files import other_changes
from golore.learner.compatibility.breaking_report import report_on
from golore.learner.project.content_facts import open_facts_cache


def affected(
    root: Path,
    store: Store,
    request: Request = Request(),  # noqa: B008  an immutable value
    limits: AffectedLimits = AffectedLimits(),  # noqa: B008  an immutable value
    *,
    steps: Steps | None = None,
    breaking: bool = True,
) -> Affected:
    """Compare two states of the repository, and find what the difference affects.

    `steps`: of a process that stays. `breaking`: report changes of exported API, too. Raises UsageError or
    RepositoryError, with one sentence for the user, if the states cannot be compared.
    """
    compared = compared_files(root, request)
    with open_facts_cache(store.directory) as cache:
        changes = compare(compared, read_facts_pairs(compared, cache))
    found = affected_by(store, changes, other_changes(root, store, compared), limits, steps)
    if not breaking or not any(map(_may_change_api, changes.declarations)):
        return found
    report = report_on(root, store, compared)
    return replace(found, breaking=report.breaking, uncertain=report.uncertain)


def _may_change_api(change: DeclarationChange) -> bool:
    is_body_of_function = change.how == "body" and change.current.kind in ("func", "method") and not change.reason
    return not is_body_of_function and not change.current.test


def prepare_adjacency(store: Store) -> None:
    """Build the files that following tests reads, if they are missing or out of date: without them, it takes many
    queries."""
    if is_program_due(store):
        try:
            make_program_files(store.directory)
        except (GoloreError, OSError):
            return  # the graph itself is queried
