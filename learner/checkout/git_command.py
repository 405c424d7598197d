"""Runs git, so that nothing that a repository contains or configures is executed.

The git directory is the one that `git_directory` finds and is given to git: a subdirectory that looks like a bare
repository is not taken for one. The user's own configuration counts, except for what would run a program. Variables
such as GIT_DIR, which git sets for its hooks, are not passed on. Objects that a partial clone lacks are not fetched.
Only `run_git_on_remote` uses the network, at an address that the user gave, with the user's own credentials.

Without git, without a repository, or if git takes too long or prints too much, the answer is empty.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from golore.graph.safety.child_processes import absolute_entries, find_program
from golore.graph.safety.system import user_id
from golore.learner.checkout.git_directory import git_directory, top_of

_TIMEOUT_SECONDS: Final = 60
"""Long, because a directory of a giant repository may have few commits, far apart in the history."""
_MAX_OUTPUT: Final = 256 << 20
"""Bytes. The log of the newest 5,000 commits of Kubernetes has 5 MB."""
_MAX_ERRORS: Final = 1 << 16
_FAILED: Final = -1
_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_CONFIG_LOCATIONS: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME")
"""Variables that locate the user's own configuration. Their relative paths would be in the repository."""
_ALWAYS: Final = (
    "core.alternateRefsCommand=",
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "diff.external=",
    "log.showSignature=false",
    "safe.bareRepository=explicit",
)
_OVERRIDES: Final = (
    *_ALWAYS,
    "core.askPass=",
    "core.sshCommand=false",
    "credential.helper=",
    "protocol.allow=never",
)
_REMOTE_OVERRIDES: Final = (
    *_ALWAYS,
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
)
_REMOTE_PROTOCOLS: Final = "file:git:http:https:ssh"
"""All but `ext`, which runs a program that the address names."""
_REMOTE_SECONDS: Final = 3_600
_COMMIT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FILTER: Final = re.compile(r"filter\.(.+)\.[a-z]+", re.DOTALL)


def is_commit_id(text: str) -> bool:
    """Whether a text is a full commit id, and so may be an argument of git."""
    return _COMMIT_ID.fullmatch(text) is not None


def is_git_installed() -> bool:
    return find_program("git") is not None


def run_git(root: Path, *arguments: str, limit: int = _MAX_OUTPUT, timeout: float = _TIMEOUT_SECONDS) -> bytes:
    """The standard output of git in a directory, whatever its exit status.

    For commands that do not read the contents of files in the working tree.
    """
    return _run(root, (), arguments, limit, timeout)[0]


def start_git(root: Path, *arguments: str) -> StartedGit | None:
    """Start what `run_git` would run, and return at once; None if it cannot be started. Only for Linux, where the size
    of the output can be limited."""
    if sys.platform != "linux":
        return None
    import resource  # few commands need these
    import tempfile

    prepared = _prepared(root, _OVERRIDES)
    if prepared is None:
        return None
    command, environment = prepared
    try:
        output = tempfile.TemporaryFile()  # noqa: SIM115  `StartedGit` closes it
        process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (_MAX_OUTPUT, _MAX_OUTPUT))
    except (OSError, ValueError):  # the path of the git directory may contain a NUL
        return None
    return StartedGit(process, output)


class StartedGit:
    """A running git whose output goes to a file, so that nobody has to read it meanwhile."""

    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self._process = process
        self._output = output
        self._end = time.monotonic() + _TIMEOUT_SECONDS

    def output(self) -> bytes:
        """Wait for the end. The answer is empty where that of `run_git` is."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(self._end - time.monotonic(), 0))
        self._output.seek(0)
        output = self._output.read()
        self.stop()
        return output if self._process.returncode >= 0 and len(output) < _MAX_OUTPUT else b""

    def stop(self) -> None:
        self._process.kill()  # has no effect on a process that has ended
        self._process.wait()
        self._output.close()


class GitResult(NamedTuple):
    """What git printed, and whether it succeeded."""

    is_success: bool
    output: bytes
    errors: str


def feed_git(root: Path, data: bytes, *arguments: str, variables: Mapping[str, str] | None = None) -> GitResult:
    """Like `run_git`, with `data` as standard input. `variables` are added to the environment of git."""
    import tempfile  # few commands need it

    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(data)  # through a pipe, git and this process could wait for each other
        given.seek(0)
        output, code = _run(root, (), arguments, _MAX_OUTPUT, _TIMEOUT_SECONDS, given, errors, variables or {})
        errors.seek(0)
        return GitResult(code == 0, output, errors.read(_MAX_ERRORS).decode("utf-8", "replace"))


def run_git_on_files(root: Path, *arguments: str) -> bytes:
    """Like `run_git`, for commands that compare files in the working tree with their committed contents.

    Git converts such files with the filters that attributes select, and filters are programs. They are replaced by
    nothing, so a file that a filter changes may be reported as modified.
    """
    overrides = _filters_off(root)
    return b"" if overrides is None else _run(root, overrides, arguments, _MAX_OUTPUT, _TIMEOUT_SECONDS)[0]


def run_git_on_remote(root: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> GitResult:
    """Run a command that reads another repository, or checks out files from it. The user must have given its address.

    Filters are off, as for `run_git_on_files`, so files of Git LFS stay pointers. Nothing asks for a password.
    """
    import tempfile  # few commands need it

    off = _filters_off(root)
    if off is None:
        return GitResult(False, b"", "the configuration of git has a filter that cannot be switched off")
    allowed = {"GIT_ALLOW_PROTOCOL": _REMOTE_PROTOCOLS, **(variables or {})}
    with tempfile.TemporaryFile() as errors:
        output, code = _run(
            root,
            off,
            arguments,
            _MAX_OUTPUT,
            _REMOTE_SECONDS,
            errors=errors,
            variables=allowed,
            fixed=_REMOTE_OVERRIDES,
        )
        errors.seek(0)
        return GitResult(code == 0, output, errors.read(_MAX_ERRORS).decode("utf-8", "replace"))


def _filters_off(root: Path) -> tuple[str, ...] | None:
    """Settings that switch off all configured filters; None if one has a name that the command line cannot have."""
    listed = run_git(root, "config", "--name-only", "-z", "--get-regexp", r"^filter\.")
    keys = listed.decode("utf-8", "surrogateescape").split("\0")
    names = sorted({found[1] for key in keys if (found := _FILTER.fullmatch(key))})
    if any("=" in name for name in names):
        return None
    settings = (f"{name}.{part}" for name in names for part in ("clean=", "smudge=", "process=", "required=false"))
    return tuple(f"filter.{setting}" for setting in settings)


def _run(
    root: Path,
    overrides: tuple[str, ...],
    arguments: tuple[str, ...],
    limit: int,
    timeout: float,
    given: IO[bytes] | int = subprocess.DEVNULL,
    errors: IO[bytes] | int = subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
    fixed: tuple[str, ...] = _OVERRIDES,
) -> tuple[bytes, int]:
    """The output and the exit status of git; no output and `_FAILED` if it could not run or was stopped."""
    prepared = _prepared(root, (*fixed, *overrides))
    if prepared is None:
        return b"", _FAILED
    command, environment = prepared
    return _output([*command, *arguments], environment | dict(variables or {}), limit, timeout, given, errors)


def _prepared(root: Path, settings: tuple[str, ...]) -> tuple[list[str], dict[str, str]] | None:
    """The command line of git up to its own options, and its environment; None if git must not or cannot run."""
    program = find_program("git")
    if program is None:
        return None
    root = root.resolve()
    top = top_of(root)
    git_dir = git_directory(top) if top is not None else None
    environment = _environment()
    command = [program, "-C", str(root), "--no-pager", *(part for setting in settings for part in ("-c", setting))]
    if top is None or git_dir is None:
        environment["GIT_DIR"] = os.devnull  # leaves the user's own configuration
    elif _is_own(top, git_dir) or _is_declared_safe(command, environment, top):
        environment |= {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(top)}
    else:
        return None
    return command, environment


def _environment() -> dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if (Path(value).is_absolute() if name in _CONFIG_LOCATIONS else not name.startswith("GIT_"))
    }
    if "GIT_CONFIG_NOSYSTEM" in os.environ:
        environment["GIT_CONFIG_NOSYSTEM"] = os.environ["GIT_CONFIG_NOSYSTEM"]
    return environment | _ENVIRONMENT | {"PATH": absolute_entries(os.environ.get("PATH", ""))}


def _is_own(top: Path, git_dir: Path) -> bool:
    """Whether a repository belongs to this user. Git skips its own check if it is told the git directory."""
    try:
        return {path.stat().st_uid for path in (top, top / ".git", git_dir)} == {user_id()}
    except (OSError, ValueError):
        return False


def _is_declared_safe(command: list[str], environment: dict[str, str], top: Path) -> bool:
    """Whether git accepts the repository of another user, for example because of `safe.directory`."""
    environment = {**environment, "GIT_CEILING_DIRECTORIES": str(top.parent)}
    found, _ = _output([*command, "-C", str(top), "rev-parse", "--git-dir"], environment, 1 << 16, _TIMEOUT_SECONDS)
    return bool(found.strip())


def _output(
    command: list[str],
    environment: dict[str, str],
    limit: int,
    timeout: float,
    given: IO[bytes] | int = subprocess.DEVNULL,
    errors: IO[bytes] | int = subprocess.DEVNULL,
) -> tuple[bytes, int]:
    try:
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=errors, env=environment)
    except (OSError, ValueError):  # the path of the git directory may contain a NUL
        return b"", _FAILED
    with process:
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            pieces: list[bytes] = []
            left = limit + 1
            while left and (piece := os.read(process.stdout.fileno(), min(left, 1 << 20))):
                pieces.append(piece)
                left -= len(piece)
            if left:
                process.wait()
        finally:
            timer.cancel()
            timer.join()  # else it may still be alive when somebody asks how many threads there are
            process.kill()  # has no effect on a process that has ended
    is_whole = left > 0 and process.returncode >= 0
    return (b"".join(pieces), process.returncode) if is_whole else (b"", _FAILED)
