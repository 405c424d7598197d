"""Types of diagrams: boxes, and arrows between them. A dashed arrow is possible, a solid one is certain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """`id` is what arrows refer to; `about` is a short text such as the kind and the place."""

    id: str
    name: str
    about: str = ""
    is_subject: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    source: str
    target: str
    label: str = ""
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes with different ids, and arrows between them. `remark` is a sentence on what the drawing does not show."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    remark: str = ""

    @property
    def numbers(self) -> dict[str, int]:
        """Id → position of its box: formats name boxes by numbers, because ids have characters of any kind."""
        return {box.id: number for number, box in enumerate(self.boxes)}


Format = Callable[[Diagram], Iterator[str]]
"""The lines of a diagram in a text format, as they are made."""
