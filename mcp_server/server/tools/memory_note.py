"""`memory_note`: writes a note on code, confirms one, marks a task as done, or rates what was shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from golore.graph.cards.annotations import quoted
from golore.graph.knowledge.notes import KINDS
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.services.knowledge import note_actions
from golore.mcp_server.services.knowledge.note_actions import NoteOutcome, NoteRequest
from golore.mcp_server.services.knowledge.ratings import RATINGS, rate_item, rated_id
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

DESCRIPTION: Final = """\
Call this when the user decides or corrects something, or you find out the hard way what the code does not say. Stored \
with the code, shown to whoever opens it. Give `text`, or instead `confirm`, `done` or `rate`."""
ONE_OF: Final = "Give one of: `text` with a `target`, `rate` with a `target`, `confirm` with an id, `done` with an id."

Target = Annotated[str, Field(description="What it is about: symbol, file, package, or `.`")]
Text = Annotated[str, Field(description="One fact, in a sentence or two.")]
Kind = Annotated[
    str,
    Field(
        description="task: shown until done. note: fades after 30 days.",
        json_schema_extra={"enum": list(KINDS)},
    ),
]
Tags = Annotated[list[str], Field(description="Words to find it by.")]
Author = Annotated[str, Field(description="The user's name, if the user says so.")]
Model = Annotated[str, Field(description="Your name.")]
Supersedes = Annotated[str, Field(description="Id of the note it replaces.")]
Confirm = Annotated[str, Field(description="Id of a note that still holds.")]
Done = Annotated[str, Field(description="Id of a task that is done.")]
Rate = Annotated[
    str,
    Field(
        description="Whether what you were shown about target helped.",
        json_schema_extra={"enum": ["", *RATINGS]},
    ),
]


def register(server: MCPServer, repositories: Repositories) -> None:
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
        author: Author = "",
        model: Model = "",
        supersedes: Supersedes = "",
        confirm: Confirm = "",
        done: Done = "",
        rate: Rate = "",
        repository: RepositoryName = "",
    ) -> str:
        if sum(map(bool, (text, confirm, done, rate))) != 1:
            raise ToolError(ONE_OF)
        request = NoteRequest(target, text, kind, tuple(tags), author, model or "agent", supersedes)
        with reporting_failures():
            if (text or rate) and not target:
                raise ToolError("Give a `target`: a symbol, file or package, or `.` for the repository.")
            named = repository or repositories.root_containing(target)
            with repositories.opened(named) as opened:
                learned = opened.repository
                if rate:
                    return rate_item(learned, rated_id(opened, target), rate, model or "agent")
                if text:
                    outcome = note_actions.write_note(opened, request)
                else:
                    outcome = (
                        note_actions.confirm_note(opened, confirm) if confirm else note_actions.end_task(learned, done)
                    )
            outcome = note_actions.publish_note(learned, outcome)
            names = note_actions.shown_names(learned, [outcome.note])
            return outcome_text(outcome, "Confirmed" if confirm else "Done" if done else "Noted", names)


def outcome_text(outcome: NoteOutcome, action: str, names: Mapping[str, str]) -> str:
    """What the writer of a note gets to read."""
    note = outcome.note
    head = action if outcome.is_new or action != "Noted" else "Known"
    lines = [f"{head}: {note.kind} {note.id} on {names[note.anchor.name]}."]
    for other in outcome.alike:
        lines.append(f"{other.id} says much the same: {quoted(other.text, 300)}")
        lines.append(
            f"If the new note replaces it, send it again with `supersedes` {other.id}; otherwise both are kept."
        )
    return "\n".join([*lines, *outcome.messages])
