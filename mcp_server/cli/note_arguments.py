"""Declares `note`, which pins knowledge that no parser can find to code, and `notes`, which shares it with a team."""

from __future__ import annotations

import argparse
from typing import Final

from golore.mcp_server.cli.options import AddParser, add

_KINDS: Final = ("invariant", "decision", "convention", "correction", "incident", "task", "note")
_EXAMPLES: Final = """\
examples:
  golore note Store.Save --kind decision "Writes are not retried: the caller knows whether that is safe."
  golore note store/ --kind convention "Errors are wrapped with the key."
  golore note --list store/store.go     list the notes about a file and its declarations
  golore note --confirm 3f2a91c07d      mark a note as true for the current code
  golore note --history Store.Save      list notes, including superseded ones

TARGET is a symbol, a file, a package, or `.`: the repository at its root, elsewhere the package there."""

_SYNC_EXAMPLES: Final = """\
examples:
  golore notes sync            through .golore-notes/ in the repository: commit its files with the code
  golore notes sync --lake     through the lake of your settings

Nothing is exchanged unless you run this command."""


_RATINGS: Final = ("useful", "useless", "reset")


def add_commands(make: AddParser) -> None:
    note = add(make, "note", "pin a decision, a task or another note to code; list, confirm or delete notes", _note)
    note.formatter_class = argparse.RawDescriptionHelpFormatter
    note.epilog = _EXAMPLES
    note.add_argument("target", nargs="?", default="", metavar="TARGET", help="Store.Save, store/store.go, store/ or .")
    note.add_argument("text", nargs="*", metavar="TEXT", help="text of the note")
    note.add_argument(
        "--kind", choices=_KINDS, default="", help="kind of note (default: note, which is on cards for 30 days only)"
    )
    note.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="tag to find the note by; may be repeated"
    )
    note.add_argument("--author", default="", metavar="NAME", help="author (default: git's user.name)")
    note.add_argument("--supersede", default="", metavar="ID", help="note that the new one replaces")
    note.add_argument("--by", default="", metavar="ID", help="with --supersede: existing note that replaces it")
    note.add_argument("--summary", action="store_true", help="TEXT is a summary of TARGET, not a note")
    action = note.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", dest="listing", help="list the notes about TARGET, or all notes")
    action.add_argument(
        "--history", action="store_true", help="like --list, with superseded notes; TARGET may be an ID"
    )
    action.add_argument("--confirm", default="", metavar="ID", help="mark a note as true for the current code")
    action.add_argument("--done", default="", metavar="ID", help="mark a task as done")
    action.add_argument(
        "--rate", choices=_RATINGS, default="", help="rate how useful TARGET was; reset removes ratings"
    )
    action.add_argument("--ratings", action="store_true", help="list ratings and their effect on search results")
    action.add_argument("--forget", default="", metavar="ID", help="delete a note permanently")
    note.add_argument(
        "--all", action="store_true", dest="everything", help="with --list: include done and superseded notes"
    )
    notes = add(make, "notes", "exchange notes, ratings and reviewed summaries with a team", _notes)
    notes.formatter_class = argparse.RawDescriptionHelpFormatter
    notes.epilog = _SYNC_EXAMPLES
    notes.add_argument("action", choices=("sync",), help="sync: send what is new here, and receive what is new there")
    notes.add_argument(
        "--lake",
        nargs="?",
        const="",
        metavar="LAKE",
        help="through a lake (default: the one of your settings) instead of files of the repository",
    )
    notes.add_argument("--name", default="", metavar="NAME", help="with --lake: name of the repository in the lake")


def _note(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.note import run_note

    return run_note(options)


def _notes(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.notes_sync import run_notes_sync

    return run_notes_sync(options.repo, lake=options.lake, name=options.name, as_json=options.as_json)
