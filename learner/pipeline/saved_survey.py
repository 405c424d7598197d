"""What a learn found out about a repository, kept beside the graph for the next one, so that it need not begin anew.

It counts only beside the very graph that was made from it. Files and directories are looked at all the same; what is
spared is working out again what follows from them.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.cache_db import CachedFile
from golore.graph.model.entities import Problem
from golore.learner.checkout.discovery import Discovery
from golore.learner.pipeline.stored_keys import StoredKeys
from golore.learner.pipeline.version import learner_version
from golore.learner.project.catalog import CatalogPackage
from golore.learner.project.external_packages import ExternalPackages
from golore.learner.project.project import Project

KEPT_NAME: Final = "survey.msgpack"


class SavedSurvey(msgspec.Struct, frozen=True, array_like=True, gc=False):
    edition: str
    graph: str
    ground: str
    """What decides where imports lead, apart from what is in directories outside (`layout_key`)."""
    also: tuple[str, ...]
    files: dict[str, CachedFile]
    catalog: dict[str, tuple[CatalogPackage, ...]]
    outside: ExternalPackages
    marks: StoredKeys
    problems: tuple[Problem, ...]


def layout_key(discovery: Discovery, project: Project) -> str:
    told = (
        project.modules,
        project.workspaces,
        sorted(project.vendors.items()),
        project.environment.gopath,
        project.environment.gomodcache,
        project.environment.goroot,
        project.environment.modules,
        project.environment.mod,
        project.environment.gowork,
        sorted(project.environment.std),
        project.all_builds(),
        discovery.problems,
        discovery.links,
    )
    return blake2b(repr(told).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def save(directory: Path, kept: SavedSurvey) -> None:
    """A store that cannot be written to goes without."""
    with suppress(OSError):
        replace_file(directory / KEPT_NAME, msgspec.msgpack.encode(kept))


def read_saved_survey(directory: Path) -> SavedSurvey | None:
    try:
        kept = msgspec.msgpack.decode((directory / KEPT_NAME).read_bytes(), type=SavedSurvey)
    except (OSError, msgspec.MsgspecError):
        return None
    return kept if kept.edition == learner_version() else None
