"""Uses of declarations that the graph does not have: `//go:linkname`, `//export` for C, and assembly.

Reads the files of some packages as they are on disk. What a directive or a line of assembly means is not checked: every
name in one counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from golore.graph.analysis.code_graph import CodeGraph
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular

LINKNAME: Final = "linkname"
CGO: Final = "cgo"
ASSEMBLY: Final = "assembly"
_LINKNAME: Final = re.compile(rb"^//go:linkname[ \t]+(\S+)(?:[ \t]+(\S+))?", re.MULTILINE)
_EXPORT: Final = re.compile(rb"^//export[ \t]+(\S+)", re.MULTILINE)
_IN_ASSEMBLY: Final = re.compile("·([\\w·]+)(?:<[^>]*>)?(?:\\+\\d+)?\\(SB\\)".encode())
_DIRECTIVE: Final = b"\n//"


def hidden_uses(root: Path, graph: CodeGraph, packages: Iterable[str]) -> dict[int, str]:
    """The declarations that such uses name, with how they are used."""
    numbers: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    qualified: defaultdict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(graph.declared):
        if one.kind in ("func", "var", "method"):
            numbers[one.package, one.name].append(number)
            qualified[one.qualified_name].append(number)
    found: dict[int, str] = {}
    for package in sorted(packages):
        for path in sorted({graph.declared[number].file for number in graph.by_package.get(package, ())}):
            for name, other, how in _names(_read(root / path)):
                for number in [*numbers.get((package, name), ()), *qualified.get(other, ())]:
                    found.setdefault(number, how)
        entry = graph.packages.get(package)
        for path in sorted((root / entry.dir).glob("*.s")) if entry else ():
            for name in _IN_ASSEMBLY.findall(_read(path)):
                for number in numbers.get((package, name.decode("utf-8", "replace")), ()):
                    found.setdefault(number, ASSEMBLY)
    return found


def _names(source: bytes) -> Iterator[tuple[str, str, str]]:
    if _DIRECTIVE + b"go:linkname" in source:
        for local, other in _LINKNAME.findall(source):
            yield local.decode("utf-8", "replace"), other.decode("utf-8", "replace"), LINKNAME
    if _DIRECTIVE + b"export" in source:
        for local in _EXPORT.findall(source):
            yield local.decode("utf-8", "replace"), "", CGO


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, SOURCE_LIMIT, follow=True)
    except OSError:
        return b""
