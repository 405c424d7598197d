"""The names of a repository by its git remotes, such as `github.com/gohugoio/hugo`, and its revision.

Remotes on the same machine have no name that others would know, so they are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from golore.learner.checkout.git_command import is_commit_id, run_git
from golore.learner.checkout.git_directory import top_of

_URL: Final = re.compile(r"(?:https?|ssh|git|git\+ssh)://(?:[^@/]*@)?([^/:]+)(?::\d+)?/(.+)")
_SCP: Final = re.compile(r"(?:[^@/:]+@)?([^/:]{2,}):(?!//)(.+)")
_MOST_ANCESTORS: Final = 50_000


def remote_names(root: Path) -> tuple[str, ...]:
    """The names of the repository, that of the remote `origin` first. A root below the top of the checkout has its path
    appended."""
    top = top_of(root.resolve())
    if top is None:
        return ()
    below = root.resolve().relative_to(top).parts
    listed = run_git(root, "config", "-z", "--get-regexp", r"^remote\..*\.url$").decode("utf-8", "replace")
    urls = dict(entry.split("\n", 1) for entry in listed.split("\0") if "\n" in entry)
    ordered = sorted(urls, key=lambda name: (name != "remote.origin.url", name))
    names = (name_of_url(urls[remote]) for remote in ordered)
    return tuple(dict.fromkeys("/".join((name, *below)) for name in names if name))


def name_of_url(url: str) -> str:
    """Host and path of an address, without user, port and `.git`; empty for a path on this machine."""
    found = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if found is None or url.startswith("file:"):
        return ""
    path = found[2].strip("/").removesuffix(".git").strip("/")
    return f"{found[1].lower()}/{path}" if path else ""


def described_version(root: Path) -> str:
    """HEAD as its nearest version tag names it, such as `v1.8.5` or `v1.8.5-3-g0a1b2c3`; empty without such a tag."""
    return run_git(root, "describe", "--tags", "--match", "v[0-9]*", "HEAD").decode("utf-8", "replace").strip()


def ancestors(root: Path, commit: str) -> Iterator[str]:
    """A commit and those before it, nearest first."""
    output = run_git(root, "rev-list", "--topo-order", f"--max-count={_MOST_ANCESTORS}", "--end-of-options", commit)
    return filter(is_commit_id, output.decode("ascii", "replace").split())
