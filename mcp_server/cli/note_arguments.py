"""Notes: what no parser finds, pinned to code."""

from __future__ import annotations

import argparse
from typing import Final

from golore.mcp_server.cli.options import Make, add

_KINDS: Final = ("invariant", "decision", "convention", "correction", "incident", "task", "note")
_EXAMPLES: Final = """\
examples:
  golore note Store.Save --kind decision "Writes are not retried: the caller knows whether that is safe."
  golore note store/ --kind convention "Errors are wrapped with the key."
  golore note --list store/store.go     the notes about a file and what it declares
  golore note --confirm 3f2a91c07d      it still holds for the code as it is now
  golore note --history Store.Save      with those that were superseded

The target is a symbol, a file, a package, or `.` for the repository."""


_RATINGS: Final = ("useful", "useless", "reset")


def add_commands(make: Make) -> None:
    note = add(make, "note", "pin a decision, a task or another note to code; list, confirm, forget", _note)
    note.formatter_class = argparse.RawDescriptionHelpFormatter
    note.epilog = _EXAMPLES
    note.add_argument("target", nargs="?", default="", metavar="TARGET", help="Store.Save, store/store.go, store/ or .")
    note.add_argument("text", nargs="*", metavar="TEXT", help="what should be known")
    note.add_argument("--kind", choices=_KINDS, default="", help="what it is (default: note, which fades in 30 days)")
    note.add_argument("--tag", action="append", default=[], metavar="TAG", help="a word to find it by; may be repeated")
    note.add_argument("--author", default="", metavar="NAME", help="who says so (default: git's user.name)")
    note.add_argument("--supersede", default="", metavar="ID", help="the note that this one takes the place of")
    note.add_argument("--by", default="", metavar="ID", help="with --supersede: a note that is written already")
    note.add_argument("--summary", action="store_true", help="the text is a summary of the target, not a note")
    what = note.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", dest="listing", help="list the notes about TARGET, or all")
    what.add_argument("--history", action="store_true", help="the same, or one by its ID, with what was superseded")
    what.add_argument("--confirm", default="", metavar="ID", help="it holds for the code as it is")
    what.add_argument("--done", default="", metavar="ID", help="a task is done")
    what.add_argument("--rate", choices=_RATINGS, default="", help="whether what you were told of TARGET was useful")
    what.add_argument("--ratings", action="store_true", help="list what was rated, and how that moves it in searches")
    what.add_argument("--forget", default="", metavar="ID", help="remove a note for good")
    note.add_argument("--all", action="store_true", dest="everything", help="list done and superseded ones, too")


def _note(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.note import run_note

    return run_note(options)
