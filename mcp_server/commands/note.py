"""`golore note`: what was asked for, and how notes are printed."""

from __future__ import annotations

import argparse
import getpass
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from golore.graph.cards.annotations import quoted, spoken
from golore.graph.errors import UsageError
from golore.graph.knowledge.notes import Pinned
from golore.graph.queries.answers import Found
from golore.graph.queries.name_resolver import Names
from golore.mcp_server.services import note_actions
from golore.mcp_server.services.note_actions import Asked, Outcome, Wish
from golore.mcp_server.services.open_store import open_renewed
from golore.mcp_server.services.repository import Place, find_place
from golore.mcp_server.text.answer_text import not_one_lines
from golore.mcp_server.text.output import counted, is_terminal, plain, print_json, print_lines, styled

_SHOWN = 100


def run_note(options: argparse.Namespace) -> int:
    place = find_place(options.repo)
    if options.listing or options.history:
        return _list(place, options)
    if options.rate or options.ratings:
        return _rate(place, options)
    if options.summary:
        return _summarize(place, options)
    what, outcome = _done(place, options)
    _print_outcome(what, note_actions.shown(place, outcome), as_json=options.as_json)
    return 0


def _rate(place: Place, options: argparse.Namespace) -> int:
    from golore.mcp_server.services.ratings import item_of, rating_lines, run_rate

    if options.ratings:
        print_lines(rating_lines(place))
        return 0
    if not options.target and options.rate != "reset":
        raise UsageError("Say what was useful or not: `golore note Store.Save --rate useful`.")
    item = ""
    if options.target:
        with _asked(place, options.repo) as asked:
            item = item_of(asked, options.target)
    print_lines([run_rate(place, item, options.rate, options.author or _own_name(place.root))])
    return 0


def _done(place: Place, options: argparse.Namespace) -> tuple[str, Outcome]:
    """What was done, in a word, and with which note."""
    if options.forget:
        return "forgotten", note_actions.forget_note(place, options.forget)
    if options.done:
        return "done", note_actions.end_task(place, options.done)
    if options.confirm:
        with _asked(place, options.repo) as asked:
            return "confirmed", note_actions.confirm_note(asked, options.confirm)
    if options.by:
        if not options.supersede:
            raise UsageError("Say which note is superseded: `golore note --supersede OLD --by NEW`.")
        return "superseding", note_actions.replace_note(place, options.supersede, options.by)
    text = " ".join(options.text)
    if not options.target or not text:
        raise UsageError("Say what the note is about and what it says: `golore note Store.Save TEXT`.")
    author = options.author or _own_name(place.root)
    wish = Wish(options.target, text, options.kind or "note", tuple(options.tag), author, supersedes=options.supersede)
    agree = None if options.as_json or not is_terminal(sys.stdin) else _agree
    with _asked(place, options.repo) as asked:
        outcome = note_actions.write(asked, wish, agree)
    return "noted" if outcome.is_new else "known", outcome


@contextmanager
def _asked(place: Place, start: Path) -> Generator[Asked]:
    with open_renewed(place) as store:
        yield Asked(place, store, Names(store), _unclear, (Path.cwd(), start.resolve()))


def _unclear(found: Found) -> str:
    return "\n".join(not_one_lines(found)).removeprefix("golore: ")


def _agree(note: Pinned) -> bool:
    print(f"{note.id} says much the same: {quoted(note.text, 300)}", file=sys.stderr)
    print("Does the new one supersede it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _own_name(root: Path) -> str:
    """Whom git would name as the author, or else who is logged in."""
    if name := os.environ.get("GIT_AUTHOR_NAME", ""):
        return name
    asking: list[Callable[[], str]] = [lambda: _git_name(root), getpass.getuser]
    for ask in asking:
        try:
            if name := ask():
                return name
        except (OSError, subprocess.SubprocessError, KeyError):
            continue
    return ""


def _git_name(root: Path) -> str:
    command = ["git", "-C", str(root), "config", "user.name"]
    return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()


def _print_outcome(what: str, outcome: Outcome, *, as_json: bool) -> None:
    note = outcome.note
    if as_json:
        alike = [document(one) for one in outcome.alike]
        told = {"outcome": what, "note": document(note), "alike": alike, "messages": outcome.messages}
        print_json(told)
        return
    print_lines([f"{note.id} {what}: {note.kind} on {spoken(note.anchor.name)}"])
    for one in outcome.alike:
        print(f"golore: {one.id} says much the same: {quoted(one.text, 300)}", file=sys.stderr)
        print(f"golore: To replace that one: `golore note --supersede {one.id} --by {note.id}`.", file=sys.stderr)
    for message in outcome.messages:
        print(f"golore: {message}", file=sys.stderr)


def _list(place: Place, options: argparse.Namespace) -> int:
    if options.history and options.target and _is_id(options.target):
        notes = note_actions.chain(place, options.target)
    else:
        with _asked(place, options.repo) as asked:
            notes = note_actions.list_notes(
                asked,
                options.target,
                kind=options.kind,
                tag=(options.tag or [""])[0],
                everything=options.everything,
                history=options.history,
            )
    if options.as_json:
        print_json({"notes": [document(note) for note in notes]})
    else:
        print_lines(_lines(notes))
    return 0


def _is_id(text: str) -> bool:
    return len(text) >= 4 and all(letter in "0123456789abcdef" for letter in text)


def document(note: Pinned) -> dict[str, Any]:
    """A note as programs get it."""
    anchor = note.anchor
    described = {"level": anchor.level, "name": anchor.name, "file": anchor.place}
    told = {name: value for name, value in plain(note).items() if name not in ("anchor", "done", "newer")}
    return {
        **told,
        "status": note.status,
        "done": note.done,
        "superseded_by": note.newer,
        "describes": described,
        "drifted": anchor.drifted,
    }


def _lines(notes: list[Pinned]) -> Iterable[str]:
    if not notes:
        yield "No notes."
    for note in notes[:_SHOWN]:
        anchor = note.anchor
        status = "" if note.status == "active" else f", {note.status}{f' by {note.newer}' if note.newer else ''}"
        tags = "".join(f" #{tag}" for tag in note.tags)
        drifted = f", {anchor.drifted}" if anchor.drifted else ""
        yield styled(f"{note.id} {note.kind} on {spoken(anchor.name)}{status}{drifted}", "bold")
        yield f"  {quoted(note.text, 500)}{tags}"
        source = "" if note.source in ("", "person", note.author) else f" ({note.source})"
        since = "" if note.confirmed == note.created else f", confirmed {note.confirmed[:10]}"
        was = "" if note.subject == anchor.name else f", written about {note.subject}"
        yield f"  {note.author or 'somebody'}{source}, {note.created[:10]}{since}{was}"
    if len(notes) > _SHOWN:
        yield f"and {counted(len(notes) - _SHOWN, 'more note')}: name a target, a --kind or a --tag"


def _summarize(place: Place, options: argparse.Namespace) -> int:
    """Hand a person's words over as the summary of a target."""
    from golore.graph.cards.card_builder import tell_again
    from golore.graph.files.knowledge_db import Knowledge
    from golore.graph.knowledge.summaries import write_summary
    from golore.graph.knowledge.summary_staleness import renew_summaries
    from golore.learner.derived.note_code_finder import Looking
    from golore.learner.derived.note_step import pinned_at

    text = " ".join(options.text)
    if not options.target or not text:
        raise UsageError("Say what the summary is of and what it says: `golore note --summary store/ TEXT`.")
    with _asked(place, options.repo) as asked, Knowledge.open(place.store) as knowledge:
        subject = asked.subject(options.target)
        record = write_summary(knowledge, asked.store, place.root, subject.level, subject.id, text)
        card = pinned_at(Looking(place.root.resolve(), asked.store), subject.level, subject.id).anchor.place
    looked = renew_summaries(place.root, place.store, changed=(), wait=1.0)
    tell_again(place.store, {*looked.places, card})
    if options.as_json:
        print_json({"outcome": "summarized", "summary": record})
    else:
        print_lines([f"The summary of {record.subject} is kept."])
    return 0
