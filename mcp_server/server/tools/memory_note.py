"""`memory_note`: pin to code what no parser finds, or say that a note still holds or a task is done."""

from __future__ import annotations

from typing import Annotated, Final

from golore.graph.cards.annotations import quoted, short_name
from golore.graph.knowledge.notes import KINDS
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.services import note_actions
from golore.mcp_server.services.note_actions import NoteOutcome, NoteRequest
from golore.mcp_server.services.ratings import WORDS, item_of, rate_item
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

_DESCRIPTION: Final = """\
Keep what cannot be read from the code: why it is like this, what was tried and failed, what must never happen \
again, what a user has corrected. It is pinned to a symbol, file, package or the repository (`.`), shown to whoever \
opens that code, and marked when the code changes. Write one fact a note, in a sentence or two. With `confirm`, say \
that a note marked as written before the last change still holds; with `done`, that a task is done; with `rate` and \
a `target`, whether what you were told of it was useful, which moves it in searches."""

Target = Annotated[
    str, Field(description="What it is about: Memory.Save, store/store.go, store/ or example.com/shop/store, or `.`")
]
Text = Annotated[str, Field(description="What should be known, in a sentence or two.")]
Kind = Annotated[
    str,
    Field(
        description="decision, convention and invariant bind; correction is what a user has put right; incident is "
        "what went wrong; a task is shown at the start of sessions until it is done; a plain note fades in 30 days.",
        json_schema_extra={"enum": list(KINDS)},
    ),
]
Tags = Annotated[list[str], Field(description="Words to find it by.")]
Author = Annotated[str, Field(description="Who says so: a user's name, or nothing for yourself.")]
Model = Annotated[str, Field(description="Your own name, such as that of the model.")]
Supersedes = Annotated[str, Field(description="Id of the note that this one takes the place of.")]
Confirm = Annotated[str, Field(description="Id of a note that still holds for the code as it is. Alone.")]
Done = Annotated[str, Field(description="Id of a task that is done. Alone.")]
Rate = Annotated[
    str,
    Field(
        description="Whether what was told of the target was useful. With `target` alone; reset takes it back.",
        json_schema_extra={"enum": ["", *WORDS]},
    ),
]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_note",
        title="Pin a note to code",
        description=_DESCRIPTION,
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
            raise ToolError("Give one of `text` or `rate` with a `target`, `confirm` with an id, or `done` with an id.")
        request = NoteRequest(target, text, kind, tuple(tags), author, model or "agent", supersedes)
        with reporting_failures():
            if (text or rate) and not target:
                raise ToolError("Say what the note is about as `target`: a symbol, file or package, or `.`.")
            named = repository or repositories.around(target)
            with repositories.opened(named) as opened:
                learned = opened.repository
                if rate:
                    return rate_item(learned, item_of(opened, target), rate, model or "agent")
                if text:
                    outcome = note_actions.write(opened, request)
                else:
                    outcome = (
                        note_actions.confirm_note(opened, confirm) if confirm else note_actions.end_task(learned, done)
                    )
            return _told(
                note_actions.publish_note(learned, outcome), "Confirmed" if confirm else "Done" if done else "Noted"
            )


def _told(outcome: NoteOutcome, what: str) -> str:
    note = outcome.note
    head = what if outcome.is_new or what != "Noted" else "Known"
    lines = [f"{head}: {note.kind} {note.id} on {short_name(note.anchor.name)}."]
    for one in outcome.alike:
        lines.append(f"{one.id} says much the same: {quoted(one.text, 300)}")
        lines.append(f"If the new one replaces it, send the same note with `supersedes` {one.id}; else keep both.")
    return "\n".join([*lines, *outcome.messages])
