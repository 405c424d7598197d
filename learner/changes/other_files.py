"""What depends on changed files that are no Go code: `//go:embed`, testdata, assembly and C, and required modules.

Directives are read from the Go files in the working tree. A file that nothing here knows affects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from golore.graph.changes.change_set import OtherChanges
from golore.graph.database.store import Store
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.changes.compared_files import ComparedFiles
from golore.learner.go_rules.go_mod import GoMod, parse_gomod

_EMBED: Final = re.compile(rb"^//go:embed[ \t]+([^\n]*)\n(?:[ \t]*//[^\n]*\n)*[ \t]*(?:var[ \t]+)?(\w+)", re.MULTILINE)
_PATTERN: Final = re.compile(r'"((?:\\.|[^"\\])*)"|`([^`]*)`|(\S+)')
_BUILT: Final = (".s", ".S", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".f", ".swig", ".syso")


def other_changes(root: Path, store: Store, compared: ComparedFiles) -> OtherChanges:
    """What depends on the files of a change that are no Go code."""
    paths = [pair.path for pair in compared.files if not pair.path.endswith(".go")]
    if not paths:
        return OtherChanges()
    directories = _package_directories(store)
    embedding: set[tuple[str, str]] = set()
    tested: set[str] = set()
    built: set[str] = set()
    for path in paths:
        embedding.update(_embedding(root, path))
        parts = PurePosixPath(path).parts
        if "testdata" in parts:
            tested.update(_nearest("/".join(parts[: parts.index("testdata")]), directories))
        elif path.endswith(_BUILT):
            built.update({path.rpartition("/")[0]} & directories)
        elif parts[-1] == "go.mod":
            built.update(_requiring(store, path, compared))
    return OtherChanges(tuple(sorted(embedding)), tuple(sorted(tested)), tuple(sorted(built)))


def _package_directories(store: Store) -> set[str]:
    return {directory for (directory,) in store.rows("MATCH (p:Package) RETURN DISTINCT p.dir")}


def _nearest(directory: str, packages: set[str]) -> Iterator[str]:
    """The package of a directory: its own, or that of the nearest directory above."""
    while directory not in packages:
        if not directory:
            return
        directory = directory.rpartition("/")[0]
    yield directory


def _embedding(root: Path, path: str) -> Iterator[tuple[str, str]]:
    """The Go files, and the variables in them, that embed a file."""
    for parent in PurePosixPath(path).parents:
        directory = "" if str(parent) == "." else str(parent)
        inner = path.removeprefix(f"{directory}/") if directory else path
        with suppress(OSError):
            for file in sorted((root / directory).glob("*.go")):
                with suppress(OSError):
                    for patterns, name in _EMBED.findall(read_regular(file, SOURCE_LIMIT)):
                        if any(is_embedded(inner, one) for one in _patterns(patterns.decode("utf-8", "replace"))):
                            yield f"{directory}/{file.name}".lstrip("/"), name.decode()


def _patterns(text: str) -> Iterable[str]:
    return (match[1] or match[2] or match[3] for match in _PATTERN.finditer(text))


def is_embedded(path: str, pattern: str) -> bool:
    """Whether a pattern of `//go:embed` includes a file; both are relative to the directory of the Go file.

    A pattern that matches a directory includes the files in it, hidden ones only with `all:`.
    """
    is_all = pattern.startswith("all:")
    wanted = pattern.removeprefix("all:").strip("/").split("/")
    parts = path.split("/")
    if wanted == ["."]:
        wanted = []
    if len(wanted) > len(parts) or not all(map(fnmatchcase, parts, wanted)):
        return False
    return is_all or not any(part.startswith((".", "_")) for part in parts[len(wanted) :])


def _requiring(store: Store, path: str, compared: ComparedFiles) -> set[str]:
    """The directories of the packages that use what changed in a go.mod: those that import a module with another
    version or, if anything else changed, all packages of the module."""
    directory = path.rpartition("/")[0]
    before, after = (_parsed(contents, path) for contents in (compared.before, compared.after))
    old, new = ({one.path: one.version for one in mod.requires} for mod in (before, after))
    changed = {module for module in old.keys() | new.keys() if old.get(module) != new.get(module)}
    if (before.go, before.toolchain, before.replaces, before.excludes) != (
        after.go,
        after.toolchain,
        after.replaces,
        after.excludes,
    ):
        packages = _package_directories(store)
        return {one for one in packages if not directory or one == directory or one.startswith(f"{directory}/")}
    packages = [id for (id,) in store.rows("MATCH (e:External) WHERE e.kind = 'package' RETURN e.id")]
    users = {module: [one for one in packages if one == module or one.startswith(f"{module}/")] for module in changed}
    if not all(users.values()):  # some package of another module needs it, and which one is not known
        users = {"": [one for one in packages if "." in one.partition("/")[0]]}
    statement = "MATCH (e:External {id: $id})<-[:IMPORTS]-(f:File) RETURN f.path"
    names = {name for those in users.values() for name in those}
    return {file.rpartition("/")[0] for name in sorted(names) for (file,) in store.rows(statement, {"id": name})}


def _parsed(contents: Mapping[str, bytes], path: str) -> GoMod:
    return parse_gomod(contents.get(path, b""), path)
