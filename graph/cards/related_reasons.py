"""The related files of a file, best first, each with the reason in a few words."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from golore.graph.cards.related_files import (
    CONVENTIONAL,
    Surroundings,
    UseCounts,
    best_files,
    scores,
    stem_of,
)
from golore.graph.history.co_change import FileHistory, Partner, directory_of
from golore.graph.phrases import counted
from golore.graph.queries.file_facts import FileFacts

_REASONS: Final = 2
_OTHER_REASON: Final = "changes with what changes with it"


def related_files(facts: FileFacts, coupled: FileHistory | None, around: Surroundings) -> tuple[tuple[str, str], ...]:
    """The files that someone who edits this one should know, each with the reason."""
    callers: list[str] = []
    others: list[str] = []
    for use in facts.uses:
        if use.label == "CALLS":
            callers.append(use.source.file)
        else:
            others.append(use.source.file)
    uses = UseCounts(facts.calls, Counter(callers), Counter(others))
    partners = {partner.path: partner for partner in coupled.partners} if coupled is not None else {}
    directory_history = around.coupled(directory_of(facts.path))
    directory_partners = (
        {partner.path: partner for partner in directory_history.partners} if directory_history is not None else {}
    )
    tests = {test.file for test, _ in facts.tests} | {target.file for _, target in facts.tested}
    ordered = best_files(scores(facts.path, around, uses))
    inputs = _ReasonInputs(
        facts, uses, partners, coupled.commits if coupled is not None else 0, tests, directory_partners
    )
    return tuple([(path, _reason(inputs, path)) for path in ordered])


class _ReasonInputs(NamedTuple):
    """What the reasons are derived from, for one file."""

    facts: FileFacts
    uses: UseCounts
    partners: dict[str, Partner]
    commits: int
    tests: set[str]
    directory_partners: dict[str, Partner]


def _reason(inputs: _ReasonInputs, path: str) -> str:
    """Why `path` is related: the best reasons."""
    facts, uses, partners, commits, tests, directory_partners = inputs
    reasons: list[str] = []
    if path in partners:
        reasons.append(f"changed together in {partners[path].commits} of {counted(commits, 'commit')}")
    if path in tests:
        reasons.append("is tested by it" if facts.test else "tests it")
    if path in uses.called and len(reasons) < _REASONS:
        reasons.append(f"calls it ({uses.called[path]})")
    if path in uses.calls and len(reasons) < _REASONS:
        reasons.append(f"is called from it ({uses.calls[path]})")
    if path in uses.used and len(reasons) < _REASONS:
        reasons.append(f"uses its declarations ({uses.used[path]})")
    if len(reasons) < _REASONS:
        is_sibling = directory_of(path) == directory_of(facts.path)
        stem = stem_of(path)
        if stem == stem_of(facts.path) and (is_sibling or stem not in CONVENTIONAL):
            reasons.append("same name, another build or test" if is_sibling else "same name in another package")
        elif is_sibling:
            reasons.append("same directory")
        elif path in directory_partners:
            reasons.append(f"changed with its directory in {counted(directory_partners[path].commits, 'commit')}")
    return "; ".join(reasons) or _OTHER_REASON
