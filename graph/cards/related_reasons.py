"""The related files of a file, best first, each with the reason in a few words."""

from __future__ import annotations

from collections import Counter
from typing import Final, final

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
    directory = directory_of(facts.path)
    directory_history = around.coupled(directory)
    directory_partners = (
        {partner.path: partner for partner in directory_history.partners} if directory_history is not None else {}
    )
    tests = {test.file for test, _ in facts.tests} | {target.file for _, target in facts.tested}
    commits = coupled.commits if coupled is not None else 0
    inputs = _ReasonInputs(facts, uses, partners, commits, tests, directory, directory_partners)
    return tuple([(path, _reason(inputs, path)) for path in best_files(scores(facts.path, around, uses))])


@final
class _ReasonInputs:
    """What the reasons are derived from, for one file."""

    __slots__ = ("called", "calls", "commits", "directory", "directory_partners", "partners", "stem", "tests", "used")

    def __init__(
        self,
        facts: FileFacts,
        uses: UseCounts,
        partners: dict[str, Partner],
        commits: int,
        tests: set[str],
        directory: str,
        directory_partners: dict[str, Partner],
    ) -> None:
        self.calls, self.called, self.used = uses
        self.partners = partners
        self.commits = counted(commits, "commit")
        self.tests = dict.fromkeys(tests, "is tested by it" if facts.test else "tests it")
        self.directory = directory
        self.stem = stem_of(facts.path)
        self.directory_partners = directory_partners


def _reason(inputs: _ReasonInputs, path: str) -> str:
    """Why `path` is related: the best reasons."""
    reasons: list[str] = []
    partner = inputs.partners.get(path)
    if partner is not None:
        reasons.append(f"changed together in {partner.commits} of {inputs.commits}")
    if path in inputs.tests:
        reasons.append(inputs.tests[path])
    if len(reasons) < _REASONS and path in inputs.called:
        reasons.append(f"calls it ({inputs.called[path]})")
    if len(reasons) < _REASONS and path in inputs.calls:
        reasons.append(f"is called from it ({inputs.calls[path]})")
    if len(reasons) < _REASONS and path in inputs.used:
        reasons.append(f"uses its declarations ({inputs.used[path]})")
    if len(reasons) < _REASONS:
        is_sibling = directory_of(path) == inputs.directory
        stem = stem_of(path)
        if stem == inputs.stem and (is_sibling or stem not in CONVENTIONAL):
            reasons.append("same name, another build or test" if is_sibling else "same name in another package")
        elif is_sibling:
            reasons.append("same directory")
        elif path in inputs.directory_partners:
            changed = counted(inputs.directory_partners[path].commits, "commit")
            reasons.append(f"changed with its directory in {changed}")
    return "; ".join(reasons) or _OTHER_REASON
