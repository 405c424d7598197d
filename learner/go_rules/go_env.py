"""Where a Go installation keeps what lies outside a repository: GOPATH, the module cache, GOROOT.

Answers from environment variables, Go's own settings file and the file system; the `go` command is never run.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from golore.learner.go_rules.go_mod import escape_path, version_key

DEBIAN_GOPATH: Final = Path("/usr/share/gocode")
"""Where Debian's golang-*-dev packages put sources."""


@dataclass(frozen=True, slots=True)
class Environment:
    gopath: tuple[Path, ...] = ()
    gomodcache: Path | None = None
    goroot: Path | None = None
    modules: bool = True
    """False under GO111MODULE=off: everything comes from GOPATH."""
    mod: str = ""
    """The value of `-mod` in GOFLAGS."""
    gowork: str = ""
    std: frozenset[str] = frozenset()
    """The standard library's packages as far as they are known; empty means that every undotted path may be one."""


def read_environment(
    environ: Mapping[str, str] | None = None, *, std: frozenset[str] = frozenset(), debian: Path = DEBIAN_GOPATH
) -> Environment:
    """The environment that the `go` command would find itself in."""
    own = os.environ if environ is None else environ
    values = _settings(own) | {key: value for key, value in own.items() if value}
    home = values.get("HOME", "")
    entries = values.get("GOPATH", "") or (f"{home}/go" if home else "")
    gopath = tuple(Path(entry) for entry in entries.split(os.pathsep) if entry.startswith("/"))
    cache = values.get("GOMODCACHE", "") or (str(gopath[0] / "pkg" / "mod") if gopath else "")
    if debian not in gopath and (debian / "src").is_dir():
        gopath += (debian,)
    mode = re.search(r"(?:^|\s)--?mod=(\S+)", values.get("GOFLAGS", ""))
    return Environment(
        gopath,
        Path(cache) if cache else None,
        _goroot(values),
        values.get("GO111MODULE", "") != "off",
        mode[1] if mode else "",
        values.get("GOWORK", ""),
        std,
    )


def gopath_directory(environment: Environment, import_path: str) -> str | None:
    """The directory of a package in GOPATH. `x/v2/y` may be found at `x/y`, as Go does for a module's major version."""
    spellings = dict.fromkeys((import_path, re.sub(r"/v([2-9]|[1-9]\d+)(?=/|$)", "", import_path, count=1)))
    for spelling in spellings:
        for base in environment.gopath:
            directory = f"{base}/src/{spelling}"
            if has_go_files(directory):
                return directory
    return None


def cached_module(environment: Environment, module: str, version: str) -> str | None:
    """The directory of a module's version in the module cache."""
    if environment.gomodcache is None:
        return None
    directory = environment.gomodcache / f"{escape_path(module)}@{escape_path(version)}"
    return str(directory) if directory.is_dir() else None


def cached_versions(environment: Environment, module: str) -> tuple[str, ...]:
    """The versions of a module that are in the module cache, oldest first."""
    if environment.gomodcache is None:
        return ()
    parent, _, name = f"{environment.gomodcache}/{escape_path(module)}".rpartition("/")
    found = [entry.partition("@")[2] for entry in _names(parent) if entry.startswith(name + "@")]
    return tuple(sorted((re.sub(r"!([a-z])", lambda m: m[1].upper(), v) for v in found), key=version_key))


@lru_cache(maxsize=1 << 14)
def has_go_files(directory: str) -> bool:
    return any(name.endswith(".go") and name[0] not in "._" for name in _names(directory))


@lru_cache(maxsize=1 << 12)
def _names(directory: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in Path(directory).iterdir()))
    except OSError:
        return ()


def forget() -> None:
    """Drops what is remembered of the file system; called when a tree is read anew."""
    has_go_files.cache_clear()
    _names.cache_clear()


def _settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What `go env -w` has written down."""
    named = environ.get("GOENV", "")
    config = environ.get("XDG_CONFIG_HOME", "") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    if named == "off" or not (named or config):
        return {}
    try:
        lines = Path(named or f"{config}/go/env").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {key.strip(): value for key, equals, value in pairs if equals}


def _goroot(values: Mapping[str, str]) -> Path | None:
    if values.get("GOROOT"):
        candidate = Path(values["GOROOT"])
    else:
        command = shutil.which("go", path=values.get("PATH", ""))
        if command is None:
            return None
        candidate = Path(command).resolve().parent.parent
    return candidate if (candidate / "src" / "fmt").is_dir() else None
