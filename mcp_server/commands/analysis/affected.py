"""`golore affected`: prints what a change affects, and the tests to run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.changes.affected import AffectedLimits
from golore.graph.errors import UsageError
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.changes.compared_files import Request
from golore.mcp_server.services.change_effects import affected, prepare_adjacency
from golore.mcp_server.services.fleet.fleet_asking import open_fleet
from golore.mcp_server.services.fleet.fleet_here import affected_elsewhere
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.affected_text import affected_document, affected_markdown, affected_reply
from golore.mcp_server.text.diagrams import affected_diagram, print_diagram
from golore.mcp_server.text.fleet_text import with_fleet
from golore.mcp_server.text.output import print_json, print_lines, require_one_form, to_json_value
from golore.mcp_server.text.replies import full_name, people_lines

_SHOWN: Final = 30


def run_affected(
    request: Request,
    start: Path,
    limits: AffectedLimits,
    *,
    as_json: bool,
    markdown: bool,
    limit: int | None,
    diagram: str | None = None,
    fleet: str | None = None,
) -> int:
    """`fleet`: the address of a lake whose repositories are asked, too; empty: the one of the settings."""
    require_one_form(as_json=as_json, diagram=diagram, markdown=markdown)
    if (markdown or diagram) and fleet is not None:
        raise UsageError("Comments for pull requests and diagrams do not have the fleet. Leave out --fleet.")
    with open_repository(start) as opened:
        root, store = opened.repository.root, opened.store
        prepare_adjacency(store)
        found = affected(root, store, request, limits)
        stale = warn_if_stale(root, store)
        answer = None
        if fleet is not None:
            with open_fleet(fleet) as others:
                answer = affected_elsewhere(root, store, others, found, limits.depth)
    if diagram:
        print_diagram(affected_diagram(found, limit), diagram)
    elif as_json:
        more = {"fleet": to_json_value(answer)} if answer is not None else {}
        print_json({**affected_document(found), "stale": stale, **more})
    elif markdown:
        print_lines(affected_markdown(found).split("\n"))
    else:
        reply = affected_reply(found, full_name)
        print_lines(people_lines(reply if answer is None else with_fleet(reply, answer), limit or _SHOWN))
    return 0


def request_for(text: str, base: str, *, staged: bool) -> Request:
    """What to compare: `text` is a range of revisions, the path of a patch, or empty."""
    if text and (base or staged):
        raise UsageError("Give either a range of revisions or a patch, or one of --base and --staged.")
    file = Path(text)
    if text and file.is_file():
        try:
            return Request(patch=read_regular(file, SOURCE_LIMIT))
        except OSError as failure:
            raise UsageError(f"The patch {text} cannot be read: {failure.strerror or failure}.") from failure
    return Request(base, text, staged=staged)
