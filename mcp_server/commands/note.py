"""`golore note`: carries out the options of the command and prints notes."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from golore.graph.cards.annotations import quoted
from golore.graph.errors import UsageError
from golore.graph.knowledge.notes import PinnedNote
from golore.graph.phrases import counted
from golore.learner.checkout.git_command import run_git
from golore.mcp_server.services.knowledge import note_actions
from golore.mcp_server.services.knowledge.note_actions import NoteOutcome, NoteRequest
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.text.output import is_terminal, print_json, print_lines, print_message, styled, to_json_value

_SHOWN = 100


def run_note(options: argparse.Namespace) -> int:
    repository = find_repository(options.repo)
    if options.listing or options.history:
        return _list(repository, options)
    if options.rate or options.ratings:
        return _rate(repository, options)
    if options.summary:
        return _summarize(repository, options)
    action, outcome = _apply(repository, options)
    _print_outcome(repository, action, note_actions.publish_note(repository, outcome), as_json=options.as_json)
    return 0


def _rate(repository: LearnedRepository, options: argparse.Namespace) -> int:
    from golore.mcp_server.services.knowledge.ratings import all_ratings, rate_item, rated_id, rating_lines

    if options.ratings:
        if options.as_json:
            print_json({"ratings": all_ratings(repository)})
        else:
            print_lines(rating_lines(repository))
        return 0
    if not options.target and options.rate != "reset":
        raise UsageError("Name what you rate: `golore note Store.Save --rate useful`.")
    item = ""
    if options.target:
        with open_repository(options.repo) as opened:
            item = rated_id(opened, options.target)
    message = rate_item(repository, item, options.rate, options.author or _own_name(repository.root))
    if options.as_json:
        print_json({"outcome": options.rate, "item": item, "ratings": all_ratings(repository, item)})
    else:
        print_lines([message])
    return 0


def _apply(repository: LearnedRepository, options: argparse.Namespace) -> tuple[str, NoteOutcome]:
    """Write or change a note as the options say. Returns a word for what was done, and the outcome."""
    if options.forget:
        return "forgotten", note_actions.forget_note(repository, options.forget)
    if options.done:
        return "done", note_actions.end_task(repository, options.done)
    if options.confirm:
        with open_repository(options.repo) as opened:
            return "confirmed", note_actions.confirm_note(opened, options.confirm)
    if options.by:
        if not options.supersede:
            raise UsageError("Name the note to supersede: `golore note --supersede OLD --by NEW`.")
        return "superseding", note_actions.replace_note(repository, options.supersede, options.by)
    text = " ".join(options.text)
    if not options.target or not text:
        raise UsageError("Give a target and the text of the note: `golore note Store.Save TEXT`.")
    author = options.author or _own_name(repository.root)
    request = NoteRequest(
        options.target, text, options.kind or "note", tuple(options.tag), author, supersedes=options.supersede
    )
    agree = None if options.as_json or not is_terminal(sys.stdin) else _ask_to_supersede
    with open_repository(options.repo) as opened:
        outcome = note_actions.write_note(opened, request, agree)
    return "noted" if outcome.is_new else "known", outcome


def _ask_to_supersede(note: PinnedNote) -> bool:
    print_message(f"{note.id} says much the same: {quoted(note.text, 300)}")
    print_message("Should the new note supersede it? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _own_name(root: Path) -> str:
    """The author that git would record, or else the login name."""
    if name := os.environ.get("GIT_AUTHOR_NAME", ""):
        return name
    lookups: list[Callable[[], str]] = [lambda: _git_name(root), getpass.getuser]
    for look_up in lookups:
        try:
            if name := look_up():
                return name
        except (OSError, KeyError):
            continue
    return ""


def _git_name(root: Path) -> str:
    return run_git(root, "config", "--get", "user.name", timeout=5).decode("utf-8", "replace").strip()


def _print_outcome(repository: LearnedRepository, action: str, outcome: NoteOutcome, *, as_json: bool) -> None:
    note = outcome.note
    if as_json:
        alike = [note_document(one) for one in outcome.alike]
        print_json({"outcome": action, "note": note_document(note), "alike": alike, "messages": outcome.messages})
        return
    names = note_actions.shown_names(repository, [note])
    print_lines([f"{note.id} {action}: {note.kind} on {names[note.anchor.name]}"])
    for one in outcome.alike:
        print_message(f"golore: {one.id} says much the same: {quoted(one.text, 300)}")
        print_message(f"golore: To replace it: `golore note --supersede {one.id} --by {note.id}`.")
    for message in outcome.messages:
        print_message(f"golore: {message}")


def _list(repository: LearnedRepository, options: argparse.Namespace) -> int:
    if options.history and options.target and note_actions.is_note_id(repository, options.target):
        notes = note_actions.note_chain(repository, options.target)
    else:
        with open_repository(options.repo) as opened:
            notes = note_actions.list_notes(
                opened,
                options.target,
                kind=options.kind,
                tag=(options.tag or [""])[0],
                everything=options.everything,
                history=options.history,
            )
    if options.as_json:
        print_json({"notes": [note_document(note) for note in notes]})
    else:
        print_lines(_lines(notes, note_actions.shown_names(repository, notes)))
    return 0


def note_document(note: PinnedNote) -> dict[str, Any]:
    """A note as a JSON object."""
    anchor = note.anchor
    described = {"level": anchor.level, "name": anchor.name, "file": anchor.card_path}
    fields = {name: value for name, value in to_json_value(note).items() if name not in ("anchor", "done", "newer")}
    return {
        **fields,
        "status": note.status,
        "done": note.done,
        "superseded_by": note.newer,
        "describes": described,
        "drifted": anchor.drifted,
    }


def _lines(notes: list[PinnedNote], names: Mapping[str, str]) -> Iterable[str]:
    if not notes:
        yield "No notes."
    for note in notes[:_SHOWN]:
        anchor = note.anchor
        status = "" if note.status == "active" else f", {note.status}{f' by {note.newer}' if note.newer else ''}"
        tags = "".join(f" #{tag}" for tag in note.tags)
        drifted = f", {anchor.drifted}" if anchor.drifted else ""
        yield styled(f"{note.id} {note.kind} on {names[anchor.name]}{status}{drifted}", "bold")
        yield f"  {quoted(note.text, 500)}{tags}"
        source = "" if note.source in ("", "person", note.author) else f" ({note.source})"
        since = "" if note.confirmed == note.created else f", confirmed {note.confirmed[:10]}"
        subject = "" if note.subject == anchor.name else f", written about {note.subject}"
        yield f"  {note.author or 'unknown author'}{source}, {note.created[:10]}{since}{subject}"
    if len(notes) > _SHOWN:
        yield f"and {counted(len(notes) - _SHOWN, 'more note')}: give a target, --kind or --tag to list fewer"


def _summarize(repository: LearnedRepository, options: argparse.Namespace) -> int:
    """Save a person's text as the summary of a target."""
    from golore.graph.cards.card_builder import rebuild_cards_of
    from golore.graph.files.knowledge_db import Knowledge
    from golore.graph.knowledge.summaries import write_summary
    from golore.graph.knowledge.summary_staleness import update_summaries
    from golore.graph.safety.secret_filter import removal_message, remove_secrets
    from golore.learner.derived.note_code_finder import CodeFinder
    from golore.learner.derived.note_step import anchor_at

    text, removed = remove_secrets(" ".join(options.text))
    if removed:
        print_message(f"golore: {removal_message(removed)}")
    if not options.target or not text:
        raise UsageError("Give a target and the text of the summary: `golore note --summary store/ TEXT`.")
    with open_repository(options.repo) as opened, Knowledge.open(repository.store) as knowledge:
        subject = note_actions.subject_of(opened, options.target)
        record = write_summary(knowledge, opened.store, repository.root, subject.level, subject.id, text)
        card = anchor_at(
            CodeFinder(repository.root.resolve(), opened.store), subject.level, subject.id
        ).anchor.card_path
    check = update_summaries(repository.root, repository.store, changed=(), wait=1.0)
    rebuild_cards_of(repository.store, {*check.card_paths, card})
    if options.as_json:
        print_json({"outcome": "summarized", "summary": record})
    else:
        print_lines([f"Saved the summary of {record.subject}."])
    return 0
