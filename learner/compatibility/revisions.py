"""The packages of one state of the repository, with types: read on demand from git's objects, without tests.

A `Revision` has the types of all packages that it can reach. Packages outside the repository come from where they are
found on disk now, for both states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.files.cache_db import Cache
from golore.graph.files.file_state import UNKNOWN
from golore.graph.model.entities import RepoPath
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.changes.compared_files import ComparedFiles
from golore.learner.checkout.configs_above import ConfigFile, configs_above
from golore.learner.checkout.discovery import Discovery, SourceFile, is_skipped_by_go
from golore.learner.checkout.git_objects import ON_DISK, read_blobs, tree_files
from golore.learner.extraction import facts as f
from golore.learner.extraction.extract import extract_shape
from golore.learner.project.catalog import (
    CatalogPackage,
    FileHead,
    external_package,
    head_of,
    head_of_shape,
    repository_catalog,
)
from golore.learner.project.content_facts import ContentFacts, facts_of
from golore.learner.project.external_packages import unvendored_path
from golore.learner.project.project import Location, Project, build_project
from golore.learner.resolution.package_loader import PackageLoader
from golore.learner.resolution.types import Declaration, PackageScope
from golore.learner.resolution.world import World

_MODULE_FILES: Final = ("go.mod", "go.work", "modules.txt")
_MEMBERS: Final = ("field", "imethod")


class SourceText(NamedTuple):
    """A Go file of a state: its content, and the facts without bodies."""

    content: bytes
    facts: ContentFacts


class _Blobs:
    """The contents of git's objects, each read once for both states."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents: dict[str, bytes] = {}

    def read(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        missing = {blob for blob in blobs if blob != ON_DISK and blob not in self._contents}
        self._contents |= read_blobs(self._root, missing)
        return self._contents


class Revision:
    """One state. `files` has the blob of each file; `contents` has those that are not, or not only, in git."""

    def __init__(
        self, root: Path, files: Mapping[str, str], contents: Mapping[str, bytes], blobs: _Blobs, cache: Cache | None
    ) -> None:
        self._files = {path: blob for path, blob in files.items() if _is_read(path)}
        self._contents = contents
        self._blobs = blobs
        self._cache = cache
        self._texts: dict[str, SourceText] = {}
        self._directories: dict[str, list[str]] = {}
        for path in sorted(self._files):
            if path.endswith(".go"):
                self._directories.setdefault(path.rpartition("/")[0], []).append(path)
        self.project: Final = self._read_project(root)
        self._outside: Final = _OutsidePackages()
        self._loader: Final = PackageLoader(self.project, _LazyCatalog(self), {}, self._shape, self._outside.read)
        self.world: Final = World(self._loader)

    @property
    def directories(self) -> Iterable[str]:
        """The directories with Go files that are no tests."""
        return self._directories

    def package_in(self, directory: str) -> PackageScope | None:
        """The package proper of a directory; None if there is none."""
        found = self._loader.packages_in(directory)
        return found[0] if found else None

    def _shape(self, path: str) -> f.Shape:
        known = self._texts.get(path)
        return self._outside.shapes[path] if known is None else known.facts.shape

    def text_of(self, path: str) -> SourceText:
        """A Go file whose package was loaded."""
        return self._texts[path]

    def symbol_of(self, decl: Declaration) -> f.DeclaredSymbol:
        """The symbol of a package-level declaration of the repository."""
        symbols = self._texts[decl.file.path].facts.outline.symbols
        return [symbol for symbol in symbols if symbol.kind not in _MEMBERS][decl.ordinal]

    def catalog_of(self, directory: str) -> tuple[CatalogPackage, ...]:
        """The packages of a directory, whose files are read now."""
        paths = self._directories.get(directory, [])
        contents = self._read(paths)
        facts = facts_of(contents, self._cache)
        self._texts |= {path: SourceText(contents[path], facts[path]) for path in contents}
        heads = {path: head_of(path, facts[path].outline) for path in contents}
        return repository_catalog(self.project, heads).get(directory, ())

    def _read(self, paths: Iterable[str]) -> dict[str, bytes]:
        wanted = list(paths)
        blobs = self._blobs.read(self._files[path] for path in wanted if path not in self._contents)
        found = {path: self._contents.get(path, blobs.get(self._files[path])) for path in wanted}
        return {path: content for path, content in found.items() if content is not None}

    def _read_project(self, root: Path) -> Project:
        configs = self._read(path for path in self._files if not path.endswith(".go"))
        above = configs_above(root, set(configs))
        return build_project(
            Discovery(
                root,
                tuple(SourceFile(RepoPath(path), UNKNOWN) for path in sorted(self._files) if path.endswith(".go")),
                tuple(sorted([*(ConfigFile(path, data) for path, data in configs.items()), *above])),
                tuple(RepoPath(path.rpartition("/")[0]) for path in sorted(configs) if path.endswith("/modules.txt")),
                (),
            )
        )


def read_revisions(root: Path, compared: ComparedFiles, cache: Cache | None) -> tuple[Revision, Revision]:
    """The two states that are compared."""
    root = root.resolve()
    blobs = _Blobs(root)
    before = tree_files(root, compared.base_commit)
    after = dict(before)
    for pair in compared.files:
        if pair.after:
            after[pair.path] = pair.after
        else:
            after.pop(pair.path, None)
    return (
        Revision(root, before, compared.before, blobs, cache),
        Revision(root, after, compared.after, blobs, cache),
    )


def _is_read(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    if is_skipped_by_go(path):
        return False
    if name in _MODULE_FILES:
        return name != "modules.txt" or directory.rpartition("/")[2] == "vendor"
    return name.endswith(".go") and not name.endswith("_test.go") and "vendor" not in directory.split("/")


class _LazyCatalog(Mapping[str, tuple[CatalogPackage, ...]]):
    def __init__(self, revision: Revision) -> None:
        self._revision = revision

    def __getitem__(self, directory: str) -> tuple[CatalogPackage, ...]:
        return self._revision.catalog_of(directory)

    def __iter__(self) -> Iterator[str]:
        return iter(self._revision.directories)

    def __len__(self) -> int:
        return sum(1 for _ in self._revision.directories)


class _OutsidePackages:
    """Reads packages outside the repository from disk, and keeps the shapes of their files."""

    def __init__(self) -> None:
        self.shapes: dict[str, f.Shape] = {}

    def read(self, location: Location, context: str) -> CatalogPackage | None:
        heads: dict[str, FileHead] = {}
        for path in _go_files(location.dir):
            with suppress(OSError):
                self.shapes[path] = extract_shape(read_regular(path, SOURCE_LIMIT, follow=True))
                heads[path] = head_of_shape(path, self.shapes[path], "")
        return external_package(unvendored_path(location.import_path), location.dir, location.module, context, heads)


def _go_files(directory: str) -> list[str]:
    try:
        names = sorted(path.name for path in Path(directory).iterdir())
    except OSError:
        return []
    code = [name for name in names if name.endswith(".go") and not name.endswith("_test.go") and name[0] not in "._"]
    return [f"{directory}/{name}" for name in code]
