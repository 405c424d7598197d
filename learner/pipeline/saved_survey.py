"""The survey of the last learn, saved beside the graph so that the next learn can start from it.

It is valid only for the graph that was made from it. The next learn still checks files and directories; it does not
compute again what follows from them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.cache_db import CachedFile
from golore.graph.files.store_path import SURVEY_NAME
from golore.graph.model.entities import Problem
from golore.graph.safety.regular_file import read_regular
from golore.learner.checkout.discovery import Discovery
from golore.learner.pipeline.stored_keys import StoredKeys
from golore.learner.pipeline.version import learner_version
from golore.learner.project.catalog import CatalogPackage
from golore.learner.project.external_packages import ExternalPackages
from golore.learner.project.project import Project

_MAX_BYTES: Final = 1 << 30


class SavedSurvey(msgspec.Struct, frozen=True, array_like=True, gc=False):
    version: str
    graph: str
    layout: str
    """What decides where imports lead, apart from the contents of external directories (see `layout_key`)."""
    also: tuple[str, ...]
    files: dict[str, CachedFile]
    catalog: dict[str, tuple[CatalogPackage, ...]]
    outside: ExternalPackages
    stored_keys: StoredKeys
    problems: tuple[Problem, ...]


def layout_key(discovery: Discovery, project: Project) -> str:
    """Digest of modules, workspaces, vendoring, the Go environment, and the problems and links that discovery found."""
    inputs = (
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
    return blake2b(json.dumps(inputs, default=str).encode(), digest_size=16).hexdigest()


def save(directory: Path, survey: SavedSurvey) -> None:
    """Write the survey. If the store is not writable, nothing is saved."""
    with suppress(OSError):
        replace_file(directory / SURVEY_NAME, msgspec.msgpack.encode(survey))


def read_saved_survey(directory: Path) -> SavedSurvey | None:
    """None if there is none, or if another version of the learner saved it."""
    try:
        saved = msgspec.msgpack.decode(read_regular(directory / SURVEY_NAME, _MAX_BYTES), type=SavedSurvey)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return saved if saved.version == learner_version() else None
