"""Publishes what was learned of the current commit, for `golore publish` and `golore fleet learn`."""

from __future__ import annotations

from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import RepositoryError
from golore.graph.lake.bucket import Lake
from golore.graph.lake.heads import Head
from golore.graph.lake.keys import HeadKey
from golore.graph.lake.publishing import Revision, publish, published_before
from golore.graph.model.entities import REPOSITORY_ID, Repository
from golore.graph.phrases import counted, listed
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.freshness import changes_since
from golore.learner.checkout.git_objects import commit_of, require_repository, working_changes
from golore.learner.checkout.git_remote import described_version
from golore.learner.pipeline.version import learner_version
from golore.learner.project.project import build_project
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.published_names import STORE_FILES, published_names
from golore.mcp_server.services.repository import LearnedRepository

_NAMED: Final = 5
_CODE: Final = (".go", "go.mod", "go.work", "vendor/modules.txt")


def publish_revision(lake: Lake, revision: Revision, repository: LearnedRepository) -> tuple[HeadKey, Head | None]:
    """Publish a revision that the store describes. The head is None if the revision was published before."""
    before = published_before(lake, revision)
    return (before, None) if before is not None else publish(lake, revision, repository.store, STORE_FILES)


def learned_revision(repository: LearnedRepository, name: str) -> Revision:
    """What is published: HEAD, if the store describes exactly it."""
    root = repository.root
    require_repository(root)
    commit = commit_of(root, "HEAD")
    edited = [pair.path for pair in working_changes(root, commit) if pair.path.endswith(_CODE)]
    if edited:
        raise RepositoryError(
            f"{counted(len(edited), 'file')} differ from the commit: {listed(edited, _NAMED)}. Only commits are "
            "published: commit or stash them, and learn again."
        )
    with open_current_store(repository) as store:
        changes = changes_since(root, store)
        if changes is None or len(changes):
            raise RepositoryError("Files changed since the last learn. Run `golore learn` first.")
        node = _repository_node(store)
    required = build_project(discover(root)).required
    return Revision(
        published_names(root, name, (node.name,))[0],
        commit,
        described_version(root),
        node.modules,
        dict(sorted(required.items())),
        learner_version(),
    )


def _repository_node(store: Store) -> Repository:
    statement = "MATCH (r:Repository {id: $id}) RETURN r.name, r.modules"
    name, modules = next(iter(store.rows(statement, {"id": REPOSITORY_ID})))
    return Repository(REPOSITORY_ID, name, tuple(modules))
