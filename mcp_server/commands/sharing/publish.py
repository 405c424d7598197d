"""`golore publish`: publishes what was learned of the current commit to a lake."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import LakeError, RepositoryError
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.heads import Head
from golore.graph.lake.keys import HeadKey
from golore.graph.lake.publishing import Revision, publish, published_before
from golore.graph.model.entities import REPOSITORY_ID, Repository
from golore.graph.phrases import amount, counted, listed
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.freshness import changes_since
from golore.learner.checkout.git_objects import commit_of, require_repository, working_changes
from golore.learner.checkout.git_remote import described_version
from golore.learner.pipeline.version import learner_version
from golore.learner.project.project import build_project
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.published_names import STORE_FILES, published_names
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.text.output import print_json, print_lines, print_message

_NAMED: Final = 5
_CODE: Final = (".go", "go.mod", "go.work", "vendor/modules.txt")


def run_publish(address: str, start: Path, *, name: str, must: bool, as_json: bool) -> int:
    address = lake_address(address)
    repository = find_repository(start)
    revision = _revision(repository, name)
    try:
        lake = open_lake(address)
        before = published_before(lake, revision)
        if before is not None:
            _print_known(before, as_json=as_json)
            return 0
        key, head = publish(lake, revision, repository.store, STORE_FILES)
    except LakeError as failure:
        if must:
            raise
        print_message(f"golore: Nothing was published. {failure}")
        if as_json:
            print_json({"published": False, "error": str(failure)})
        return 0
    _print_published(lake.name, key, head, as_json=as_json)
    return 0


def _revision(repository: LearnedRepository, name: str) -> Revision:
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


def _print_known(key: HeadKey, *, as_json: bool) -> None:
    if as_json:
        print_json({"published": False, "repository": key.repository, "commit": key.commit, "known": True})
    else:
        print_lines([f"{key.repository} at {key.commit[:12]} is already published."])


def _print_published(lake: str, key: HeadKey, head: Head, *, as_json: bool) -> None:
    size = sum(table.size for table in head.tables.values())
    packed = sum(file.packed.size for file in head.store.files.values()) if head.store is not None else 0
    if as_json:
        document = {"published": True, "lake": lake, "key": key.key, "bytes": size, "store_bytes": packed}
        names = ("repository", "commit", "version", "modules", "missing", "counts", "why_no_store")
        print_json({**document, **{name: getattr(head, name) for name in names}})
        return
    uses = sum(head.counts[name] for name in ("own", "across", "std"))
    lines = [f"Published {head.repository} at {key.commit[:12]}: {counted(uses, 'use')}, {amount(size + packed)}."]
    if head.why_no_store:
        lines.append(f"The store itself was not published: {head.why_no_store}. Others can ask, but not pull it.")
    if head.missing:
        lines.append(
            f"The source of {counted(len(head.missing), 'imported package')} was not available, so uses of their "
            f"methods are missing: {listed(head.missing, _NAMED)}. Run `go mod download` before the learn."
        )
    print_lines(lines)
