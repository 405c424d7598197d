"""The index of the standard library that is part of golore: the shapes of its packages, from golore's extractor.

`python -m golore.learner.project.stdlib_index GOROOT` builds it from the sources of a Go toolchain. It contains the
files of the default build without tests and commands. Unexported declarations are included, because types are inferred
from them.
"""

from __future__ import annotations

import os
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.compression import decompress
from golore.learner.extraction import facts as f
from golore.learner.extraction.extract import extract_shape
from golore.learner.go_rules.build_constraints import satisfied
from golore.learner.project.catalog import full_constraint

INDEX: Final = Path(__file__).parents[1] / "data" / "std.idx"


class IndexedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    path: str
    constraint: str
    shape: f.Shape


class Index(msgspec.Struct, frozen=True, array_like=True):
    """`packages` are compressed lists of `IndexedFile` by import path."""

    version: str
    packages: dict[str, bytes]


_files_decoder = msgspec.msgpack.Decoder(tuple[IndexedFile, ...])


@cache
def index() -> Index:
    try:
        return msgspec.msgpack.decode(INDEX.read_bytes(), type=Index)
    except (OSError, msgspec.MsgspecError):
        return Index("", {})


def import_paths() -> frozenset[str]:
    """The import paths of the standard library."""
    return frozenset(path for path in index().packages if not path.startswith("vendor/"))


def package_files(path: str) -> tuple[IndexedFile, ...] | None:
    """The files of a package of the standard library, or of one that it vendors; None if there is none."""
    packages = index().packages
    packed = packages.get(path) or packages.get(f"vendor/{path}")
    return None if packed is None else _files_decoder.decode(decompress(packed))


def build_index(goroot: Path) -> Index:
    """Build the index from the sources in a GOROOT."""
    source = goroot / "src"
    packages: dict[str, bytes] = {}
    for directory, below, names in os.walk(source):
        below[:] = sorted(d for d in below if d != "testdata" and d[:1] not in "._")
        relative = Path(directory).relative_to(source).as_posix()
        if relative == "cmd":
            below.clear()
            continue
        files = _read_package(Path(directory), relative, names)
        if files:
            packages[relative] = zlib.compress(msgspec.msgpack.encode(files), 9)
    version = (goroot / "VERSION").read_text().split()[0]
    return Index(version, dict(sorted(packages.items())))


def _read_package(directory: Path, relative: str, names: list[str]) -> list[IndexedFile]:
    files: list[IndexedFile] = []
    for name in sorted(names):
        if not name.endswith(".go") or name.endswith("_test.go") or name[:1] in "._":
            continue
        shape = extract_shape((directory / name).read_bytes())
        constraint = full_constraint(name, shape.constraint)
        if shape.package != "documentation" and satisfied(constraint):
            files.append(IndexedFile(f"{relative}/{name}", constraint, shape))
    return files


if __name__ == "__main__":
    INDEX.write_bytes(msgspec.msgpack.encode(result := build_index(Path(sys.argv[1]))))
    print(f"{result.version}: {len(result.packages)} packages, {INDEX.stat().st_size:,} bytes in {INDEX}")
