"""The Go project model: modules and workspaces, directory ↔ import path, and where an import's source lives.

Follows the `go` command's rules without running it and without the network. An import is always looked up for the
directory that imports it, because two modules of one repository may mean different things by one path. Where Go
would take a published version of a module whose source is in this repository, the source in the repository is
taken: that is the code its readers can see and change.

A module that vendors nothing finds what another one of the repository has vendored: at the very version that it asks
for, or as the module has it that requires this one and is built with both.

Versions are those written in go.mod files; the requirements of dependencies' own go.mod files are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from golore.graph.model.entities import ImportPath, Problem, RepoPath
from golore.learner.checkout.discovery import Discovery
from golore.learner.go_rules import go_env as outside
from golore.learner.go_rules.go_env import Environment
from golore.learner.go_rules.go_mod import VendorList, parse_gomod, parse_vendor_list
from golore.learner.project.modules import (
    Build,
    Module,
    Workspace,
    beneath,
    build_of,
    latest_requires,
    read_workspace,
    self_and_parents,
    workspace_of,
)

LocationKind = Literal["repo", "local", "vendor", "modcache", "gopath", "goroot", "std"]


class Location(NamedTuple):
    """Where the source of an imported package is.

    `repo`: a directory of the learned tree, the only kind whose `dir` is relative to the root. `local`: a directory of
    this machine outside that tree, by `replace` or go.work. `std`: the standard library, with no `dir`.
    `import_path` is the package's own, which differs from the import for what the standard library vendors.
    """

    kind: LocationKind
    import_path: ImportPath
    dir: str = ""
    module: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    root: Path
    modules: tuple[Module, ...]
    """In the order of their directories; one above the root, of which the root is part, is among them."""
    workspaces: tuple[Workspace, ...]
    directories: frozenset[str]
    """The directories of the learned Go files, relative to the root, which is ""."""
    vendors: dict[str, VendorList]
    """Vendor directories, absolute, with what their modules.txt says."""
    environment: Environment
    problems: tuple[Problem, ...]
    module_at: dict[str, Module] = field(repr=False)
    required: dict[str, str] = field(repr=False)
    """The newest version of each module that one of the repository's asks for."""
    vendored: dict[tuple[str, str, str], list[str]] = field(repr=False)
    """The vendor directories that have a module: by the path it is imported by, and what module and version it is."""
    dirs_of: dict[str, list[str]] = field(default_factory=dict[str, list[str]], repr=False)
    # What was asked before: the answers are fixed once the project is built.
    builds: dict[str, Build] = field(default_factory=dict[str, Build], repr=False)
    _owners: dict[str, Module | None] = field(default_factory=dict[str, Module | None], repr=False)
    _found: dict[tuple[str, str], Location | None] = field(
        default_factory=dict[tuple[str, str], Location | None], repr=False
    )

    @property
    def ignores(self) -> bool:
        """Whether a module names directories that Go is to leave out."""
        return any(module.mod.ignores for module in self.modules)

    def module_of(self, directory: str) -> Module | None:
        """The module that owns a directory: that of the nearest go.mod at or above it."""
        if directory not in self._owners:
            ancestors = self_and_parents(self.absolute(directory))
            self._owners[directory] = next((self.module_at[a] for a in ancestors if a in self.module_at), None)
        return self._owners[directory]

    def import_path(self, directory: str) -> ImportPath:
        """The path by which a directory is imported."""
        module = self.module_of(directory)
        if module is None:
            return ImportPath(_path_without_module(self, directory))
        inside = self.absolute(directory)[len(module.dir) + 1 :]
        return ImportPath("/".join(part for part in (module.import_prefix, inside) if part) or ".")

    def id_suffix(self, directory: str) -> str:
        """What a package id needs besides the import path: nothing, or the directory when the path is taken.

        It is taken when an earlier directory has it too, or when it is `x_test` and there is an `x`, whose external
        test package is called just that.
        """
        path = self.import_path(directory)
        is_later = path in self.dirs_of and self.dirs_of[path][0] != directory
        is_test_name = path.endswith("_test") and path.removesuffix("_test") in self.dirs_of
        return f"@{directory}" if is_later or is_test_name else ""

    def find(self, importing_dir: str, import_path: str) -> Location | None:
        """Where an import in a directory of the repository leads; None when its source is not on this machine."""
        module = self.module_of(importing_dir)
        # Within a module the importing directory makes no difference; without one, and for `./x`, it does.
        is_shared = module is not None and not import_path.startswith(".")
        key = (module.dir if is_shared and module else importing_dir, import_path)
        if key not in self._found:
            self._found[key] = _find(self, module, importing_dir, import_path)
        return self._found[key]

    def all_builds(self) -> list[tuple[str, Build]]:
        """What decides the imports of each module."""
        for module in (None, *self.modules):
            _build(self, module)
        return sorted(self.builds.items())

    def absolute(self, directory: str) -> str:
        return f"{self.root}/{directory}" if directory else str(self.root)

    def relative(self, directory: str) -> str | None:
        """An absolute directory as the repository's, if Go files were learned from it."""
        inside = directory.removeprefix(f"{self.root}/") if directory != str(self.root) else ""
        return inside if inside in self.directories else None

    def directories_of(self, import_path: str) -> tuple[RepoPath, ...]:
        """The directories that have this import path, in order; more than one when modules share a path."""
        return tuple(RepoPath(directory) for directory in self.dirs_of.get(import_path, ()))


def build_project(discovery: Discovery, environment: Environment | None = None) -> Project:
    outside.forget()
    environment = outside.read_environment() if environment is None else environment
    modules: list[Module] = []
    workspaces: list[Workspace] = []
    problems: list[Problem] = []
    vendors = {f"{discovery.root}/{path}": VendorList() for path in discovery.vendors}
    for path, data in discovery.configs:
        directory, name = os.path.split(os.path.normpath(f"{discovery.root}/{path}"))
        if name == "go.mod":
            mod = parse_gomod(data, path)
            problems += mod.problems
            if mod.module:
                modules.append(Module(mod.module, directory, mod))
        elif name == "go.work" and environment.gowork != "off":
            workspaces.append(read_workspace(directory, path, data, problems))
        elif name == "modules.txt":
            vendors[directory] = parse_vendor_list(data, path)
            problems += vendors[directory].problems
    if environment.gowork.startswith("/") and Path(environment.gowork).is_file():
        named = Path(environment.gowork)
        workspaces = [read_workspace(str(named.parent), str(named), named.read_bytes(), problems)]
    modules.sort()
    project = Project(
        discovery.root,
        tuple(modules),
        tuple(workspaces),
        frozenset(file.path.rpartition("/")[0] for file in discovery.files),
        vendors,
        environment,
        tuple(problems),
        {module.dir: module for module in modules},
        latest_requires(tuple(modules)),
        _vendored_modules(vendors),
    )
    for directory in sorted(project.directories):
        project.dirs_of.setdefault(project.import_path(directory), []).append(directory)
    return project


def _vendored_modules(vendors: Mapping[str, VendorList]) -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for vendor, listed in sorted(vendors.items()):
        for item in listed.modules:
            name, _, version = item.replacement.partition(" ") if item.replacement else (item.path, "", item.version)
            if version:
                found.setdefault((item.path, name, version), []).append(vendor)
    return found


def _path_without_module(project: Project, directory: str) -> str:
    """The import path that GOPATH would give, or, outside of any `src`, the path below the root."""
    whole = project.absolute(directory)
    for gopath in project.environment.gopath:
        if whole.startswith(f"{gopath}/src/"):
            return whole[len(f"{gopath}/src/") :]
    _, src, below = f"/{directory}".partition("/src/")
    if src:
        return below
    _, src, below = whole.rpartition("/src/")
    if src and "." in below.partition("/")[0]:
        return below
    return directory or "."


def _find(project: Project, module: Module | None, importing_dir: str, path: str) -> Location | None:
    if path in ("unsafe", "C"):
        return Location("std", ImportPath(path))
    if path.startswith(("./", "../")) or path in (".", ".."):
        return _in_tree(project, beneath(project.absolute(importing_dir), path))
    undotted = "." not in path.partition("/")[0]
    library = next((other for other in project.modules if other.path == "std"), None)
    if undotted and library is not None:
        found = _in_module(project, library.dir, path)
        if found is not None:
            return found
    elif path in project.environment.std:
        return Location("std", ImportPath(path), module="std")
    found = _in_sources(project, module, path) or _from_outside(project, module, importing_dir, path)
    return found if found is not None or not undotted else _in_library(project.environment, path)


def _in_tree(project: Project, directory: str) -> Location | None:
    inside = project.relative(directory)
    if inside is None:
        return None
    owner = project.module_of(inside)
    return Location("repo", project.import_path(inside), inside, owner.path if owner else "")


def _in_module(project: Project, module_dir: str, rest: str) -> Location | None:
    """A package of the learned tree in the module of a directory, but not in a module nested in that one."""
    found = _in_tree(project, f"{module_dir}/{rest}" if rest else module_dir)
    if found is None:
        return None
    nearest = next((d for d in self_and_parents(project.absolute(found.dir)) if d in project.module_at), "")
    return found if len(nearest) <= len(module_dir) else None


def _in_sources(project: Project, module: Module | None, path: str) -> Location | None:
    """A package whose source is at hand: in the repository or beside it."""
    sources = _build(project, module).sources
    for prefix in self_and_parents(path):
        rest = path[len(prefix) + 1 :]
        for directory in sources.get(prefix, ()):
            found = _in_module(project, directory, rest)
            if found is not None:
                return found
            package = f"{directory}/{rest}" if rest else directory
            if not _is_nested(directory, rest) and outside.has_go_files(package):
                return Location("local", ImportPath(path), package, prefix)
    without_module = [d for d in project.directories_of(path) if project.module_of(d) is None]
    if module is None and without_module:
        return _in_tree(project, project.absolute(without_module[0]))
    return None


def _from_outside(project: Project, module: Module | None, importing_dir: str, path: str) -> Location | None:
    environment = project.environment
    vendored = _in_vendor(project, module, importing_dir, path)
    if module is None or not environment.modules:
        directory = None if vendored else outside.gopath_directory(environment, path)
        return Location("gopath", ImportPath(path), directory) if directory else vendored
    cached = None if vendored and environment.mod != "mod" else _in_cache(project, module, path)
    return cached or vendored or _vendored_elsewhere(project, module, path)


def _in_vendor(project: Project, module: Module | None, importing_dir: str, path: str) -> Location | None:
    if module is None:
        vendors = tuple(f"{parent}/vendor" for parent in self_and_parents(project.absolute(importing_dir)))
    else:
        vendors = _build(project, module).vendors
    own_path = path
    if module is not None and module.path in ("std", "cmd"):
        own_path = "/".join(part for part in (module.import_prefix, "vendor", path) if part)
    return _first_vendored(project, vendors, path, own_path)


def _first_vendored(project: Project, vendors: Iterable[str], path: str, own_path: str) -> Location | None:
    for vendor in vendors:
        directory = f"{vendor}/{path}"
        if outside.has_go_files(directory):
            listed = {item.path: item.version for item in project.vendors.get(vendor, VendorList()).modules}
            owner = next((prefix for prefix in self_and_parents(path) if prefix in listed), "")
            return Location("vendor", ImportPath(own_path), directory, owner, listed.get(owner, ""))
    return None


def _vendored_elsewhere(project: Project, module: Module, path: str) -> Location | None:
    build = _build(project, module)
    owner = next((prefix for prefix in self_and_parents(path) if prefix in build.versions), "")
    same = project.vendored.get((owner, *build.versions[owner]), ()) if owner else ()
    borrowed = [vendor for vendor in build.borrowed if vendor in project.vendors]
    return _first_vendored(project, (*same, *borrowed), path, path)


def _in_cache(project: Project, module: Module, path: str) -> Location | None:
    versions = _build(project, module).versions
    environment = project.environment
    for prefix in self_and_parents(path):
        if prefix in versions:
            name, version = versions[prefix]
        else:
            # Nothing asks for it by version; a single one on disk is the only one it can be.
            present = outside.cached_versions(environment, prefix)
            if len(present) != 1:
                continue
            name, version = prefix, present[0]
        base = outside.cached_module(environment, name, version)
        directory = f"{base}{path[len(prefix) :]}"
        if base is not None and outside.has_go_files(directory):
            return Location("modcache", ImportPath(path), directory, name, version)
    return None


def _in_library(environment: Environment, path: str) -> Location | None:
    """An undotted path that nothing else serves can only be the standard library's."""
    directory = f"{environment.goroot}/src/{path}"
    if environment.goroot is not None and outside.has_go_files(directory):
        return Location("goroot", ImportPath(path), directory, "std")
    return None if environment.std else Location("std", ImportPath(path), module="std")


def _build(project: Project, module: Module | None) -> Build:
    key = module.dir if module else ""
    if key not in project.builds:
        named = project.environment.gowork not in ("", "off")
        workspace = workspace_of(module, project.workspaces, named) if module else None
        project.builds[key] = build_of(module, project.modules, workspace, project.required)
    return project.builds[key]


def _is_nested(module_dir: str, rest: str) -> bool:
    """Is a package below a module's directory in another module?"""
    return any(Path(module_dir, part, "go.mod").is_file() for part in self_and_parents(rest) if part)
