"""Files of named sections, mostly arrays of numbers, that are mapped into memory instead of being read.

Such a file holds what follows from the graph and can be built again. The whole file is replaced at once; processes that
have mapped the old one keep it.
"""

from __future__ import annotations

import json
import mmap
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from golore.graph.files.atomic_write import replacing

_MACHINE: Final = f"{sys.byteorder} {array('I').itemsize}"
"""Numbers are stored as this machine has them."""


class MappedSections:
    """A mapped file. `head`: what was stored besides the sections."""

    def __init__(self, view: memoryview, sections: Mapping[str, tuple[int, int]], head: dict[str, Any]) -> None:
        self.head = head
        self._view = view
        self._sections = sections

    def bytes_of(self, section: str) -> memoryview:
        start, length = self._sections[section]
        return self._view[start : start + length]

    def numbers(self, section: str) -> memoryview:
        return self.bytes_of(section).cast("I")


def open_sections(path: Path, format: str) -> MappedSections | None:
    """Map a file; None if it is missing, unreadable, or of another format. The mapping stays valid when the file is
    replaced, and the operating system may reclaim its memory."""
    try:
        with path.open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    magic = _magic(format)
    start = len(magic) + 8
    if bytes(view[: len(magic)]) != magic or len(view) < start:
        return None
    length = int.from_bytes(view[len(magic) : start], "little")
    try:
        head = json.loads(bytes(view[start : start + length]))
        sections = {name: (offset + start + length, size) for name, (offset, size) in head.pop("sections").items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if any(offset + size > len(view) for offset, size in sections.values()):
        return None
    return MappedSections(view, sections, head)


def write_sections(path: Path, format: str, head: Mapping[str, Any], contents: Mapping[str, bytes]) -> None:
    """Replace the file. Numbers must start at a multiple of four, so sections of other lengths come last."""
    sections: dict[str, tuple[int, int]] = {}
    offset = 0
    for name, content in contents.items():
        sections[name] = (offset, len(content))
        offset += len(content)
    magic = _magic(format)
    text = json.dumps({**head, "sections": sections}).encode()
    text += b" " * (-(len(magic) + 8 + len(text)) % 8)
    with replacing(path) as file:
        file.write(magic + len(text).to_bytes(8, "little") + text)
        file.writelines(contents.values())


def _magic(format: str) -> bytes:
    return f"{format} {_MACHINE}\n".encode()
