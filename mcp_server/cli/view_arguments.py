"""Declares `view`."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.cli.options import AddParser, add, non_negative_int


def add_commands(make: AddParser) -> None:
    about = "show the repository in a browser: callers and callees, source, search, and where to start"
    view = add(make, "view", about, _view)
    view.add_argument(
        "what", nargs="?", default="", metavar="WHAT", help="open the page of a symbol, a file or a package"
    )
    view.add_argument(
        "--diff",
        nargs="?",
        const="",
        metavar="BASE",
        help="open the page of the change: of the working tree, or since the last commit in common with BASE",
    )
    view.add_argument(
        "--port",
        type=non_negative_int,
        metavar="N",
        help="port to listen on (default: always the same one for a repository; 0: any free port)",
    )
    view.add_argument("--no-browser", action="store_true", help="only print the address")
    view.add_argument("--once", type=Path, metavar="DIR", help="write the pages as files into DIR instead, and exit")


def _view(options: argparse.Namespace) -> int:
    if options.once is not None:
        from golore.mcp_server.view.command import run_once

        return run_once(options.repo, options.once, options.diff, as_json=options.as_json)
    from golore.mcp_server.view.command import run_view

    return run_view(
        options.what,
        options.diff,
        options.repo,
        port=options.port,
        opens_browser=not options.no_browser,
        as_json=options.as_json,
    )
