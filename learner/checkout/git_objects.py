"""Reads commits, trees and file contents from git's objects and index. Nothing is checked out.

Paths are relative to the root, which may be a directory below the top of the checkout; what is outside of it is not
listed. Links, submodules and files whose names have hidden characters are left out, as in a learn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1, sha256
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import RepositoryError, UsageError
from golore.graph.safety.regular_file import open_regular
from golore.graph.safety.visible_text import is_plain_path
from golore.learner.checkout.git_command import feed_git, is_commit_id, is_git_installed, run_git, run_git_on_files
from golore.learner.checkout.git_directory import common_directory, read_text, top_of

ON_DISK: Final = "disk"
"""Takes the place of a blob id for the file in the working tree."""
_DIFF: Final = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--relative", "--ignore-submodules=all")
_SHA1_DIGITS: Final = 40
_REGULAR: Final = "100"
"""Modes of regular files begin with this."""
_UNMERGED: Final = re.compile(r"(?<![^\0])[0-7]{6} [0-9a-f]{40,64} [1-3]\t([^\0]*)")
"""An entry of `git ls-files --unmerged`."""


class FilePair(NamedTuple):
    """A file that differs between two states: its blob in each, `ON_DISK`, or empty if it is not there."""

    path: str
    before: str
    after: str


def require_repository(root: Path) -> None:
    """Raise RepositoryError if there is no git or no repository."""
    if not is_git_installed():
        raise RepositoryError("git is not installed, and changes are found with it. Install git.")
    if top_of(root.resolve()) is None:
        raise RepositoryError(f"{root} is not in a git repository, so there is nothing to compare its files with.")


def commit_of(root: Path, revision: str) -> str:
    """The id of the commit that a revision names, such as `main`, `v1.2.0` or `HEAD~3`."""
    found = _id(run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
    if found:
        return found
    if revision == "HEAD":
        raise RepositoryError("The repository has no commit yet, so there is nothing to compare its files with.")
    raise UsageError(f"There is no revision {revision!r} here.{_shallow_hint(root)} Name a branch, a tag or a commit.")


def merge_base(root: Path, first: str, second: str) -> str:
    """The newest commit that two commits have in common."""
    found = _id(run_git(root, "merge-base", "--end-of-options", first, second))
    if not found:
        raise UsageError(f"The two revisions have no commit in common here.{_shallow_hint(root)}")
    return found


def tree_files(root: Path, commit: str) -> dict[str, str]:
    """The blob of each file of a commit."""
    output = run_git(root, "ls-tree", "-r", "-z", "--end-of-options", commit).decode("utf-8", "surrogateescape")
    found: dict[str, str] = {}
    for entry in output.split("\0"):
        head, _, path = entry.partition("\t")
        if head.startswith(_REGULAR) and is_plain_path(path):
            found[path] = head.split(" ")[2]
    return found


def changed_between(root: Path, before: str, after: str, variables: Mapping[str, str] | None = None) -> list[FilePair]:
    """The files that differ between two commits or trees."""
    arguments = ("diff-tree", *_DIFF, "--end-of-options", before, after)
    return list(_pairs(feed_git(root, b"", *arguments, variables=variables).output))


def staged_changes(root: Path, commit: str) -> list[FilePair]:
    """The files of the index that differ from a commit."""
    _require_merged(run_git(root, "ls-files", "-z", "--unmerged"))
    return list(_pairs(run_git(root, "diff-index", "--cached", *_DIFF, "--end-of-options", commit)))


def working_changes(root: Path, commit: str) -> list[FilePair]:
    """The files of the working tree that differ from a commit; also new ones, unless they are ignored."""
    from concurrent.futures import ThreadPoolExecutor  # few commands need it

    with ThreadPoolExecutor(1) as other:  # both walk the whole tree
        listing = other.submit(run_git, root, "ls-files", "-z", "--others", "--unmerged", "--exclude-standard")
        output = run_git_on_files(root, "diff-index", *_DIFF, "--end-of-options", commit)
        listed = listing.result()
    _require_merged(listed)
    pairs = {pair.path: pair for pair in _pairs(output)}
    for path in listed.decode("utf-8", "surrogateescape").split("\0"):
        if path and is_plain_path(path) and (root / path).is_file():
            known = pairs.get(path)  # removed from the index only
            pairs[path] = FilePair(path, known.before if known is not None else "", ON_DISK)
    return [pairs[path] for path in sorted(pairs) if not _has_contents(root / path, pairs[path])]


def _has_contents(path: Path, pair: FilePair) -> bool:
    """Whether a file still has the contents of its blob. git lists a file that was only touched, or whose index could
    not be refreshed, because it compares times."""
    if not pair.before or pair.after != ON_DISK:
        return False
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            digest = sha1(usedforsecurity=False) if len(pair.before) == _SHA1_DIGITS else sha256()
            digest.update(b"blob %d\0" % os.fstat(file.fileno()).st_size)
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError:
        return False
    return digest.hexdigest() == pair.before


def newest_commit_before(root: Path, seconds: int) -> str:
    """The newest commit that HEAD contains and that is not younger than a Unix time; empty if there is none."""
    output = run_git(root, "rev-list", "-1", f"--min-age={seconds}", "HEAD")
    return output.decode("ascii", "replace").strip()


def committed_contents(root: Path, path: str, limit: int) -> Iterator[bytes]:
    """The contents of a file in HEAD, and in the index; without those that are missing or larger than the limit."""
    for revision in ("HEAD", ""):
        if found := run_git(root, "cat-file", "blob", f"{revision}:./{path}", limit=limit):
            yield found


def read_blobs(root: Path, blobs: Iterable[str], variables: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """The contents of blobs. One that is missing, as in a partial clone, is left out."""
    wanted = sorted(set(blobs))
    if not wanted:
        return {}
    request = "".join(f"{blob}\n" for blob in wanted).encode()
    output = feed_git(root, request, "cat-file", "--batch", variables=variables).output
    found: dict[str, bytes] = {}
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        words = output[at:end].split(b" ")
        at = end + 1
        if len(words) == 3 and words[2].isdigit():
            size = int(words[2])
            if words[1] == b"blob":
                found[words[0].decode()] = output[at : at + size]
            at += size + 1
    return found


def _pairs(output: bytes) -> Iterator[FilePair]:
    """Parse the output of `diff-tree --raw -z`: metadata and path alternate."""
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        mode_before, mode_after, before, after, _ = meta.removeprefix(":").split(" ")
        if not is_plain_path(path):
            continue
        blob_before = before if mode_before.startswith(_REGULAR) else ""
        blob_after = (after if after.strip("0") else ON_DISK) if mode_after.startswith(_REGULAR) else ""
        if blob_before != blob_after:
            yield FilePair(path, blob_before, blob_after)


def _require_merged(listed: bytes) -> None:
    """Raise RepositoryError if `git ls-files --unmerged` lists a file. Other listed paths are skipped."""
    paths = {found[1] for found in _UNMERGED.finditer(listed.decode("utf-8", "surrogateescape"))}
    if paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise RepositoryError(
            f"A merge is in progress, with conflicts in {min(paths)}{more}. Resolve them, or compare two commits: A..B."
        )


def _id(output: bytes) -> str:
    found = output.decode("ascii", "replace").strip()
    return found if is_commit_id(found) else ""


def _shallow_hint(root: Path) -> str:
    top = top_of(root.resolve())
    common = common_directory(top) if top is not None else None
    is_shallow = common is not None and bool(read_text(common / "shallow"))
    return " The clone is shallow: `git fetch --unshallow` gets the rest of the history." if is_shallow else ""
