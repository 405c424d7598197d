"""The review page: summaries that are most worth a look and proposed notes; a person accepts, rewrites or rejects them.

Where nobody has written a summary, there is nothing to accept or reject, but one can be written.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from golore.graph.errors import UsageError
from golore.graph.knowledge.summaries import LEVELS, LONGEST, SummaryRecord
from golore.mcp_server.services.knowledge.current_summary import STRUCTURAL
from golore.mcp_server.services.knowledge.draft_list import Draft, draft_material, drafts
from golore.mcp_server.services.knowledge.upgrades import reject_draft, write_as_person
from golore.mcp_server.sessions.learn_sessions import accept_proposal
from golore.mcp_server.sessions.proposals import REJECTED, Proposal, decide, pending, select_pending
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_LISTED: Final = 8


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person decided. `proposal` is the id of a proposed note; for a summary, the other fields say which."""

    action: str
    level: str = ""
    subject: str = ""
    digest: str = ""
    text: str = ""
    proposal: str = ""


def review_page(visit: Visit) -> Page:
    repository = visit.opened.repository
    found = drafts(repository, visit.store, _LISTED, with_material=False, with_structural=False)
    proposals = [(one, [(file, visit.links.file(file)) for file in one.files]) for one in _pending(visit)]
    values: dict[str, Any] = {
        "drafts": [(one, _name(visit, one), _address(visit, one), one.quality != STRUCTURAL) for one in found],
        "proposals": proposals,
        "longest": LONGEST,
    }
    return Page("review.html", "Review", values, "review")


def material_part(visit: Visit, level: str, subject: str) -> Page:
    """The code and facts that a summary is about, as a model gets them."""
    if level not in LEVELS:
        raise UsageError(f"There is no level {level}.")
    return Page("material.html", "", {"material": draft_material(visit.opened.repository, visit.store, level, subject)})


def decide_summary(visit: Visit, decision: Decision) -> tuple[str, SummaryRecord]:
    """Carry out a decision on a summary. Returns what was done, and the summary, which the caller publishes when the
    store is free."""
    repository = visit.opened.repository
    if decision.action == "reject":
        rejected = reject_draft(repository, decision.level, decision.subject)
        return "Rejected. It is kept in the history, and no model is asked again while the code is the same.", rejected
    if decision.action not in ("accept", "rewrite"):
        raise UsageError(f"There is no action {decision.action}.")
    written = write_as_person(repository, visit.store, decision.level, decision.subject, decision.text, decision.digest)
    return "Saved as reviewed.", written


def decide_proposal(visit: Visit, decision: Decision) -> str:
    """Accept or reject a proposed note. The store must be free. Returns what was done."""
    repository = visit.opened.repository
    (proposal,) = select_pending(repository.store, [decision.proposal])
    if decision.action == "accept":
        return f"Accepted as note {accept_proposal(repository, proposal)}."
    decide(repository.store, proposal, REJECTED)
    return "Rejected. It will not be proposed again."


def _pending(visit: Visit) -> list[Proposal]:
    return pending(visit.opened.repository.store)[:_LISTED]


def _name(visit: Visit, one: Draft) -> str:
    if one.level == "repository":
        return visit.repository_name
    return visit.short_text(one.subject) if one.level == "symbol" else one.subject


def _address(visit: Visit, one: Draft) -> str:
    links = visit.links
    if one.level == "symbol":
        return links.symbol(one.subject)
    if one.level == "file":
        return links.file(one.subject)
    return links.page("")
