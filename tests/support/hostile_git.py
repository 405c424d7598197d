"""Git repositories that try to run a program, and the marker file that the program would leave."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from support.git_repository import NOW, git

FILES = {
    "go.mod": "module example.com/t\n\ngo 1.24\n",
    "store/store.go": "package store\n\nfunc Open() {}\n\nfunc Close() {}\n",
    "main.go": 'package main\n\nimport "example.com/t/store"\n\nfunc main() { store.Open(); store.Close() }\n',
    "README.md": "text\n",
}


class Trap(NamedTuple):
    """An executable that appends a line to the marker file. Without arguments it copies its input, as filters do."""

    program: Path
    marker: Path

    @property
    def was_run(self) -> bool:
        return self.marker.exists()

    @property
    def calls(self) -> str:
        return self.marker.read_text() if self.was_run else ""

    def clear(self) -> None:
        self.marker.unlink(missing_ok=True)


def make_trap(directory: Path) -> Trap:
    trap = Trap(directory / "trap.sh", directory / "marker")
    trap.program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{trap.marker}"\n[ $# -gt 0 ] || exec cat\n')
    trap.program.chmod(0o755)
    return trap


def make_repository(root: Path) -> Path:
    """A repository with one commit, one modified file of the same size, and attributes that select `evil` drivers."""
    root.mkdir(parents=True)
    git(root, "init", "-q")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("*.go filter=evil diff=evil\n*.md filter=evil diff=evil\n")
    (root / "main.go").write_text(FILES["main.go"].replace("Open", "Opem"))
    (root / "README.md").write_text("Text\n")
    return root


def configure(root: Path, **settings: str) -> None:
    """Write settings into the configuration of a repository; `__` in a name stands for a dot."""
    for name, value in settings.items():
        git(root, "config", name.replace("__", "."), value)


def _fsmonitor(root: Path, trap: Trap) -> None:
    configure(root, core__fsmonitor=str(trap.program))


def _clean(root: Path, trap: Trap) -> None:
    configure(root, filter__evil__clean=str(trap.program), filter__evil__required="true")


def _process(root: Path, trap: Trap) -> None:
    configure(root, filter__evil__process=str(trap.program), filter__evil__required="true")


def _filter_with_an_equals_sign(root: Path, trap: Trap) -> None:
    (root / ".git" / "info" / "attributes").write_text("* filter=a=b\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(f'[filter "a=b"]\n\tclean = {trap.program}\n')


def _included_filter(root: Path, trap: Trap) -> None:
    included = root / ".git" / "more"
    included.write_text(f'[filter "evil"]\n\tclean = {trap.program}\n')
    configure(root, include__path="more")


def _textconv(root: Path, trap: Trap) -> None:
    configure(root, diff__evil__textconv=str(trap.program))


def _external_diff(root: Path, trap: Trap) -> None:
    configure(root, diff__external=str(trap.program), diff__evil__command=str(trap.program))


def _hooks(root: Path, trap: Trap) -> None:
    hooks = root / ".git" / "own"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(trap.program, hooks / name)
        shutil.copy(trap.program, root / ".git" / "hooks" / name)
    configure(root, core__hooksPath=str(hooks))


def _pager(root: Path, trap: Trap) -> None:
    settings = {f"pager__{name}": str(trap.program) for name in ("log", "blame", "status", "config")}
    configure(root, core__pager=str(trap.program), **settings)


def _signature(root: Path, trap: Trap) -> None:
    """HEAD has a signature, and the configuration asks to check it."""
    plain = git(root, "cat-file", "commit", "HEAD")
    header, _, message = plain.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----"
    (root / ".git" / "signed").write_text(f"{header}\n{signature}\n\n{message}\n")
    commit = git(root, "hash-object", "-t", "commit", "-w", "--", ".git/signed")
    git(root, "update-ref", "HEAD", commit)
    configure(root, gpg__program=str(trap.program), log__showSignature="true")


def _lazy_fetch(root: Path, trap: Trap, url: str = "ssh://example.invalid/x") -> None:
    """A partial clone without the tree of `store/` and the blob of `main.go`, with a program as its transport."""
    for name in ("HEAD:store", "HEAD:main.go"):
        id = git(root, "rev-parse", name)
        (root / ".git" / "objects" / id[:2] / id[2:]).unlink()
    configure(
        root,
        core__repositoryformatversion="1",
        extensions__partialClone="origin",
        remote__origin__url=url,
        remote__origin__promisor="true",
        remote__origin__uploadpack=str(trap.program),
        core__sshCommand=str(trap.program),
        protocol__ext__allow="always",
        protocol__file__allow="always",
    )


def _lazy_fetch_by_command(root: Path, trap: Trap) -> None:
    _lazy_fetch(root, trap, f"ext::{trap.program} serve")


def _lazy_fetch_from_a_file(root: Path, trap: Trap) -> None:
    _lazy_fetch(root, trap, str(root))


def _aliases(root: Path, trap: Trap) -> None:
    words = ("log", "status", "blame", "config", "ls-tree", "rev-parse")
    configure(root, **{f"alias__{word}": f"!{trap.program}" for word in words})


def _submodule(root: Path, trap: Trap) -> None:
    """A submodule whose own configuration names programs."""
    inner = root / "sub"
    make_repository(inner)
    git(root, "add", "sub")
    git(root, "commit", "-q", "-m", "sub", "--", "sub", at=NOW + 1)
    _fsmonitor(inner, trap)
    _clean(inner, trap)


ATTACKS: dict[str, Callable[[Path, Trap], None]] = {
    "fsmonitor": _fsmonitor,
    "clean": _clean,
    "process": _process,
    "filter name with =": _filter_with_an_equals_sign,
    "included filter": _included_filter,
    "textconv": _textconv,
    "external diff": _external_diff,
    "hooks": _hooks,
    "pager": _pager,
    "signature": _signature,
    "lazy fetch": _lazy_fetch,
    "lazy fetch by command": _lazy_fetch_by_command,
    "lazy fetch from a file": _lazy_fetch_from_a_file,
    "aliases": _aliases,
    "submodule": _submodule,
}

PLAIN_GIT_RUNS: dict[str, tuple[str, ...]] = {
    "fsmonitor": ("status",),
    "clean": ("status",),
    "process": ("status",),
    "filter name with =": ("status",),
    "included filter": ("status",),
    "textconv": ("blame", "main.go"),
    "external diff": ("diff",),
    "hooks": ("status",),
    "signature": ("log",),
    "lazy fetch": ("ls-tree", "-r", "HEAD"),
    "lazy fetch by command": ("ls-tree", "-r", "HEAD"),
    "lazy fetch from a file": ("ls-tree", "-r", "HEAD"),
    "submodule": ("status",),
}
"""A git command that runs the trap, for each attack that works against plain git without a terminal."""


def embed_bare_repository(root: Path, trap: Trap) -> Path:
    """Commit a directory that git takes for a bare repository, as an ordinary clone can contain it."""
    layout = root / "lib"
    (layout / "objects").mkdir(parents=True)
    (layout / "refs").mkdir()
    (layout / "HEAD").write_text("ref: refs/heads/main\n")
    (layout / "config").write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ".."\n\tfsmonitor = {trap.program}\n'
    )
    (layout / "lib.go").write_text("package lib\n\nfunc Lib() {}\n")
    for directory in ("objects", "refs"):
        (layout / directory / ".keep").write_text("")
    git(root, "add", "-f", "-A", "lib")
    git(root, "commit", "-q", "-m", "lib", "--", "lib", at=NOW + 1)
    return layout
