"""Answers about a fleet as text: the uses by repository, then what the answer does not cover."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from golore.graph.lake.downstream import UsedElsewhere
from golore.graph.lake.fleet_answers import FleetAnswer, FleetUse, MemberState, VersionGap
from golore.graph.lake.fleet_search import FleetHits
from golore.graph.phrases import counted, listed
from golore.mcp_server.text.ages import age
from golore.mcp_server.text.replies import Reply, Section

_NAMED: Final = 5
_SITES: Final = 4
_TITLES: Final = {
    "callers": "Callers of {}",
    "users": "Users of {}",
    "reads": "Reads of {}",
    "writes": "Writes of {}",
    "implementers": "Implementations of {}",
    "impact": "What a change of {} may reach",
    "affected": "What the change may reach",
    "breaking": "What the changes break",
    "dead": "What is used",
}
_ELSEWHERE: Final = ("affected", "breaking", "dead")


def fleet_reply(answer: FleetAnswer) -> Reply:
    states = {state.repository: state for state in answer.covered}
    others = [state for state in answer.covered if state.repository != answer.declared_in]
    where = counted(len(answer.covered), "repository")
    if answer.question in _ELSEWHERE:
        where = counted(len(others), "other repository")
    head = [f"{_TITLES[answer.question].format(answer.name)} in {where}"]
    sections = [
        *_sections("", answer.resolved, states),
        *_sections("candidates in ", answer.candidates, states),
        *_sections("without importing the interface, perhaps by accident, in ", answer.accidental, states),
    ]
    if not sections:
        head.append("None are known.")
    elif not answer.resolved:
        head.append("None are known for certain.")
    if not answer.complete:
        head.append("This may not be all: the search stopped at its depth or at its limit of uses.")
    return Reply(tuple(head), tuple(sections), tuple(_coverage(answer)))


def with_fleet(reply: Reply, answer: FleetAnswer) -> Reply:
    """A reply about the repository here, with what the fleet adds."""
    found = fleet_reply(answer)
    head = f"{' '.join(found.head)}." if not found.head[-1].endswith(".") else ": ".join(found.head)
    return Reply((*reply.head, head), (*reply.sections, *found.sections), (*reply.tail, *found.tail))


def used_lines(used: UsedElsewhere) -> tuple[str, ...]:
    """What the judgement of dead code took from the fleet."""
    others = [state for state in used.answer.covered if state.repository != used.answer.declared_in]
    lines = [
        f"{counted(len(others), 'other repository')} asked, which use {counted(len(used.names), 'name')} of this one:",
        *(f"  {member_title(state)}" for state in others),
    ]
    if used.open_packages:
        lines.append(
            "All that these packages export counts as used, because a repository was published without their source: "
            f"{listed(sorted(used.open_packages), _NAMED)}."
        )
    return (*lines, *_coverage(used.answer))


def fleet_search_reply(found: FleetHits) -> Reply:
    states = {state.repository: state for state in found.covered}
    head = f"{counted(found.found, 'declaration')} for {found.query!r} in {counted(len(found.covered), 'repository')}"
    by_repository: dict[str, list[tuple[str, ...]]] = {}
    for hit in found.hits:
        by_repository.setdefault(hit.repository, []).append((hit.kind, hit.name, f"{hit.file}:{hit.line}"))
    sections = [
        Section(member_title(states[name]) if name in states else name, tuple(rows))
        for name, rows in by_repository.items()
    ]
    tail = ["Only names of exported declarations were searched."]
    if found.found > len(found.hits):
        tail.append(f"{counted(found.found - len(found.hits), 'weaker result')} not listed.")
    return Reply((head,), tuple(sections), (*tail, *_not_covered(found.unreadable, found.index_failure)))


def member_title(state: MemberState) -> str:
    """A repository with its revision and age."""
    version = f" {state.version}" if state.version else ""
    return f"{state.repository}{version} at {state.commit[:12]}, published {published_age(state.published)}"


def published_age(published: str) -> str:
    try:
        then = datetime.fromisoformat(published)
    except ValueError:
        return "at an unknown time"
    seconds = int((datetime.now(UTC) - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())
    return age(seconds) if seconds > -120 else "in the future: a clock is wrong"


def gap_line(gap: VersionGap) -> str:
    requires = f"requires {gap.module} {gap.requires}" if gap.requires else f"uses {gap.module}"
    published = f"{gap.declared_by} is published at {gap.version or 'an unknown version'}"
    if not gap.gone:
        return f"{gap.repository} {requires}; {published}, which declares all {counted(gap.used, 'name')} that it uses."
    names = f"{len(gap.gone):,} of {counted(gap.used, 'name')} that it uses {'is' if len(gap.gone) == 1 else 'are'}"
    return f"{gap.repository} {requires}; {published}, where {names} not declared: {listed(gap.gone, _NAMED)}."


def _sections(prefix: str, uses: Iterable[FleetUse], states: dict[str, MemberState]) -> list[Section]:
    by_repository: dict[str, list[FleetUse]] = {}
    for use in uses:
        by_repository.setdefault(use.repository, []).append(use)
    return [
        Section(f"{prefix}{member_title(states[name]) if name in states else name}", tuple(map(_row, found)))
        for name, found in sorted(by_repository.items())
    ]


def _row(use: FleetUse) -> tuple[str, ...]:
    shown = ",".join(map(str, use.sites[:_SITES])) + (",…" if len(use.sites) > _SITES else "")
    where = f"{use.file}:{shown}" if shown else use.file
    how = use.access or use.how
    through = use.target or use.through
    return (
        f"{how} ({use.depth})" if use.through else how,
        use.source,
        f"{where} through {through}" if through else where,
    )


def _coverage(answer: FleetAnswer) -> list[str]:
    lines = [gap_line(gap) for gap in answer.gaps]
    if answer.unresolved:
        sites = sum(answer.unresolved.values())
        by = [f"{name} {number:,}" for name, number in answer.unresolved.items()]
        last = answer.name.rpartition(".")[2]
        lines.append(
            f"{counted(sites, 'unresolved site')} with the name {last} may be further uses: {listed(by, _NAMED)}."
        )
    if answer.without_source:
        lines.append(
            f"{counted(len(answer.without_source), 'repository')} had no source of its package when published, so uses "
            f"of methods are missing there: {listed(answer.without_source, _NAMED)}."
        )
    lines += _not_covered(answer.unreadable, answer.index_failure)
    if not answer.declared_in and answer.question not in _ELSEWHERE:
        lines.append("No repository of the fleet declares it.")
    return lines


def _not_covered(unreadable: dict[str, str], index_failure: str) -> list[str]:
    lines = [f"Not covered: {name}. {reason}" for name, reason in unreadable.items()]
    if index_failure:
        lines.append(f"The index was not used: {index_failure} Run `golore fleet compact`.")
    return lines
