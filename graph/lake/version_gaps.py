"""Names that repositories use of a module, and that its published version does not declare: they were removed, renamed,
or are not there yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from golore.graph.lake.fleet import Fleet, Member
from golore.graph.lake.fleet_answers import VersionGap


def version_gaps(fleet: Fleet, declaring: Member, users: Collection[str]) -> tuple[VersionGap, ...]:
    """What each of the `users`, which are names of repositories, uses and `declaring` does not declare, by module. Also
    listed, without such names, are users that require another version than the published one."""
    asked = {one.name: one for one in fleet.members if one.name in users and one.name != declaring.name}
    if not asked:
        return ()
    declared = fleet.symbol_names(declaring)
    if declared is None:
        return ()
    modules = declaring.head.modules
    prefixes = tuple(f"{module}{end}" for module in modules for end in ("/", "."))
    names_of = fleet.names_used_below(prefixes, asked.values())
    used: dict[tuple[str, str], set[str]] = {}
    for repository, names in names_of.items():
        # What begins with the path of a module may belong to another one, such as its next major version.
        below = tuple(f"{module}/" for module in modules)
        inner = [one for one in asked[repository].head.requires if one.startswith(below)]
        for name in names:
            module = _module_of(name, (*modules, *inner))
            if module in modules:
                used.setdefault((repository, module), set()).add(name)
    gaps: list[VersionGap] = []
    for (repository, module), names in sorted(used.items()):
        requires = asked[repository].head.requires.get(module, "")
        gone = tuple(sorted(names - declared))
        if gone or (requires and declaring.head.version and requires != declaring.head.version):
            gaps.append(
                VersionGap(repository, module, requires, declaring.name, declaring.head.version, len(names), gone)
            )
    return tuple(gaps)


def _module_of(name: str, modules: Iterable[str]) -> str:
    return max((one for one in modules if name.startswith((f"{one}/", f"{one}."))), key=len, default="")
