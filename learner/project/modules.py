"""Modules and workspaces, and how they determine the imports of one module.

Works on go.mod and go.work files that were already read; only the go.mod of a workspace module outside the learned tree
is read here, when it is needed. Directories are absolute, because a module may be above the learned root or beside it.
They have slashes, on Windows too. Does not check whether a directory contains a package.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from golore.graph.model.entities import Problem
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.go_rules.go_mod import GoMod, Replace, parse_gomod, parse_gowork, version_key


class Module(NamedTuple):
    """A go.mod that was read."""

    path: str
    dir: str
    mod: GoMod

    @property
    def import_prefix(self) -> str:
        return "" if self.path == "std" else self.path


class Workspace(NamedTuple):
    """A go.work that was read."""

    dir: str
    uses: tuple[str, ...]
    replaces: tuple[Replace, ...]


class Build(NamedTuple):
    """How the imports of one module are found: modules available as source, and versions in the module cache."""

    sources: dict[str, tuple[str, ...]]
    """Directories by module path: main modules, local replacements, other modules of the repository."""
    versions: dict[str, tuple[str, str]]
    """Module and version, after replacements, by the module path that is imported."""
    vendors: tuple[str, ...]
    borrowed: tuple[str, ...]
    """The vendor directories of the modules that require this one, which are used to build it as their dependency."""


def read_workspace(directory: str, name: str, data: bytes, problems: list[Problem]) -> Workspace:
    work = parse_gowork(data, name)
    problems += work.problems
    return Workspace(directory, tuple(join_path(directory, use) for use in work.uses), work.replaces)


def build_of(
    module: Module | None, modules: tuple[Module, ...], workspace: Workspace | None, required: Mapping[str, str]
) -> Build:
    """How the imports of a module are found. `modules` are all modules of the repository and `required` the versions
    that they require; without a module only these count."""
    mains = _mains(module, modules, workspace)
    layers = [(workspace.dir, workspace.replaces)] if workspace else []
    layers += [(main.dir, main.mod.replaces) for main in mains]
    # The requirements of the main modules take precedence over those of the others.
    wanted = {**required, **latest_requires(mains)}
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for main in mains:
        sources[main.path].append(main.dir)
    versions = {path: (path, version) for path, version in wanted.items()}
    replaced: set[str] = set()
    for old in sorted({replace.old for _, replaces in layers for replace in replaces}.difference(sources)):
        chosen = _replacement(layers, old, wanted.get(old, ""))
        if chosen is None:
            continue
        directory, replace = chosen
        replaced.add(old)
        if replace.local:
            sources[old].append(join_path(directory, replace.new))
            versions.pop(old, None)
        else:
            versions[old] = (replace.new, replace.new_version)
    counts = Counter(other.path for other in modules)
    for other in modules:
        if other.path not in sources and other.path not in replaced and counts[other.path] == 1:
            sources[other.path].append(other.dir)
    vendors = [f"{workspace.dir}/vendor"] if workspace else []
    vendors += [f"{module.dir}/vendor"] if module else []
    dependents = [other for other in modules if module and any(r.path == module.path for r in other.mod.requires)]
    borrowed = tuple(f"{other.dir}/vendor" for other in dependents)
    return Build({path: tuple(found) for path, found in sources.items()}, versions, tuple(vendors), borrowed)


def workspace_of(module: Module, workspaces: tuple[Workspace, ...], named: bool) -> Workspace | None:
    """The workspace a module is built in: the nearest go.work at or above it, if that one uses it.

    If `named`, the go.work comes from GOWORK and applies wherever it is.
    """
    parents = frozenset(self_and_parents(module.dir))
    candidates = [workspace for workspace in workspaces if named or workspace.dir in parents]
    nearest = max(candidates, key=lambda workspace: len(workspace.dir), default=None)
    return nearest if nearest is not None and module.dir in nearest.uses else None


def _mains(module: Module | None, modules: tuple[Module, ...], workspace: Workspace | None) -> tuple[Module, ...]:
    """The module itself, then the others of its workspace."""
    if module is None:
        return ()
    by_directory = {other.dir: other for other in modules}
    uses = workspace.uses if workspace else ()
    others = [by_directory.get(use) or _module_on_disk(use) for use in uses if use != module.dir]
    return (module, *(other for other in others if other is not None))


def latest_requires(modules: tuple[Module, ...]) -> dict[str, str]:
    """The newest version of each module that one of these requires."""
    latest: dict[str, str] = {}
    for module in modules:
        for require in module.mod.requires:
            known = latest.get(require.path, "")
            if known != require.version:
                latest[require.path] = max(known, require.version, key=version_key)
    return latest


def _module_on_disk(directory: str) -> Module | None:
    try:
        mod = parse_gomod(read_regular(f"{directory}/go.mod", SOURCE_LIMIT, follow=True))
    except (OSError, ValueError):  # a path in a file may have characters that no file name can have
        return None
    return Module(mod.module, directory, mod) if mod.module else None


def _replacement(layers: list[tuple[str, tuple[Replace, ...]]], old: str, version: str) -> tuple[str, Replace] | None:
    """The replacement of a module: go.work before go.mod, one for this version before one for all versions."""
    for directory, replaces in layers:
        matching = [r for r in replaces if r.old == old and r.old_version in ("", version)]
        if matching:
            return directory, max(matching, key=lambda replace: replace.old_version != "")
    return None


def self_and_parents(path: str) -> Iterator[str]:
    """A path with slashes and all its parents, longest first."""
    while True:
        yield path
        path, slash, _ = path.rpartition("/")
        if not slash:
            return


def join_path(directory: str, path: str) -> str:
    """A path that a file in `directory` names, joined to the directory and normalized, with slashes."""
    return os.path.normpath(path if Path(path).is_absolute() else f"{directory}/{path}").replace(os.sep, "/")
