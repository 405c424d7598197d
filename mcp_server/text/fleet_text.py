"""Answers about a fleet as text: the uses by repository, then what the answer does not cover."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from golore.graph.lake.fleet_answers import FleetAnswer, FleetUse, MemberState, VersionGap
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
}


def fleet_reply(answer: FleetAnswer) -> Reply:
    states = {state.repository: state for state in answer.covered}
    head = [f"{_TITLES[answer.question].format(answer.name)} in {counted(len(answer.covered), 'repository')}"]
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
    lines += [f"Not covered: {name}. {reason}" for name, reason in answer.unreadable.items()]
    if answer.index_failure:
        lines.append(f"The index was not used: {answer.index_failure} Run `golore fleet compact`.")
    if not answer.declared_in:
        lines.append("No repository of the fleet declares it.")
    return lines
