"""The `golore` command: parses the arguments, runs the command and prints errors.

The `*_arguments` modules declare the commands. The modules that implement a command are imported when it runs, so that
`golore --version` does not wait for a database engine.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sqlite3
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn, TextIO

from golore.graph.errors import GoloreError
from golore.graph.safety.visible_text import visible_line
from golore.mcp_server.cli import history_arguments, learn_arguments, note_arguments, question_arguments
from golore.mcp_server.cli.options import AddParser
from golore.mcp_server.text.pager import use_pager

_INTERRUPTED: Final = 130
_FREQUENT: Final = {
    "learn": learn_arguments,
    "status": learn_arguments,
    "recent": history_arguments,
    "note": note_arguments,
}
"""Commands that are run often, besides the questions, and where they are declared."""
_UNKNOWN_COMMAND: Final = re.compile(r"argument COMMAND: invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)
_SIMILAR: Final = 0.6
"""Similarity of a command that is suggested, by `difflib`."""
_EXAMPLES: Final = """\
examples:
  golore learn                     learn the repository in this directory
  golore callers Store.Save        list the callers of a method, with line numbers
  golore implementers io.Reader    list the types that satisfy an interface
  golore impact --depth 2 Open     list what a change of Open may affect
  golore path main Store.Save      print how main reaches Save

Name a symbol as `go doc` prints it, or by any unambiguous suffix of that name.
Exit codes: 0 success, 1 failure, 2 wrong usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream)
    given = sys.argv[1:] if arguments is None else arguments
    options = _parse(build_parser(given[0] if given else ""), given)
    run: Callable[[argparse.Namespace], int] = options.run
    use_pager(not getattr(options, "no_pager", True))
    try:
        code = run(options)
        sys.stdout.flush()
    except GoloreError as error:
        return _print_failure(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _print_failure("Interrupted; the store is intact.", _INTERRUPTED)
    except BrokenPipeError:
        # The reader closed the pipe. Python would report that a second time when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _print_failure(_os_error_message(error), 1)
    except sqlite3.Error as error:
        return _print_failure(
            f"The cache of the store cannot be read ({error}). Run `golore learn` to make it again.", 1
        )
    except Exception as error:  # noqa: BLE001  users get a message, not a traceback
        if os.environ.get("GOLORE_DEBUG"):
            _print_message(traceback.format_exc())
        cause = f"{type(error).__name__}: {error}".split("\n")[0]
        return _print_failure(f"Internal error ({cause}). Set GOLORE_DEBUG=1 to print the traceback.", 1)
    return code


def _accept_any_text(stream: TextIO) -> None:
    """Make a stream escape characters that its encoding lacks, instead of failing."""
    match stream:
        case io.TextIOWrapper():
            stream.reconfigure(errors="backslashreplace")
        case _:
            pass


def _print_failure(sentence: str, code: int) -> int:
    _print_message(f"golore: {sentence}")
    return code


def _print_message(text: str) -> None:
    from golore.mcp_server.text.output import print_message

    print_message(text)


def _os_error_message(error: OSError) -> str:
    path = f" ({visible_line(str(error.filename))})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{path}. Free some space and try again."
    if isinstance(error, PermissionError):
        return f"Permission denied{path}. Check its owner and mode."
    return f"{error.strerror or error}{path}."


class _Parser(argparse.ArgumentParser):
    """Suggests the commands that may have been meant instead of listing all."""

    def error(self, message: str) -> NoReturn:
        unknown = _UNKNOWN_COMMAND.search(message)
        if unknown is None:
            super().error(message)
        from difflib import get_close_matches

        known = [name.strip(" '") for name in unknown[2].split(",")]
        close = get_close_matches(unknown[1].lower(), known, 3, _SIMILAR)
        advice = f"Did you mean {' or '.join(close)}?" if close else "`golore --help` lists all commands."
        self.exit(2, f"golore: There is no command {visible_line(unknown[1])!r}. {advice}\n")


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of all commands; if `command` is run often, of it and those that are declared along with it, because
    declaring all takes a tenth of the time of a question."""
    parser = _Parser(
        prog="golore",
        description="Learns a Go repository and answers questions about it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.set_defaults(run=_no_command)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(commands=commands.choices)
    for add_commands in _declarations(command):
        add_commands(commands.add_parser)
    return parser


def _declarations(command: str) -> list[Callable[[AddParser], None]]:
    """The functions that declare the commands, in the order of `golore --help`."""
    if command in question_arguments.COMMANDS:
        return [lambda make: question_arguments.add_command(make, command)]
    if command in _FREQUENT:
        return [_FREQUENT[command].add_commands]
    from golore.mcp_server.cli import (
        agent_arguments,
        analysis_arguments,
        completion_arguments,
        fleet_arguments,
        session_arguments,
        sharing_arguments,
        summary_arguments,
        vector_arguments,
        view_arguments,
    )

    return [
        learn_arguments.add_commands,
        question_arguments.add_commands,
        analysis_arguments.add_commands,
        history_arguments.add_commands,
        note_arguments.add_commands,
        summary_arguments.add_commands,
        vector_arguments.add_commands,
        view_arguments.add_commands,
        agent_arguments.add_commands,
        sharing_arguments.add_commands,
        fleet_arguments.add_commands,
        session_arguments.add_commands,
        completion_arguments.add_commands,
    ]


def _parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options. argparse does not recognize words of TEXT that follow an option; they are appended here.
    A path that is given as an argument replaces that of `--repo`."""
    options, rest = parser.parse_known_args(arguments)
    if rest and ("text" not in options or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {visible_line(' '.join(rest))}")
    if rest:
        options.text += rest
    if getattr(options, "repo_path", None) is not None:
        options.repo = options.repo_path
    return options


def _no_command(options: argparse.Namespace) -> int:
    if options.version:
        # importlib.metadata takes longer to import than everything above.
        from importlib.metadata import version

        from golore.mcp_server.text.output import print_lines

        print_lines([f"golore {version('golore')}"])
    else:
        from golore.mcp_server.cli.first_steps import print_overview

        print_overview(Path.cwd())
    return 0
