"""The `golore` command: what can be asked, and how failures are told.

The commands are declared in `commands`; what they do is in the modules beside this one. Those are imported when their
command runs, because `golore --version` should not wait for a database engine.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TextIO

from golore.graph.errors import GoloreError
from golore.mcp_server.cli import (
    agent_arguments,
    history_arguments,
    learn_arguments,
    note_arguments,
    question_arguments,
    session_arguments,
    sharing_arguments,
    summary_arguments,
    vector_arguments,
)

_INTERRUPTED: Final = 130
_EXAMPLES: Final = """\
examples:
  golore learn                     learn the repository in this directory
  golore callers Store.Save        who calls a method, with the lines
  golore implementers io.Reader    which types satisfy an interface
  golore impact --depth 2 Open     what a change of Open may reach
  golore path main Store.Save      how main comes to call Save

A symbol is named as `go doc` prints it, or by any end of that name that is not ambiguous.
Exit codes: 0 fine, 1 failure, 2 wrong usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream)
    options = _parsed(make_parser(), arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        code = run(options)
        sys.stdout.flush()
    except GoloreError as error:
        return _failed(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _failed("Interrupted; the store is as it was.", _INTERRUPTED)
    except BrokenPipeError:
        # Who read the output has had enough; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _failed(_explained(error), 1)
    except Exception as error:  # noqa: BLE001  the last line of defence before the user
        if os.environ.get("GOLORE_DEBUG"):
            traceback.print_exc()
        said = f"{type(error).__name__}: {error}".split("\n")[0]
        return _failed(f"Sorry, golore failed ({said}). Set GOLORE_DEBUG=1 to see where.", 1)
    return code


def _accept_any_text(stream: TextIO) -> None:
    """Let a stream print names that its encoding lacks, rather than fail over them."""
    match stream:
        case io.TextIOWrapper():
            stream.reconfigure(errors="backslashreplace")
        case _:
            pass


def _failed(sentence: str, code: int) -> int:
    print(f"golore: {sentence}", file=sys.stderr)
    return code


def _explained(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{where}. Make room and try again."
    if isinstance(error, PermissionError):
        return f"There is no permission{where}. Check who owns it."
    return f"{error.strerror or error}{where}."


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="golore",
        description="Learns a Go repository and answers questions about it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.set_defaults(run=partial(_no_command, parser))
    make = parser.add_subparsers(title="commands", metavar="COMMAND").add_parser
    for group in (
        learn_arguments,
        question_arguments,
        history_arguments,
        note_arguments,
        summary_arguments,
        vector_arguments,
        agent_arguments,
        sharing_arguments,
        session_arguments,
    ):
        group.add_commands(make)
    return parser


def _parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options. Words of a text may stand on both sides of an option, where argparse takes them for strangers."""
    options, rest = parser.parse_known_args(arguments)
    if rest and ("text" not in options or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.text += rest
    return options


def _no_command(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.version:
        # The machinery for this takes longer to load than everything above.
        from importlib.metadata import version

        print(f"golore {version('golore')}")
    else:
        parser.print_help()
    return 0
