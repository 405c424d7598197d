"""Gets one revision of another repository into a new directory, whose files are then learned.

Nothing that the repository contains is executed: no hooks, filters or submodules. The directory belongs to nobody else,
and its configuration is made here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from golore.graph.errors import RepositoryError, UsageError
from golore.learner.checkout.git_command import GitResult, is_commit_id, run_git_on_remote

_REVISION: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]*")
_HEAD: Final = "HEAD"
_ORDER: Final = ("refs/tags/{}^{{}}", "refs/tags/{}", "refs/heads/{}", "{}")
"""The references that a revision may name, as `git ls-remote` prints them. The first is what an annotated tag is of."""
_SHOWN: Final = 200


def require_source(source: str, revision: str) -> None:
    """Raise `UsageError` if git could take an address or a revision for something else, or if it has a password."""
    if source.startswith("-") or "::" in source or any(character < " " for character in source):
        raise UsageError(f"{source!r} is not the address of a repository. Write a URL or a path.")
    if urlsplit(source).password if "://" in source else False:
        raise UsageError("The address of a repository must not contain a password. Use a credential helper of git.")
    if revision and (_REVISION.fullmatch(revision) is None or ".." in revision):
        raise UsageError(f"{revision!r} is not a branch, tag or commit. Correct it.")


def remote_commit(source: str, revision: str) -> str:
    """The commit that a branch, a tag or, without `revision`, HEAD names in another repository, without getting it."""
    require_source(source, revision)
    if is_commit_id(revision):
        return revision
    found = run_git_on_remote(Path(), "ls-remote", "--end-of-options", source)
    if not found.is_success:
        raise RepositoryError(f"{source} cannot be read: {_reason(found)}.")
    lines = (line.split("\t", 1) for line in found.output.decode("utf-8", "replace").splitlines() if "\t" in line)
    commits = {reference: commit for commit, reference in lines}
    names = [form.format(revision) for form in _ORDER] if revision else [_HEAD]
    commit = next((commits[name] for name in names if name in commits), "")
    if not is_commit_id(commit):
        raise RepositoryError(f"{source} has no branch or tag {revision or _HEAD}. Correct the revision.")
    return commit


def get_revision(source: str, commit: str, revision: str, target: Path, *, shallow: bool) -> None:
    """Check out a commit, which `revision` names in the repository, in the new directory `target`. `shallow`: without
    history and without tags, except for the one that was asked for."""
    require_source(source, revision)
    target.mkdir(parents=True)
    created = {"GIT_DIR": str(target / ".git"), "GIT_WORK_TREE": str(target)}
    _require(run_git_on_remote(target, "init", "-q", "--template=", variables=created), source)
    if shallow:
        _get_shallow(source, commit, revision, target)
    else:
        every = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        _require(_fetch(target, source, *every), source)
        if not _has(target, commit):
            _require(_fetch(target, source, commit), source)
    _require(run_git_on_remote(target, "checkout", "-q", "--force", "--detach", commit), source)


def _get_shallow(source: str, commit: str, revision: str, target: Path) -> None:
    if revision and not is_commit_id(revision):
        _fetch(target, source, f"+refs/tags/{revision}:refs/tags/{revision}", "--depth=1")
    wanted = (commit, revision or _HEAD)  # not every server gives out a commit by its id
    for one in wanted:
        fetched = _fetch(target, source, one, "--depth=1")
        if fetched.is_success and _has(target, commit):
            return
    _require(_fetch(target, source, f"+{revision or _HEAD}:refs/remotes/origin/asked"), source)


def _fetch(target: Path, source: str, *wanted: str) -> GitResult:
    options = [one for one in wanted if one.startswith("--")]
    references = [one for one in wanted if not one.startswith("--")]
    return run_git_on_remote(target, "fetch", "-q", "--no-tags", *options, "--end-of-options", source, *references)


def _has(target: Path, commit: str) -> bool:
    return run_git_on_remote(target, "cat-file", "-e", f"{commit}^{{commit}}").is_success


def _require(result: GitResult, source: str) -> None:
    if not result.is_success:
        raise RepositoryError(f"{source} cannot be got: {_reason(result)}.")


def _reason(result: GitResult) -> str:
    lines = [line.strip() for line in result.errors.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    return said.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")[:_SHOWN] or "git failed"
