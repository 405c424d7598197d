"""The two states that are compared, and the contents of the files that differ between them.

A state is a commit, git's index, the working tree, or a commit with a patch applied. Contents come from git's objects
and, for the working tree, from the files; only those that facts or modules are made from are read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import ChangeTooLarge, UsageError
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.git_command import feed_git
from golore.learner.checkout.git_directory import common_directory, top_of
from golore.learner.checkout.git_objects import (
    ON_DISK,
    FilePair,
    changed_between,
    commit_of,
    merge_base,
    read_blobs,
    require_repository,
    staged_changes,
    working_changes,
)

_WORKING_TREE: Final = "working tree"
_SHORT: Final = 10
_MODULE_FILES: Final = ("go.mod", "go.work")


class Request(NamedTuple):
    """What to compare. By default the working tree with HEAD.

    `base`: compare with the newest commit that HEAD and this revision have in common. `revisions`: `A..B`, or `A...B`
    for B and its newest commit in common with A. `patch`: a unified diff, applied to the base. `staged`: the index.
    `paths`: compare only these files of the working tree; if there are none, all. `most`: the most files to read; more
    raise ChangeTooLarge.
    """

    base: str = ""
    revisions: str = ""
    patch: bytes | None = None
    staged: bool = False
    paths: frozenset[str] = frozenset()
    most: int | None = None


class ComparedFiles(NamedTuple):
    """The files that differ, and the contents of those that were read, by path. `base` and `target` name the states."""

    base: str
    target: str
    base_commit: str
    target_commit: str
    """empty if the target is no commit"""
    files: tuple[FilePair, ...]
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]


def compared_files(root: Path, request: Request) -> ComparedFiles:
    """Raises UsageError or RepositoryError, with one sentence for the user, if the states cannot be compared."""
    root = root.resolve()
    require_repository(root)
    if request.revisions:
        return _between(root, request.revisions)
    base = commit_of(root, "HEAD")
    name = _named("HEAD", base)
    if request.base:
        base = merge_base(root, commit_of(root, request.base), base)
        name = _named(request.base, base)
    if request.patch is not None:
        return _patched(root, base, name, request.patch)
    if request.staged:
        return _compared(root, name, "index", base, "", staged_changes(root, base))
    pairs = working_changes(root, base)
    if request.paths:
        pairs = [pair for pair in pairs if pair.path in request.paths]
    _check_number(pairs, request.most, name)
    return _compared(root, name, _WORKING_TREE, base, "", pairs)


def _between(root: Path, revisions: str) -> ComparedFiles:
    first, dots, second = revisions.partition("..")
    if not dots:
        raise UsageError(f"{revisions!r} is neither a range of revisions (A..B) nor a file with a patch.")
    is_symmetric = second.startswith(".")
    names = first or "HEAD", second.removeprefix(".") or "HEAD"
    base, target = (commit_of(root, name) for name in names)
    if is_symmetric:
        base = merge_base(root, base, target)
    pairs = changed_between(root, base, target)
    return _compared(root, _named(names[0], base), _named(names[1], target), base, target, pairs)


def _patched(root: Path, base: str, name: str, patch: bytes) -> ComparedFiles:
    """Apply the patch to an index of its own. What git writes for that goes to a directory that is removed again."""
    top = top_of(root)
    common = common_directory(top) if top is not None else None
    with tempfile.TemporaryDirectory(prefix="golore-") as scratch:
        objects = Path(scratch) / "objects"
        objects.mkdir()
        variables = {
            "GIT_INDEX_FILE": f"{scratch}/index",
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{common}/objects",
        }
        feed_git(root, b"", "read-tree", "--end-of-options", base, variables=variables)
        applied = feed_git(root, patch, "apply", "--cached", "--whitespace=nowarn", "-", variables=variables)
        if not applied.is_success:
            raise UsageError(f"The patch does not apply to {name}{_reason(applied.errors)}.")
        tree = feed_git(root, b"", "write-tree", variables=variables).output.decode("ascii", "replace").strip()
        pairs = changed_between(root, base, tree, variables)
        if not pairs:
            raise UsageError(f"The patch changes no file of {root}.")
        return _compared(root, name, "patch", base, "", pairs, variables)


def _reason(errors: str) -> str:
    """The first thing that git reports, as the end of a sentence."""
    lines = [line.removeprefix("error: ").strip().rstrip(".") for line in errors.splitlines()]
    if any("binary patch" in line for line in lines):
        return ": it has binary changes without their contents; make it with `git diff --binary`"
    return next((f": {line}" for line in lines if line), "")


def _compared(
    root: Path,
    base_name: str,
    target_name: str,
    base: str,
    target: str,
    pairs: Iterable[FilePair],
    variables: Mapping[str, str] | None = None,
) -> ComparedFiles:
    files = tuple(pairs)
    wanted = [pair for pair in files if _is_read(pair.path)]
    blobs = read_blobs(root, {blob for pair in wanted for blob in pair[1:] if blob not in ("", ON_DISK)}, variables)
    before = {pair.path: blobs[pair.before] for pair in wanted if pair.before in blobs}
    after = {pair.path: blobs[pair.after] for pair in wanted if pair.after in blobs}
    for pair in wanted:
        if pair.after == ON_DISK:
            with suppress(OSError):  # removed in the meantime, or too large to be learned
                after[pair.path] = read_regular(root / pair.path, SOURCE_LIMIT)
    same = {path for path, data in before.items() if after.get(path) == data}
    for path in same:
        del before[path], after[path]
    kept = tuple(pair for pair in files if pair.path not in same)
    return ComparedFiles(base_name, target_name, base, target, kept, before, after)


def _check_number(pairs: Iterable[FilePair], most: int | None, base: str) -> None:
    paths = tuple(pair.path for pair in pairs if _is_read(pair.path))
    if most is not None and len(paths) > most:
        raise ChangeTooLarge(
            f"{len(paths):,} Go files differ between {base} and the working tree, which is too much for this page "
            f"(at most {most:,}). `golore affected` compares any number.",
            paths,
        )


def _is_read(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    is_vendored = "vendor" in directory.split("/")
    return (name.endswith(".go") and not is_vendored) or name in _MODULE_FILES or path.endswith("vendor/modules.txt")


def _named(revision: str, commit: str) -> str:
    return revision if commit.startswith(revision) else f"{revision} ({commit[:_SHORT]})"
