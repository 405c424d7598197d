"""The report on API changes: what breaks and where it is used, what was added, and the versions to release."""

from __future__ import annotations

from pathlib import Path

from golore.graph.analysis.import_graph import read_imports
from golore.graph.changes.api_change import ApiChange, Release, bump_for, next_version
from golore.graph.changes.broken_users import BreakingReport, with_users
from golore.graph.database.store import Store
from golore.learner.changes.compared_files import ComparedFiles, Request, compared_files
from golore.learner.checkout.git_command import run_git
from golore.learner.compatibility.api_changes import api_changes
from golore.learner.go_rules.go_mod import version_key
from golore.learner.project.content_facts import open_facts_cache


def breaking_report(root: Path, store: Store, request: Request) -> BreakingReport:
    """Compare two states of the repository. Raises UsageError or RepositoryError if they cannot be compared."""
    return report_on(root, store, compared_files(root, request))


def report_on(root: Path, store: Store, compared: ComparedFiles) -> BreakingReport:
    importers = _importing_directories(store)
    with open_facts_cache(store.directory) as cache:
        changes = api_changes(root, compared, cache, lambda directory: importers.get(directory, ()))
    breaking = with_users(store, [change for change in changes if change.is_breaking])
    return BreakingReport(
        compared.base,
        compared.target,
        tuple(one for one in breaking if one.change.is_certain),
        tuple(one for one in breaking if not one.change.is_certain),
        tuple(change for change in changes if not change.is_breaking),
        _releases(root, compared, changes),
    )


def _importing_directories(store: Store) -> dict[str, set[str]]:
    graph = read_imports(store)
    found: dict[str, set[str]] = {}
    for one in graph.imports:
        if not one.test:
            found.setdefault(graph.packages[one.target].dir, set()).add(graph.packages[one.source].dir)
    return found


def _releases(root: Path, compared: ComparedFiles, changes: tuple[ApiChange, ...]) -> tuple[Release, ...]:
    tags = run_git(root, "tag", "--points-at", compared.base_commit).decode("utf-8", "replace").split()
    modules = sorted({change.module for change in changes})
    found: list[Release] = []
    for module in modules:
        bump = bump_for([change for change in changes if change.module == module])
        found.append(Release(module, bump, next_version(_tag_of(module, tags), bump)))
    return tuple(found)


def _tag_of(module: str, tags: list[str]) -> str:
    """The newest of these tags that is a release of a module: `v1.2.0`, or `api/v1.2.0` for one in a directory."""
    plain = module.removesuffix(module[module.rfind("/v") :]) if module.rpartition("/")[2][1:].isdigit() else module
    own = [tag for tag in tags if "/" not in tag or plain.endswith(f"/{tag.rpartition('/')[0]}")]
    with_directory = [tag for tag in own if "/" in tag] or own
    return max(with_directory, key=lambda tag: version_key(tag.rpartition("/")[2]), default="")
