"""Finds the Go files, the module files and the documents of a repository in one walk.

The walk takes the Go files that Go considers and git does not ignore. It skips directories in `vendor`, directories
called `testdata`, and files and directories whose names begin with `_` or `.`. Checked-out submodules belong to the
tree; other repositories and worktrees inside it do not. Links to directories are not followed; a link to a file is
taken if its target is below the root. Packages in directories that Go skips can still be imported: the caller passes
such directories as `also`, and they are taken too.

No file that Go would compile is left out silently: files that are too large or unreadable, and those whose names are
not UTF-8 or have hidden characters, such as line breaks, are reported as problems. The only contents read are those of
go.mod, go.work, vendor/modules.txt and git's own files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from golore.graph.errors import RepositoryError
from golore.graph.files.file_state import FileState, state_from
from golore.graph.model.entities import Problem, RepoPath
from golore.graph.safety.regular_file import SOURCE_LIMIT, NotRegularError, TooLargeError, read_regular
from golore.graph.safety.visible_text import is_plain_path, visible_line
from golore.learner.checkout import git_directory
from golore.learner.checkout.configs_above import ConfigFile, configs_above
from golore.learner.checkout.document_names import SUFFIXES, is_document
from golore.learner.checkout.ignore_rules import IGNORE_LIMIT, IgnoreRules, read_exclude_file, rules_for
from golore.learner.go_rules import go_mod


class SourceFile(NamedTuple):
    path: RepoPath
    state: FileState


_Found = TypeVar("_Found", SourceFile, ConfigFile)


class Limits(NamedTuple):
    max_file_bytes: int = SOURCE_LIMIT


DEFAULT_LIMITS: Final = Limits()


class Discovery(NamedTuple):
    """The result of a walk. Every tuple is sorted."""

    root: Path
    files: tuple[SourceFile, ...]
    configs: tuple[ConfigFile, ...]
    vendors: tuple[RepoPath, ...]
    """Vendor directories. Their subdirectories are not learned; imports are looked up in them."""
    problems: tuple[Problem, ...]
    directories: tuple[str, ...] = ()
    """Every directory that was listed, relative to the root; the root is ""."""
    ignores: tuple[str, ...] = ()
    """The `.gitignore` files that were read."""
    links: tuple[str, ...] = ()
    """The Go files that are symbolic links, including those that were not taken."""
    documents: tuple[SourceFile, ...] = ()
    """Markdown, HTML and text files, found by the same rules; symbolic links are left out."""
    also: tuple[str, ...] = ()
    """Directories that were taken although Go skips them."""


def discover(root: Path, limits: Limits = DEFAULT_LIMITS, *, also: Collection[str] = ()) -> Discovery:
    """Walk the tree below `root`. Raises RepositoryError if it is not a readable directory or has no Go files.

    `also`: directories to take although Go skips them.
    """
    root = _checked_root(root)
    also_and_parents = frozenset(path for directory in also for path in _self_and_parents(directory))
    walk = _Walk(root, limits, frozenset(also), also_and_parents)
    pending = [_Directory("", rules_for(root), git_directory.checkout_of(root))]
    while pending:
        pending += _visit(walk, pending.pop())
    _add_links(walk)
    if not walk.files:
        first_problem = f" ({min(walk.problems).file}: {min(walk.problems).message})" if walk.problems else ""
        raise RepositoryError(f"There are no Go files in {root}{first_problem}. Name the directory of a Go repository.")
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


def discover_more(found: Discovery, also: Collection[str]) -> Discovery:
    """What `discover` returns with the directories `also`, from what it has `found` without them: visits only these
    directories and those above them. What is known about a file stays."""
    also_and_parents = frozenset(path for directory in also for path in _self_and_parents(directory))
    walk = _Walk(found.root, DEFAULT_LIMITS, frozenset(also), also_and_parents)
    pending = [_Directory("", rules_for(found.root), git_directory.checkout_of(found.root))]
    while pending:
        pending += [child for child in _visit(walk, pending.pop()) if child.path in also_and_parents]
    _add_links(walk)
    return Discovery(
        found.root,
        _with_more(found.files, walk.files),
        _with_more(found.configs, walk.configs),
        tuple(sorted({*found.vendors, *walk.vendors})),
        tuple(sorted({*found.problems, *walk.problems})),
        tuple(sorted({*found.directories, *walk.directories})),
        tuple(sorted({*found.ignores, *walk.ignores})),
        tuple(sorted({*found.links, *walk.links})),
        _with_more(found.documents, walk.documents),
        tuple(sorted(also)),
    )


def _with_more(known: Iterable[_Found], more: Iterable[_Found]) -> tuple[_Found, ...]:
    by_path = {one.path: one for one in (*more, *known)}
    return tuple(by_path[path] for path in sorted(by_path))


def skipped_directories(paths: Iterable[str]) -> set[str]:
    """The directories of these files that Go skips by name: those that `discover` needs as `also`."""
    directories = {path.rpartition("/")[0] for path in paths}
    return {directory for directory in directories if is_skipped_by_go(directory)}


def is_skipped_by_go(path: str) -> bool:
    """Whether Go skips a directory or an import path by its name when it lists packages (`go list ./...`)."""
    return any(part == "testdata" or part[:1] in ("_", ".") for part in path.split("/"))


def _self_and_parents(directory: str) -> Iterator[str]:
    while directory:
        yield directory
        directory = directory.rpartition("/")[0]


def too_large(size: int, limit: int) -> str:
    """The message of the problem for a Go file or a document above the limit."""
    return f"file not learned: {size:,} bytes, more than the limit of {limit:,}"


class _Directory(NamedTuple):
    """A directory to visit, with its ignore rules, git checkout and Go module."""

    path: str
    rules: IgnoreRules
    checkout: git_directory.GitCheckout | None
    is_ignored: bool = False
    """Ignored by git, but entered because it is `vendor` or contains tracked files; only tracked files are taken."""
    ignore_directives: tuple[str, ...] = ()
    """The `ignore` directives of the module: `./x` is relative to the module's root, `x` matches anywhere in it."""
    module_dir: str = ""
    is_vendor: bool = False
    is_excluded: bool = False
    """Skipped by Go, but entered because of `also`; only Go files directly in a directory of `also` are taken."""


class _Walk:
    """What a walk has found so far."""

    def __init__(self, root: Path, limits: Limits, also: frozenset[str], also_and_parents: frozenset[str]) -> None:
        """`also_and_parents`: the directories of `also` and all their parents."""
        self.root = root
        self.limits = limits
        self.also = also
        self.also_and_parents = also_and_parents
        self.files: list[SourceFile] = []
        self.links: list[str] = []
        self.configs: list[ConfigFile] = []
        self.vendors: list[RepoPath] = []
        self.problems: list[Problem] = []
        self.directories: list[str] = []
        self.ignores: list[str] = []
        self.documents: list[SourceFile] = []

    def problem(self, path: str, message: str) -> None:
        printable = visible_line(os.fsencode(path).decode("utf-8", "replace"))
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
    """Add the files of one directory to the walk. Returns the subdirectories to visit."""
    try:
        with os.scandir(f"{walk.root}/{directory.path}") as listing:  # joining paths takes longer than listing
            entries = {entry.name: entry for entry in listing}
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
        content = _read_ignore_file(walk, walk.ignores[-1])
        directory = directory._replace(rules=directory.rules.with_ignore_file(directory.path, content))
    directory = _add_configs(walk, directory, entries)
    subdirectories: list[_Directory] = []
    for name, entry in entries.items():
        if name.lower().endswith(SUFFIXES) and not directory.is_vendor and not directory.is_excluded:
            _add_document(walk, directory, entry)
        if name[0] in "._" and (not walk.also_and_parents or _join(directory.path, name) not in walk.also_and_parents):
            continue
        if entry.is_dir(follow_symlinks=False):
            child = None if directory.is_vendor else _subdirectory(walk, directory, name)
            if child is not None:
                subdirectories.append(child)
        elif name.endswith(".go") and (not directory.is_excluded or directory.path in walk.also):
            _add_file(walk, directory, entry)
    return subdirectories


def _enter_checkout(walk: _Walk, directory: _Directory) -> _Directory | None:
    """Start a submodule with its own ignore rules. Returns None for any other checkout, with a problem."""
    path = walk.root / directory.path
    kind = git_directory.classify(path)
    outer = directory.checkout
    if kind is git_directory.GitLink.REPOSITORY and outer is not None and outer.has_submodule(directory.path):
        kind = git_directory.GitLink.SUBMODULE
    if kind is not git_directory.GitLink.SUBMODULE:
        checkout_kind = "worktree" if kind is git_directory.GitLink.WORKTREE else "git repository"
        walk.problem(directory.path, f"another {checkout_kind} inside this one, not learned; learn it separately")
        return None
    rules = IgnoreRules((), directory.rules.prefix).with_ignore_file(directory.path, read_exclude_file(path))
    return directory._replace(rules=rules, checkout=git_directory.GitCheckout(path, directory.path), is_ignored=False)


def _add_configs(walk: _Walk, directory: _Directory, entries: dict[str, os.DirEntry[str]]) -> _Directory:
    wanted = ("modules.txt",) if directory.is_vendor else ("go.mod", "go.work")
    for name in wanted:
        if name in entries and entries[name].is_file():
            path = _join(directory.path, name)
            data = _read(walk, path)
            if data is None:
                continue
            walk.configs.append(ConfigFile(path, data))
            if name == "go.mod":
                ignore_directives = go_mod.parse_gomod(data).ignores if b"ignore" in data else ()
                directory = directory._replace(module_dir=directory.path, ignore_directives=ignore_directives)
    return directory


def _subdirectory(walk: _Walk, directory: _Directory, name: str) -> _Directory | None:
    """The subdirectory `name`, or None if Go or git would not look into it."""
    path = _join(directory.path, name)
    is_excluded = (
        directory.is_excluded or name[0] in "._" or name == "testdata" or _is_ignored_by_go_mod(directory, path)
    )
    if is_excluded and path not in walk.also_and_parents:
        return None
    if bad_name := _bad_name(name):
        walk.problem(path, f"directory not learned: {bad_name}")
        return None
    is_ignored = directory.is_ignored or directory.rules.ignores(path, is_dir=True)
    child = directory._replace(path=path, is_vendor=name == "vendor", is_ignored=is_ignored, is_excluded=is_excluded)
    if child.is_vendor:
        walk.vendors.append(RepoPath(path))
    elif is_ignored and (directory.checkout is None or not directory.checkout.tracks_below(path)):
        return None
    return child


def _is_ignored_by_go_mod(directory: _Directory, path: str) -> bool:
    if not directory.ignore_directives:
        return False
    path_in_module = f"/{path[len(directory.module_dir) :].strip('/')}/"
    return any(
        path_in_module.startswith(f"/{pattern[2:].strip('/')}/")
        if pattern.startswith("./")
        else f"/{pattern.strip('/')}/" in path_in_module
        for pattern in directory.ignore_directives
    )


def _add_file(walk: _Walk, directory: _Directory, entry: os.DirEntry[str]) -> None:
    path = _join(directory.path, entry.name)
    is_ignored = directory.is_ignored or directory.rules.ignores(path, is_dir=False)
    if is_ignored and (directory.checkout is None or not directory.checkout.tracks(path)):
        return
    if bad_name := _bad_name(entry.name):
        walk.problem(path, f"file not learned: {bad_name}")
    elif entry.is_symlink():
        walk.links.append(path)
    else:
        try:
            _add_regular_file(walk, path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            pass  # Deleted since the directory was listed.
        except OSError as error:
            walk.problem(path, f"file cannot be read: {_reason(error)}")


def _add_document(walk: _Walk, directory: _Directory, entry: os.DirEntry[str]) -> None:
    path = _join(directory.path, entry.name)
    if entry.name[0] != "." and is_document(path) and not entry.is_symlink():
        before = len(walk.files)
        _add_file(walk, directory, entry)
        walk.documents += walk.files[before:]
        del walk.files[before:]


def _add_regular_file(walk: _Walk, path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        return
    if status.st_size > walk.limits.max_file_bytes:
        walk.problem(path, too_large(status.st_size, walk.limits.max_file_bytes))
    elif status.st_mode & 0o444 != 0o444 and not os.access(walk.root / path, os.R_OK, effective_ids=True):
        walk.problem(path, "file cannot be read: permission denied")
    else:
        walk.files.append(SourceFile(RepoPath(path), state_from(status)))


def _add_links(walk: _Walk) -> None:
    """Add linked Go files as Go does: each is a file of the package that contains the link."""
    for link in sorted(walk.links):
        target = os.path.realpath(walk.root / link)
        if not Path(target).is_relative_to(walk.root):
            walk.problem(link, "symbolic link not learned: its target is outside the repository")
            continue
        try:
            status = Path(target).stat()
        except OSError as error:
            walk.problem(link, f"symbolic link not learned: {_reason(error)}")
            continue
        _add_regular_file(walk, link, status)


def _read(walk: _Walk, path: str) -> bytes | None:
    try:
        return read_regular(walk.root / path, walk.limits.max_file_bytes, follow=True)
    except OSError as error:
        walk.problem(path, f"file cannot be read: {_reason(error)}")
        return None


def _read_ignore_file(walk: _Walk, path: str) -> bytes:
    """The content of a `.gitignore`. Like git, does not follow a link in its place."""
    try:
        return read_regular(walk.root / path, IGNORE_LIMIT)
    except NotRegularError:
        walk.problem(path, "its rules do not apply: it is not a regular file")
    except TooLargeError as error:
        walk.problem(path, f"its rules do not apply: {_reason(error)}")
    except OSError as error:
        walk.problem(path, f"file cannot be read: {_reason(error)}")
    return b""


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _bad_name(name: str) -> str:
    """Why a file or directory of this name is not learned; empty if it is. Names are shown to people and agents: one
    with a line break or an escape sequence is an attack, not a name."""
    if is_plain_path(name):
        return ""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return "its name has control characters or invisible ones"


def _reason(error: BaseException) -> str:
    if isinstance(error, NotRegularError | TooLargeError):
        return f"it {error.strerror}"
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error).lower()
