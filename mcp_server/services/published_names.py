"""The names under which a repository is published, and the files of its store that a lake gets besides its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.errors import UsageError
from golore.graph.files.store_path import SURVEY_NAME
from golore.graph.lake.keys import is_repository_name, require_repository_name
from golore.learner.checkout.freshness import EDITS_NAME, SNAPSHOT_NAME
from golore.learner.checkout.git_remote import remote_names

STORE_FILES: Final = (SNAPSHOT_NAME, EDITS_NAME, SURVEY_NAME)


def published_names(root: Path, given: str, modules: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The given name, or those of the git remotes, or else the first module. The first one is published."""
    if given:
        return (require_repository_name(given),)
    names = tuple(filter(is_repository_name, remote_names(root) or modules[:1]))
    if not names:
        raise UsageError(
            "The repository has no remote to name it by. Name it with --name, such as example.com/team/shop."
        )
    return names
