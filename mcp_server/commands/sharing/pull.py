"""`golore pull`: gets the store of the nearest published commit from a lake, and learns the difference.

If there is no such commit, or a current store is here already, it only learns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import LakeError, StoreError, UsageError
from golore.graph.files.claim import claim_store
from golore.graph.lake.bucket import Lake, open_lake
from golore.graph.lake.heads import Head, head_keys, read_head
from golore.graph.lake.keys import HeadKey
from golore.graph.lake.packed_store import install_store, require_fitting
from golore.graph.phrases import counted
from golore.learner.checkout.git_directory import top_of
from golore.learner.checkout.git_objects import commit_of, require_repository
from golore.learner.checkout.git_remote import ancestors
from golore.learner.pipeline.version import is_outdated, learner_version
from golore.mcp_server.install.program_link import link_program
from golore.mcp_server.services.knowledge.graph_vectors import drop_foreign_vectors
from golore.mcp_server.services.published_names import STORE_FILES, published_names
from golore.mcp_server.services.repository import LearnedRepository, find_repository, store_of
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.services.shown_learn import learn_with_progress
from golore.mcp_server.text.output import print_json, print_lines

_HERE: Final = "A store is here already, so only the difference was learned. `--replace` pulls anyway."


class _Publication(NamedTuple):
    """`distance`: the number of commits since it."""

    key: HeadKey
    head: Head
    distance: int


def run_pull(address: str, start: Path, *, name: str, replace: bool, as_json: bool) -> int:
    address = lake_address(address)
    repository = _repository_at(start)
    claimed = claim_store(repository.root, repository.store)
    messages = [claimed] if claimed else []
    found: _Publication | None = None
    if not replace and _is_current(repository):
        messages.append(_HERE)
    else:
        lake = open_lake(address)
        found = _nearest(lake, repository.root, name, messages)
        if found is not None:
            install_store(lake, found.key, found.head, repository.store, STORE_FILES)
            drop_foreign_vectors(repository.store)
    report = learn_with_progress(repository)
    link_program()
    if as_json:
        pulled = None if found is None else {**found.key._asdict(), "distance": found.distance}
        print_json({"pulled": pulled, "messages": messages, "parsed": report.files_parsed, "files": report.files})
        return 0
    if found is not None:
        behind = f", {counted(found.distance, 'commit')} before HEAD" if found.distance else ""
        messages.append(f"Pulled {found.key.repository} at {found.key.commit[:12]}{behind}.")
    messages.append(f"Learned the difference: {report.files_parsed:,} of {counted(report.files, 'file')} parsed.")
    print_lines(messages)
    return 0


def _repository_at(start: Path) -> LearnedRepository:
    """The learned repository, or else the git checkout, that contains a directory."""
    if not start.is_dir():
        raise UsageError(f"There is no directory {start}. Check the path.")
    try:
        return find_repository(start)
    except StoreError:
        require_repository(start)
        root = top_of(start.resolve())
        assert root is not None, "require_repository found it"
        return LearnedRepository(root, store_of(root))


def _is_current(repository: LearnedRepository) -> bool:
    try:
        with Store.open(repository.store, write=False) as store:
            return not is_outdated(store)
    except StoreError:
        return False


def _nearest(lake: Lake, root: Path, name: str, messages: list[str]) -> _Publication | None:
    """The newest publication of the nearest commit at or before HEAD that this golore can use. `messages` gets the
    reasons why others are not used."""
    names = published_names(root, name)
    published: dict[str, list[HeadKey]] = {}
    for one in names:
        for key in reversed(head_keys(lake, one)):
            published.setdefault(key.commit, []).append(key)
    refused: set[str] = set()
    for distance, commit in enumerate(ancestors(root, commit_of(root, "HEAD")) if published else ()):
        for key in published.get(commit, ()):
            try:
                head = read_head(lake, key)
            except LakeError as failure:
                refused.add(str(failure))
                continue
            reason = require_fitting(head.store, learner_version()) if head.store else head.why_no_store
            if not reason:
                return _Publication(key, head, distance)
            refused.add(f"The store of {key.commit[:12]} does not fit: {reason}.")
    messages += sorted(refused)
    if not refused:
        where = "no commit at or before HEAD" if published else "no commit"
        messages.append(f"The lake {lake.name} has {where} of {names[0]}, so everything was learned here.")
    return None
