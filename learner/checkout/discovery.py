"""Finds the Go files of a repository in one walk, along with what says how they are built, and its documents.

Taken are the files that Go itself would consider and git would not ignore: not below `vendor`, `testdata` or a
directory that begins with `_` or `.`, and not of such a name. Submodules that are checked out belong to the tree;
other repositories and worktrees inside it do not. Directory links are never followed; a linked file is taken when it
leads to a file below the root that is not taken already. What Go leaves out when it lists packages can be imported all
the same: whoever finds such imports names those directories, and they are taken too.

Nothing is left out silently that Go would have compiled: too large, unreadable or strangely named files are problems.
Contents are not read here, except of go.mod, go.work and vendor/modules.txt.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import RepositoryError
from golore.graph.model.entities import Digest, Problem, RepoPath
from golore.learner.checkout import git_directory
from golore.learner.checkout.document_names import SUFFIXES, is_document
from golore.learner.checkout.ignore_rules import IgnoreRules, rules_for
from golore.learner.go_rules import go_mod

MEBIBYTE: Final = 1 << 20


class SourceFile(NamedTuple):
    path: RepoPath
    size: int
    mtime_ns: int


class ConfigFile(NamedTuple):
    """A go.mod, go.work or vendor/modules.txt. One that lies above the root has a path that begins with `../`."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    max_file_bytes: int = 8 * MEBIBYTE


DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Discovery:
    """Everything in the order of its path."""

    root: Path
    files: tuple[SourceFile, ...]
    configs: tuple[ConfigFile, ...]
    vendors: tuple[RepoPath, ...]
    """Vendor directories: not entered, but asked for the packages they hold."""
    problems: tuple[Problem, ...]
    directories: tuple[str, ...] = ()
    """Every directory that was listed, relative to the root, which is ""."""
    ignores: tuple[str, ...] = ()
    """The `.gitignore` files that were read."""
    links: tuple[str, ...] = ()
    """Those of the files that are symbolic links."""
    documents: tuple[SourceFile, ...] = ()
    """What is no Go and tells of it, by the same rules; links are left out."""
    also: tuple[str, ...] = ()
    """Directories that were taken although Go would leave them out."""


def discover(root: Path, limits: Limits = DEFAULT_LIMITS, *, also: Collection[str] = ()) -> Discovery:
    """Walks the tree below a root. Raises RepositoryError when there is nothing there to learn.

    `also`: directories to be taken although Go would leave them out.
    """
    root = _checked_root(root)
    ways = frozenset(way for directory in also for way in _self_and_parents(directory))
    walk = _Walk(root, limits, frozenset(also), ways)
    pending = [_Directory("", rules_for(root), git_directory.checkout_of(root))]
    while pending:
        pending += _visit(walk, pending.pop())
    _take_links(walk)
    if not walk.files:
        first = f" ({min(walk.problems).file}: {min(walk.problems).message})" if walk.problems else ""
        raise RepositoryError(f"There are no Go files in {root}{first}. Name the directory of a Go repository.")
    walk.configs += configs_above(root, {config.path for config in walk.configs})
    return Discovery(
        root,
        tuple(sorted(walk.files)),
        tuple(sorted(walk.configs)),
        tuple(sorted(walk.vendors)),
        tuple(sorted(walk.problems)),
        tuple(sorted(walk.directories)),
        tuple(sorted(walk.ignores)),
        tuple(sorted(walk.links)),
        tuple(sorted(walk.documents)),
        tuple(sorted(also)),
    )


def aside(paths: Iterable[str]) -> set[str]:
    """The directories of those files that have to be named to be taken, as far as their paths tell."""
    directories = {path.rpartition("/")[0] for path in paths}
    return {directory for directory in directories if is_left_out(directory)}


def is_left_out(path: str) -> bool:
    """Whether Go leaves a directory or an import path out when it lists packages, for what it is called."""
    return any(part == "testdata" or part[:1] in ("_", ".") for part in path.split("/"))


def _self_and_parents(directory: str) -> Iterator[str]:
    while directory:
        yield directory
        directory = directory.rpartition("/")[0]


def digest(data: bytes) -> Digest:
    return Digest(blake2b(data, digest_size=16).hexdigest())


class _Directory(NamedTuple):
    """A directory to visit: what is ignored in it, and which git checkout and Go module it is in."""

    path: str
    rules: IgnoreRules
    checkout: git_directory.GitCheckout | None
    is_ignored: bool = False
    """Ignored as a whole: entered because some of what is in it is tracked, and that alone is taken."""
    unwanted: tuple[str, ...] = ()
    """What the module's `ignore` directives name: `./x` is below the module's root, `x` anywhere in it."""
    module: str = ""
    is_vendor: bool = False
    is_aside: bool = False
    """Left out by Go: entered because some of it is imported, and that alone is taken."""


@dataclass(slots=True)
class _Walk:
    root: Path
    limits: Limits
    also: frozenset[str]
    ways: frozenset[str]
    """The directories that are to be taken although Go would not, and those on the way to them."""
    files: list[SourceFile] = field(default_factory=list[SourceFile])
    links: list[str] = field(default_factory=list[str])
    configs: list[ConfigFile] = field(default_factory=list[ConfigFile])
    vendors: list[RepoPath] = field(default_factory=list[RepoPath])
    problems: list[Problem] = field(default_factory=list[Problem])
    directories: list[str] = field(default_factory=list[str])
    ignores: list[str] = field(default_factory=list[str])
    documents: list[SourceFile] = field(default_factory=list[SourceFile])

    def problem(self, path: str, message: str) -> None:
        printable = os.fsencode(path).decode("utf-8", "replace")
        self.problems.append(Problem(printable or ".", 0, message))


def _checked_root(root: Path) -> Path:
    try:
        resolved = root.resolve(strict=True)
        if not resolved.is_dir():
            raise RepositoryError(f"{root} is not a directory. Name the directory of a Go repository.")
        os.scandir(resolved).close()
    except FileNotFoundError:
        raise RepositoryError(f"There is no directory {root}. Check the path.") from None
    except (OSError, RuntimeError) as error:
        raise RepositoryError(f"{root} cannot be read: {_reason(error)}.") from error
    return resolved


def _visit(walk: _Walk, directory: _Directory) -> list[_Directory]:
    """Takes what a directory holds and returns the directories below it that are to be visited."""
    try:
        with os.scandir(walk.root / directory.path) as found:
            entries = {entry.name: entry for entry in found}
    except OSError as error:
        walk.problem(directory.path, f"directory cannot be read: {_reason(error)}")
        return []
    walk.directories.append(directory.path)
    if ".git" in entries and directory.path:
        entered = _enter_checkout(walk, directory)
        if entered is None:
            return []
        directory = entered
    if ".gitignore" in entries and not directory.is_vendor:
        walk.ignores.append(_join(directory.path, ".gitignore"))
        content = _read(walk, walk.ignores[-1]) or b""
        directory = directory._replace(rules=directory.rules.below(directory.path, content))
    directory = _take_configs(walk, directory, entries)
    below: list[_Directory] = []
    for name, entry in entries.items():
        if name.endswith(SUFFIXES) and not directory.is_vendor and not directory.is_aside:
            _take_document(walk, directory, entry)
        if name[0] in "._" and (not walk.ways or _join(directory.path, name) not in walk.ways):
            continue
        if entry.is_dir(follow_symlinks=False):
            child = None if directory.is_vendor else _below(walk, directory, name)
            if child is not None:
                below.append(child)
        elif name.endswith(".go") and (not directory.is_aside or directory.path in walk.also):
            _take_file(walk, directory, entry)
    return below


def _enter_checkout(walk: _Walk, directory: _Directory) -> _Directory | None:
    """A submodule has ignore rules of its own; any other checkout is not part of this repository."""
    path = walk.root / directory.path
    kind = git_directory.classify(path)
    outer = directory.checkout
    if kind is git_directory.GitLink.REPOSITORY and outer is not None and outer.has_submodule(directory.path):
        kind = git_directory.GitLink.SUBMODULE
    if kind is not git_directory.GitLink.SUBMODULE:
        what = "worktree" if kind is git_directory.GitLink.WORKTREE else "git repository"
        walk.problem(directory.path, f"another {what} inside this one, not learned; learn it by its own path")
        return None
    common = git_directory.common_directory(path)
    exclude = common / "info" / "exclude" if common else None
    rules = IgnoreRules((), directory.rules.prefix)
    if exclude is not None and exclude.is_file():
        rules = rules.below(directory.path, exclude.read_bytes())
    return directory._replace(rules=rules, checkout=git_directory.GitCheckout(path, directory.path), is_ignored=False)


def _take_configs(walk: _Walk, directory: _Directory, entries: dict[str, os.DirEntry[str]]) -> _Directory:
    wanted = ("modules.txt",) if directory.is_vendor else ("go.mod", "go.work")
    for name in wanted:
        if name in entries and entries[name].is_file():
            path = _join(directory.path, name)
            data = _read(walk, path)
            if data is None:
                continue
            walk.configs.append(ConfigFile(path, data))
            if name == "go.mod":
                unwanted = tuple(go_mod.parse_gomod(data).ignores)
                directory = directory._replace(module=directory.path, unwanted=unwanted)
    return directory


def _below(walk: _Walk, directory: _Directory, name: str) -> _Directory | None:
    """The directory of that name if Go and git would look into it."""
    path = _join(directory.path, name)
    is_aside = directory.is_aside or name[0] in "._" or name == "testdata" or _is_unwanted(directory, path)
    if is_aside and path not in walk.ways:
        return None
    if not _is_text(name):
        walk.problem(path, "directory not learned: its name is not UTF-8")
        return None
    is_ignored = directory.is_ignored or directory.rules.ignores(path, is_dir=True)
    child = directory._replace(path=path, is_vendor=name == "vendor", is_ignored=is_ignored, is_aside=is_aside)
    if child.is_vendor:
        walk.vendors.append(RepoPath(path))
    elif is_ignored and (directory.checkout is None or not directory.checkout.tracks_below(path)):
        return None
    return child


def _is_unwanted(directory: _Directory, path: str) -> bool:
    if not directory.unwanted:
        return False
    inside = f"/{path[len(directory.module) :].strip('/')}/"
    return any(
        inside.startswith(f"/{item[2:].strip('/')}/") if item.startswith("./") else f"/{item.strip('/')}/" in inside
        for item in directory.unwanted
    )


def _take_file(walk: _Walk, directory: _Directory, entry: os.DirEntry[str]) -> None:
    path = _join(directory.path, entry.name)
    is_ignored = directory.is_ignored or directory.rules.ignores(path, is_dir=False)
    if is_ignored and (directory.checkout is None or not directory.checkout.tracks(path)):
        return
    if not _is_text(entry.name):
        walk.problem(path, "file not learned: its name is not UTF-8")
    elif entry.is_symlink():
        walk.links.append(path)
    else:
        try:
            _take(walk, path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            pass  # Deleted since the directory was listed, as if it had never been there.
        except OSError as error:
            walk.problem(path, f"file cannot be read: {_reason(error)}")


def _take_document(walk: _Walk, directory: _Directory, entry: os.DirEntry[str]) -> None:
    path = _join(directory.path, entry.name)
    if entry.name[0] != "." and is_document(path) and not entry.is_symlink():
        before = len(walk.files)
        _take_file(walk, directory, entry)
        walk.documents += walk.files[before:]
        del walk.files[before:]


def _take(walk: _Walk, path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        return
    if status.st_size > walk.limits.max_file_bytes:
        limit = f"{walk.limits.max_file_bytes:,}"
        walk.problem(path, f"file not learned: {status.st_size:,} bytes, more than the limit of {limit}")
    elif status.st_mode & 0o444 != 0o444 and not os.access(walk.root / path, os.R_OK, effective_ids=True):
        walk.problem(path, "file cannot be read: permission denied")
    else:
        walk.files.append(SourceFile(RepoPath(path), status.st_size, status.st_mtime_ns))


def _take_links(walk: _Walk) -> None:
    """Takes linked files as Go does: each is a file of the package it is linked into, whatever else it is."""
    for link in sorted(walk.links):
        target = os.path.realpath(walk.root / link)
        if not Path(target).is_relative_to(walk.root):
            walk.problem(link, "symbolic link not learned: it leads out of the repository")
            continue
        try:
            status = Path(target).stat()
        except OSError as error:
            walk.problem(link, f"symbolic link not learned: {_reason(error)}")
            continue
        _take(walk, link, status)


def configs_above(root: Path, found: Iterable[str]) -> list[ConfigFile]:
    """The go.mod and the go.work that Go would find above the root, of those that it does not find there."""
    configs: list[ConfigFile] = []
    for name in {"go.mod", "go.work"}.difference(found):
        for level, directory in enumerate(root.parents, 1):
            path = directory / name
            # Go does not believe in a go.mod at the top of the temporary directory, where anyone can leave one.
            if path.is_file() and directory != Path(tempfile.gettempdir()):
                # Outside of what was asked for: unreadable, the tree is learned as if it stood alone.
                with suppress(OSError):
                    configs.append(ConfigFile("../" * level + name, path.read_bytes()))
                break
    return configs


def _read(walk: _Walk, path: str) -> bytes | None:
    try:
        return (walk.root / path).read_bytes()
    except OSError as error:
        walk.problem(path, f"file cannot be read: {_reason(error)}")
        return None


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _is_text(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: BaseException) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error).lower()
