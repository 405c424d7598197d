"""`memory_note` of a team server: notes are events in the lake, and their author is the name of the caller's token."""

from __future__ import annotations

from contextlib import ExitStack

from golore.graph.errors import UsageError
from golore.graph.queries.names.short_names import ShortNames
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.server.tools.memory_note import (
    DESCRIPTION,
    ONE_OF,
    Confirm,
    Done,
    Kind,
    Model,
    Rate,
    Supersedes,
    Tags,
    Target,
    Text,
    outcome_text,
)
from golore.mcp_server.services.knowledge import note_actions
from golore.mcp_server.services.knowledge.note_actions import NoteRequest
from golore.mcp_server.services.knowledge.ratings import rate_item, rated_id
from golore.mcp_server.team.caller import current_caller
from golore.mcp_server.team.installed_store import keep
from golore.mcp_server.team.lake_notes import send_notes, show_notes
from golore.mcp_server.team.lake_repositories import LakeRepositories
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError


def register(server: MCPServer, repositories: LakeRepositories) -> None:
    @server.tool(
        name="memory_note",
        title="Pin a note to code",
        description=DESCRIPTION,
        annotations=WRITES,
        structured_output=False,
    )
    def memory_note(
        target: Target = "",
        text: Text = "",
        kind: Kind = "note",
        tags: Tags = [],  # noqa: B006  read only, and the schema wants a value
        model: Model = "",
        supersedes: Supersedes = "",
        confirm: Confirm = "",
        done: Done = "",
        rate: Rate = "",
        repository: RepositoryName = "",
    ) -> str:
        if sum(map(bool, (text, confirm, done, rate))) != 1 or ((text or rate) and not target):
            raise ToolError(ONE_OF)
        with reporting_failures(can_learn=False):
            grant = current_caller().grant
            served, _ = repositories.find(repository)
            if not grant.may_write:
                raise UsageError("Your token may read, but not write notes. Ask whoever gave it to you.")
            request = NoteRequest(target, text, kind, tuple(tags), grant.name, model or "agent", supersedes)
            with ExitStack() as kept:
                with repositories.opened(served.name) as opened:
                    learned = opened.repository
                    kept.callback(keep(learned.store).release)
                    reply = _write(opened, request, confirm, done, rate)
                # After `opened`, so that a slow lake does not block other questions.
                message = send_notes(learned.store, repositories.lake, served.name)
        return f"{reply}\n{message}" if message else reply


def _write(opened: OpenServedRepository, request: NoteRequest, confirm: str, done: str, rate: str) -> str:
    if rate:
        return rate_item(opened.repository, rated_id(opened, request.target), rate, request.author)
    if confirm:
        outcome = note_actions.confirm_note(opened, confirm)
    elif done:
        outcome = note_actions.end_task(opened.repository, done)
    else:
        outcome = note_actions.write_note(opened, request)
    show_notes(opened, outcome.card_paths)
    name = outcome.note.anchor.name
    action = "Confirmed" if confirm else "Done" if done else "Noted"
    return outcome_text(outcome, action, {name: ShortNames(opened.store)(name)})
