"""The Go project model: modules and workspaces, the import path of each directory, and the source of each import.

Follows the rules of the `go` command without running it and without the network. An import is always looked up for the
directory that imports it, because the same path may mean different packages in two modules of one repository. Where Go
would use a published version of a module whose source is in this repository, the source in the repository is used: it
is the code that its readers can see and change.

A module that vendors nothing can use packages that another module of the repository vendors: at exactly the version
that it requires, or from a module that requires it and is built with both.

Versions are those written in go.mod files; the requirements of dependencies' own go.mod files are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from golore.graph.model.entities import ImportPath, Problem, RepoPath
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.discovery import Discovery
from golore.learner.go_rules import go_env
from golore.learner.go_rules.go_env import Environment
from golore.learner.go_rules.go_mod import VendorList, parse_gomod, parse_vendor_list
from golore.learner.project.modules import (
    Build,
    Module,
    Workspace,
    build_of,
    join_path,
    latest_requires,
    read_workspace,
    self_and_parents,
    workspace_of,
)

LocationKind = Literal["repo", "local", "vendor", "modcache", "gopath", "goroot", "std"]


class Location(NamedTuple):
    """The directory that contains the source of an imported package.

    `repo`: a directory of the learned tree, the only kind whose `dir` is relative to the root. `local`: a directory
    whose files were not learned, such as one outside the tree that `replace` or go.work names. `std`: the standard
    library, without `dir`. `import_path` is the package's own path, which differs from the import for packages that the
    standard library vendors.
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
    """Sorted by module path. Includes the module above the root that the root belongs to, if any."""
    workspaces: tuple[Workspace, ...]
    directories: frozenset[str]
    """The directories of the learned Go files, relative to the root; the root is ""."""
    vendors: dict[str, VendorList]
    """The content of modules.txt by vendor directory, absolute."""
    environment: Environment
    problems: tuple[Problem, ...]
    module_at: dict[str, Module] = field(repr=False)
    required: dict[str, str] = field(repr=False)
    """The newest version of each module that a module of the repository requires."""
    vendored: dict[tuple[str, str, str], list[str]] = field(repr=False)
    """Vendor directories by the module they contain: the path it is imported by, and the module and version it is."""
    dirs_of: dict[str, list[str]] = field(default_factory=dict[str, list[str]], repr=False)
    # Caches of lookups, whose results do not change once the project is built.
    _versions: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]], repr=False)
    builds: dict[str, Build] = field(default_factory=dict[str, Build], repr=False)
    _modules_by_dir: dict[str, Module | None] = field(default_factory=dict[str, Module | None], repr=False)
    _locations: dict[tuple[str, str], Location | None] = field(
        default_factory=dict[tuple[str, str], Location | None], repr=False
    )

    @property
    def ignores(self) -> bool:
        """Whether a module has `ignore` directives, which name directories that Go skips."""
        return any(module.mod.ignores for module in self.modules)

    def module_of(self, directory: str) -> Module | None:
        """The module that contains a directory: that of the nearest go.mod at or above it."""
        if directory not in self._modules_by_dir:
            ancestors = self_and_parents(self.absolute(directory))
            self._modules_by_dir[directory] = next((self.module_at[a] for a in ancestors if a in self.module_at), None)
        return self._modules_by_dir[directory]

    def import_path(self, directory: str) -> ImportPath:
        """The path by which a directory is imported."""
        module = self.module_of(directory)
        if module is None:
            return ImportPath(_path_without_module(self, directory))
        path_in_module = self.absolute(directory)[len(module.dir) + 1 :]
        return ImportPath("/".join(part for part in (module.import_prefix, path_in_module) if part) or ".")

    def id_suffix(self, directory: str) -> str:
        """The suffix of package ids: empty, or `@` and the directory if the import path alone is ambiguous.

        It is ambiguous if an earlier directory has the same path, or if it is `x_test` and there is an `x`, whose
        external test package has that path.
        """
        path = self.import_path(directory)
        is_later = path in self.dirs_of and self.dirs_of[path][0] != directory
        is_test_name = path.endswith("_test") and path.removesuffix("_test") in self.dirs_of
        return f"@{directory}" if is_later or is_test_name else ""

    def find(self, importing_dir: str, import_path: str) -> Location | None:
        """The location of an import in a directory of the repository; None if its source is not on this machine."""
        module = self.module_of(importing_dir)
        # Within a module the importing directory does not matter; without a module, and for `./x`, it does.
        is_shared = module is not None and not import_path.startswith(".")
        key = (module.dir if is_shared and module else importing_dir, import_path)
        if key not in self._locations:
            self._locations[key] = _find_uncached(self, module, importing_dir, import_path)
        return self._locations[key]

    def vendored_versions(self, vendor: str) -> dict[str, str]:
        """The modules of a vendor directory with their versions, by the path they are imported by."""
        if vendor not in self._versions:
            modules = self.vendors[vendor].modules if vendor in self.vendors else ()
            self._versions[vendor] = {module.path: module.version for module in modules}
        return self._versions[vendor]

    def all_builds(self) -> list[tuple[str, Build]]:
        """The `Build` of each module by its directory, and of code without a module as ""."""
        for module in (None, *self.modules):
            _build(self, module)
        return sorted(self.builds.items())

    def absolute(self, directory: str) -> str:
        return f"{self.root.as_posix()}/{directory}" if directory else self.root.as_posix()

    def relative(self, directory: str) -> str | None:
        """An absolute directory as a path relative to the root; None if no Go files were learned from it."""
        root = self.root.as_posix()
        relative = directory.removeprefix(f"{root}/") if directory != root else ""
        return relative if relative in self.directories else None

    def directories_of(self, import_path: str) -> tuple[RepoPath, ...]:
        """The directories that have this import path, sorted; more than one if modules share a path."""
        return tuple(RepoPath(directory) for directory in self.dirs_of.get(import_path, ()))


def build_project(discovery: Discovery, environment: Environment | None = None) -> Project:
    go_env.clear_listings()
    environment = go_env.read_environment() if environment is None else environment
    modules: list[Module] = []
    workspaces: list[Workspace] = []
    problems: list[Problem] = []
    root = discovery.root.as_posix()
    vendors = {f"{root}/{path}": VendorList() for path in discovery.vendors}
    for path, data in discovery.configs:
        directory, name = os.path.split(join_path(root, path))
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
    if Path(environment.gowork).is_absolute() and Path(environment.gowork).is_file():
        named = Path(environment.gowork)
        try:
            data = read_regular(named, SOURCE_LIMIT, follow=True)
            workspaces = [read_workspace(named.parent.as_posix(), str(named), data, problems)]
        except OSError as error:
            problems.append(Problem(str(named), 0, f"file cannot be read: {error.strerror}"))
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
    for vendor, vendor_list in sorted(vendors.items()):
        for item in vendor_list.modules:
            name, _, version = item.replacement.partition(" ") if item.replacement else (item.path, "", item.version)
            if version:
                found.setdefault((item.path, name, version), []).append(vendor)
    return found


def _path_without_module(project: Project, directory: str) -> str:
    """The import path that GOPATH implies, or, outside of any `src`, the path relative to the root."""
    absolute = project.absolute(directory)
    for gopath in project.environment.gopath:
        if absolute.startswith(f"{gopath}/src/"):
            return absolute[len(f"{gopath}/src/") :]
    _, src, below = f"/{directory}".partition("/src/")
    if src:
        return below
    _, src, below = absolute.rpartition("/src/")
    if src and "." in below.partition("/")[0]:
        return below
    return directory or "."


def _find_uncached(project: Project, module: Module | None, importing_dir: str, path: str) -> Location | None:
    if path in ("unsafe", "C"):
        return Location("std", ImportPath(path))
    if path.startswith(("./", "../")) or path in (".", ".."):
        return _in_tree(project, join_path(project.absolute(importing_dir), path))
    undotted = "." not in path.partition("/")[0]
    std_module = next((other for other in project.modules if other.path == "std"), None) if undotted else None
    if std_module is not None:
        found = _in_module(project, std_module.dir, path)
        if found is not None:
            return found
    elif path in project.environment.std:
        return Location("std", ImportPath(path), module="std")
    found = _in_sources(project, module, path) or _in_external_code(project, module, importing_dir, path)
    return found if found is not None or not undotted else _in_standard_library(project.environment, path)


def _in_tree(project: Project, directory: str) -> Location | None:
    relative = project.relative(directory)
    if relative is None:
        return None
    owner = project.module_of(relative)
    return Location("repo", project.import_path(relative), relative, owner.path if owner else "")


def _in_module(project: Project, module_dir: str, rest: str) -> Location | None:
    """A package of the learned tree that belongs to the module in `module_dir`, not to a module nested in it."""
    found = _in_tree(project, f"{module_dir}/{rest}" if rest else module_dir)
    if found is None:
        return None
    nearest = next((d for d in self_and_parents(project.absolute(found.dir)) if d in project.module_at), "")
    return found if len(nearest) <= len(module_dir) else None


def _in_sources(project: Project, module: Module | None, path: str) -> Location | None:
    """A package of a module that is available as source, in the repository or beside it."""
    sources = _build(project, module).sources
    for prefix in self_and_parents(path):
        rest = path[len(prefix) + 1 :]
        for directory in sources.get(prefix, ()):
            found = _in_module(project, directory, rest)
            if found is not None:
                return found
            package = f"{directory}/{rest}" if rest else directory
            if not _is_nested(directory, rest) and go_env.has_go_files(package):
                return Location("local", ImportPath(path), package, prefix)
    without_module = [d for d in project.directories_of(path) if project.module_of(d) is None]
    if module is None and without_module:
        return _in_tree(project, project.absolute(without_module[0]))
    return None


def _in_external_code(project: Project, module: Module | None, importing_dir: str, path: str) -> Location | None:
    environment = project.environment
    vendored = _in_vendor(project, module, importing_dir, path)
    if module is None or not environment.modules:
        directory = None if vendored else go_env.gopath_directory(environment, path)
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
        if go_env.has_go_files(directory):
            listed = project.vendored_versions(vendor)
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
            # No go.mod requires a version; if the cache has exactly one, it must be that one.
            present = go_env.cached_versions(environment, prefix)
            if len(present) != 1:
                continue
            name, version = prefix, present[0]
        base = go_env.cached_module(environment, name, version)
        directory = f"{base}{path[len(prefix) :]}"
        if base is not None and go_env.has_go_files(directory):
            return Location("modcache", ImportPath(path), directory, name, version)
    return None


def _in_standard_library(environment: Environment, path: str) -> Location | None:
    """The standard library package of a path without a dot in its first element, which was not found elsewhere."""
    directory = f"{environment.goroot}/src/{path}"
    if environment.goroot is not None and go_env.has_go_files(directory):
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
    """Whether the package `rest` below a module's directory belongs to another, nested module."""
    return any(Path(module_dir, part, "go.mod").is_file() for part in self_and_parents(rest) if part)
