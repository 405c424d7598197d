"""Compares golore's references with the uses that Go's type checker finds in functions: by kind, fields by access."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from golore.learner.audit.go_judge import JudgedUse, Truth
from golore.learner.audit.scores import DeclarationLocation, Score, Tally, location, simple_name

KINDS: Final = ("functions", "types", "constants", "variables", "fields")
_KIND_OF: Final = {
    "func": "functions",
    "method": "functions",
    "imethod": "functions",
    "struct": "types",
    "interface": "types",
    "type": "types",
    "alias": "types",
    "const": "constants",
    "var": "variables",
    "field": "fields",
}


class OurUse(NamedTuple):
    """A `REFERENCES` edge from a function or method. An external target has no file and line."""

    user: str
    file: str
    user_line: int
    target: str
    target_file: str
    target_line: int
    kind: str
    sites: tuple[int, ...]
    access: tuple[str, ...]


class UseScores(NamedTuple):
    """Scores of distinct pairs of user and target, and for fields of user, field and access."""

    by_kind: dict[str, Score]
    by_access: dict[str, Score]


_Target = tuple[DeclarationLocation, str]
"""Location and simple name: several fields may be declared on one line."""


def compare_uses(
    truth: Truth, ours: Iterable[OurUse], common: frozenset[str], report: Callable[[str, str, str], None]
) -> UseScores:
    """Score the uses in the files `common`. `report` gets each failure: what it is about, its label and an example."""
    judged_files = frozenset(file.path for file in truth.files)
    found: dict[tuple[str, int, _Target], JudgedUse] = {}
    accesses: dict[tuple[str, int, _Target, str], JudgedUse] = {}
    names: set[tuple[str, int, str]] = set()
    for use in truth.uses:
        target = (location(use.target, use.target_file, use.target_line), simple_name(use.target))
        if use.file not in common or target == ((use.file, use.user_line), simple_name(use.user)):
            continue  # golore has no reference of a function to itself
        found.setdefault((use.file, use.user_line, target), use)
        names.add((use.file, use.user_line, use.target))
        if use.access:
            accesses.setdefault((use.file, use.user_line, target, use.access), use)
    open_sites = frozenset((site.file, site.line, site.name) for site in (*truth.open_sites, *truth.nameless_sites))
    pairs = {kind: Tally[tuple[str, int, _Target]]() for kind in KINDS}
    ways = {access: Tally[tuple[str, int, _Target, str]]() for access in ("read", "write", "address", "literal")}
    for use in ours:
        if use.file not in common:
            continue
        target = (location(use.target, use.target_file, use.target_line), simple_name(use.target))
        published = ((use.target, 0), simple_name(use.target))
        if (use.file, use.user_line, target) not in found and (use.file, use.user_line, published) in found:
            target = published
        pair = (use.file, use.user_line, target)
        verdict = found.get(pair)
        if verdict is None and _is_twin(use, target, judged_files, names):
            continue
        doubtful = any((use.file, line, target[1]) in open_sites for line in use.sites)
        kind = _kind(verdict.kind if verdict is not None else use.kind)
        if kind not in pairs:
            continue
        if pairs[kind].add(pair, found, doubtful) == "wrong":
            report(
                f"{kind} wrong", use.target, f"{use.file}:{(*use.sites, use.user_line)[0]} {use.user} -> {use.target}"
            )
        for line, access in zip(use.sites, use.access, strict=False):
            unknown = (use.file, line, target[1]) in open_sites
            if ways[access].add((*pair, access), accesses, unknown) == "wrong" and verdict is not None:
                report("access wrong", access, f"{use.file}:{line} {use.user} -> {use.target}")
    for pair in found.keys() - {right for tally in pairs.values() for right in tally.right}:
        use = found[pair]
        side = "inside" if use.target_file else "outside"
        report(f"{_kind(use.kind)} missed", f"target {side}", f"{use.file}:{use.line} {use.user} -> {use.target}")
    return UseScores(
        {
            kind: tally.score(sum(1 for use in found.values() if _kind(use.kind) == kind))
            for kind, tally in pairs.items()
        },
        {
            access: tally.score(sum(1 for use in accesses.values() if use.access == access))
            for access, tally in ways.items()
        },
    )


def _is_twin(use: OurUse, target: _Target, judged: frozenset[str], names: set[tuple[str, int, str]]) -> bool:
    """Whether the target is a twin for another build configuration of a target that the judge found."""
    file, line = target[0]
    return line > 0 and file not in judged and (use.file, use.user_line, use.target) in names


def _kind(kind: str) -> str:
    return _KIND_OF.get(kind, kind)
