"""Declares `completion`, which prints a script for a shell (see `completion`)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Final

from golore.mcp_server.cli.completion import SHELLS
from golore.mcp_server.cli.options import AddParser, add_plain

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def add_commands(make: AddParser) -> None:
    completion = add_plain(
        make, "completion", "print a script that completes commands, options and symbols in a shell", _completion
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    completion.epilog = 'For bash and zsh: eval "$(golore completion bash)". For fish: golore completion fish | source'


def options_of(commands: Mapping[str, argparse.ArgumentParser]) -> dict[str, list[str]]:
    """Command → its options, as its help lists them."""
    return {name: sorted(set(_OPTION.findall(parser.format_help()))) for name, parser in commands.items()}


def _completion(options: argparse.Namespace) -> int:
    from golore.mcp_server.cli.completion import script
    from golore.mcp_server.text.output import print_block

    print_block(script(options.shell, options_of(options.commands)))
    return 0
