"""The locations of external Go code: GOPATH, the module cache, GOROOT.

Reads environment variables, the settings file of `go env -w` and the file system; never runs the `go` command.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from golore.graph.safety.child_processes import find_program
from golore.graph.safety.regular_file import SETTINGS_LIMIT, read_regular
from golore.learner.go_rules.go_mod import escape_path, version_key

DEBIAN_GOPATH: Final = Path("/usr/share/gocode")
"""Where Debian's golang-*-dev packages install sources."""


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
    """The packages of the standard library; if empty, they are unknown, and any path without a dot may be one."""


def read_environment(
    environ: Mapping[str, str] | None = None, *, std: frozenset[str] = frozenset(), debian: Path = DEBIAN_GOPATH
) -> Environment:
    """The settings that the `go` command would use."""
    variables = os.environ if environ is None else environ
    values = _go_env_file(variables) | {key: value for key, value in variables.items() if value}
    home = values.get("HOME", "") or values.get("USERPROFILE", "")
    entries = values.get("GOPATH", "") or (f"{home}/go" if home else "")
    gopath = tuple(Path(entry) for entry in entries.split(os.pathsep) if Path(entry).is_absolute())
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
    """The directory of a package in GOPATH. Like Go, also looks for `x/v2/y` at `x/y`."""
    spellings = dict.fromkeys((import_path, re.sub(r"/v([2-9]|[1-9]\d+)(?=/|$)", "", import_path, count=1)))
    for spelling in spellings:
        for base in environment.gopath:
            directory = f"{base.as_posix()}/src/{spelling}"
            if has_go_files(directory):
                return directory
    return None


def cached_module(environment: Environment, module: str, version: str) -> str | None:
    """The directory of a module version in the module cache; None if it is not there."""
    if environment.gomodcache is None:
        return None
    directory = environment.gomodcache / f"{escape_path(module)}@{escape_path(version)}"
    return directory.as_posix() if directory.is_dir() else None


def cached_versions(environment: Environment, module: str) -> tuple[str, ...]:
    """The versions of a module that are in the module cache, oldest first."""
    if environment.gomodcache is None:
        return ()
    parent, _, name = f"{environment.gomodcache}/{escape_path(module)}".rpartition("/")
    found = [entry.partition("@")[2] for entry in _entry_names(parent) if entry.startswith(name + "@")]
    return tuple(sorted((re.sub(r"!([a-z])", lambda m: m[1].upper(), v) for v in found), key=version_key))


@lru_cache(maxsize=1 << 14)
def has_go_files(directory: str) -> bool:
    return any(name.endswith(".go") and name[0] not in "._" for name in _entry_names(directory))


@lru_cache(maxsize=1 << 12)
def _entry_names(directory: str) -> tuple[str, ...]:
    try:
        with os.scandir(directory) as entries:
            return tuple(sorted(entry.name for entry in entries))
    except (OSError, ValueError):  # a path in a file may have characters that no file name can have
        return ()


def clear_listings() -> None:
    """Clear the cached directory listings. `build_project` calls this, because files may have changed."""
    has_go_files.cache_clear()
    _entry_names.cache_clear()


def config_directory(environ: Mapping[str, str], system: str = sys.platform) -> str:
    """Where Go keeps the user's settings, which differs between systems; empty if the environment does not say."""
    home = environ.get("HOME", "")
    if system == "win32":
        return environ.get("APPDATA", "")
    if system == "darwin":
        return f"{home}/Library/Application Support" if home else ""
    return environ.get("XDG_CONFIG_HOME", "") or (f"{home}/.config" if home else "")


def _go_env_file(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that `go env -w` has written."""
    path = environ.get("GOENV", "")
    config = config_directory(environ)
    if path == "off" or not (path or config):
        return {}
    try:
        data = read_regular(path or f"{config}/go/env", SETTINGS_LIMIT, follow=True)
    except OSError:
        return {}
    lines = data.decode("utf-8", "replace").splitlines()
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {key.strip(): value for key, equals, value in pairs if equals}


def _goroot(values: Mapping[str, str]) -> Path | None:
    if values.get("GOROOT"):
        candidate = Path(values["GOROOT"])
    else:
        command = find_program("go", values.get("PATH", ""))
        if command is None:
            return None
        candidate = Path(command).resolve().parent.parent
    return candidate if (candidate / "src" / "fmt").is_dir() else None
