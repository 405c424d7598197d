"""Types of answers about a whole fleet. *Resolved*, *candidates* and *unresolved* stay apart, as in one repository."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FleetUse:
    """A use in a repository. `target` is what it uses, if that is not what was asked for: an interface method through
    which a candidate may call it. `depth` and `through` describe an indirect use (see `fleet_questions.impact`)."""

    repository: str
    how: str
    source: str
    file: str
    sites: tuple[int, ...]
    access: str = ""
    target: str = ""
    depth: int = 1
    through: str = ""


@dataclass(frozen=True, slots=True)
class MemberState:
    """The state of a repository that the answer is about. `published` is the time of its publisher's clock."""

    repository: str
    commit: str
    version: str
    published: str


@dataclass(frozen=True, slots=True)
class VersionGap:
    """Names of `module` that a repository uses, and that the published version of it does not declare."""

    repository: str
    module: str
    requires: str
    declared_by: str
    version: str
    used: int
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """`accidental`: types that have the methods of an interface, but whose packages do not import it.
    `without_source`: repositories that were published without the source of the package of what is asked; the uses of
    methods are not known there. `unresolved`: unresolved sites with the same name, by repository. `covered`: all
    repositories of the fleet. `complete`: whether a search of several steps did not stop at its limit."""

    question: str
    name: str
    declared_in: str
    resolved: tuple[FleetUse, ...]
    candidates: tuple[FleetUse, ...]
    accidental: tuple[FleetUse, ...]
    unresolved: dict[str, int]
    gaps: tuple[VersionGap, ...]
    without_source: tuple[str, ...]
    covered: tuple[MemberState, ...]
    unreadable: dict[str, str]
    index_failure: str = ""
    complete: bool = True
