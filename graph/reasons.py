"""The files that belong to a file, best first, each with the reason in a few words."""

from __future__ import annotations

from collections import Counter
from typing import Final

from golore.graph.cards import counted
from golore.graph.coupling import Coupled, Partner, directory_of
from golore.graph.gathering import FileFacts
from golore.graph.relating import Surroundings, Uses, best, scores, stem_of

_REASONS: Final = 2


def related_files(facts: FileFacts, coupled: Coupled | None, around: Surroundings) -> tuple[tuple[str, str], ...]:
    """What someone who edits this file should know of."""
    called: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for use in facts.uses:
        (called if use.label == "CALLS" else used)[use.source.file] += 1
    uses = Uses(facts.calls, called, used)
    partners = {partner.path: partner for partner in coupled.partners} if coupled is not None else {}
    whole = around.coupled(directory_of(facts.path))
    near = {partner.path: partner for partner in whole.partners} if whole is not None else {}
    tests = {test.file for test, _ in facts.tests} | {target.file for _, target in facts.exercised}
    ordered = best(scores(facts.path, around, uses))
    total = coupled.commits if coupled is not None else 0
    return tuple((path, _reason(facts, path, uses, partners.get(path), total, path in tests, near)) for path in ordered)


def _reason(
    facts: FileFacts,
    path: str,
    uses: Uses,
    partner: Partner | None,
    total: int,
    is_tested: bool,
    near: dict[str, Partner],
) -> str:
    reasons: list[str] = []
    if partner is not None:
        reasons.append(f"changed together in {partner.commits} of {counted(total, 'commit')}")
    if is_tested:
        reasons.append("is tested by it" if facts.test else "tests it")
    if path in uses.called:
        reasons.append(f"calls it ({uses.called[path]})")
    if path in uses.calls:
        reasons.append(f"is called from it ({uses.calls[path]})")
    if path in uses.used:
        reasons.append(f"uses its declarations ({uses.used[path]})")
    is_sibling = directory_of(path) == directory_of(facts.path)
    if stem_of(path) == stem_of(facts.path):
        reasons.append("same name, another build or test" if is_sibling else "same name in another package")
    elif is_sibling:
        reasons.append("same directory")
    elif path in near:
        reasons.append(f"changed with its directory in {counted(near[path].commits, 'commit')}")
    return "; ".join(reasons[:_REASONS]) or "changes with what changes with it"
