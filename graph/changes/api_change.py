"""Types of API changes: what differs in the exported API of packages, and the version that semantic versioning asks
for.

`learner.compatibility` compares two states. Nothing here knows the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

Bump = Literal["major", "minor", "patch"]
_VERSION: Final = re.compile(r"(.*?)v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


class ApiChange(NamedTuple):
    """One difference. `name` is the name in the package, such as `Store.Save`; empty for the package itself.

    `before` and `after` are the declarations, empty if there is none. `is_breaking`: code that uses the package may no
    longer compile. `is_certain` is false if a type is not known. The location is that of the newest declaration.
    """

    module: str
    package: str
    name: str
    kind: str
    what: str
    is_breaking: bool
    is_certain: bool
    before: str
    after: str
    file: str
    line: int

    @property
    def qualified_name(self) -> str:
        return f"{self.package}.{self.name}" if self.name else self.package


class Release(NamedTuple):
    """The part of a module's version to raise. `version` is empty if the base is no release of it."""

    module: str
    bump: Bump
    version: str


def bump_for(changes: Iterable[ApiChange]) -> Bump:
    """The part of the version that changes ask to raise. Uncertain changes do not count."""
    certain = [change for change in changes if change.is_certain]
    if any(change.is_breaking for change in certain):
        return "major"
    return "minor" if certain else "patch"


def next_version(tag: str, bump: Bump) -> str:
    """The version after the one that a tag names; empty if it names none. Before v1, the minor version is raised for
    breaking changes, too. A tag may begin with the directory of a module: `api/v1.2.0`."""
    found = _VERSION.fullmatch(tag)
    if found is None:
        return ""
    prefix, numbers = found[1], [int(part) for part in found.groups()[1:]]
    part = ("major", "minor", "patch").index(bump)
    if numbers[0] == 0:
        part = max(part, 1)
    numbers = [*numbers[:part], numbers[part] + 1, *([0] * (2 - part))]
    return f"{prefix}v{'.'.join(map(str, numbers))}"
