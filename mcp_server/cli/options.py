"""Functions that declare commands, and the options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

AddParser = Callable[..., argparse.ArgumentParser]
Run = Callable[[argparse.Namespace], int]


def add(make: AddParser, name: str, about: str, run: Run, *, reads: bool = True) -> argparse.ArgumentParser:
    """Declare a command with `--json` and, if it `reads` a learned repository, `--repo` and `--no-pager`."""
    parser = add_plain(make, name, about, run)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    if reads:
        add_repository(parser)
        parser.add_argument(
            "--no-pager", action="store_true", help="print an answer that is longer than the terminal without a pager"
        )
    return parser


def add_plain(make: AddParser, name: str, about: str, run: Run) -> argparse.ArgumentParser:
    """Declare a command without options. `about` is its line in `golore --help` and its description."""
    parser = make(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
    parser.set_defaults(run=run)
    return parser


def add_repository(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repo", type=Path, default=Path(), metavar="PATH", help="path in the repository (default: current directory)"
    )


def add_path(parser: argparse.ArgumentParser) -> None:
    """Accept the path of the repository as an argument as well, as `learn` does. `main` sets `repo` to it."""
    parser.add_argument("repo_path", nargs="?", type=Path, metavar="PATH", help="the same as --repo PATH")


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "root",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="PATH",
        help="root of the repository (default: current directory)",
    )


def add_symbol(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "symbol", metavar="SYMBOL", help="such as Save, Store.Save, pkg.Store.Save, io.Reader, store.go:18 or store.go"
    )


def add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=positive_int, metavar="N", help="list at most N rows per section")


def add_full(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="print names with their import paths")


def add_diagram(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("mermaid", "dot"), dest="diagram", help="print a diagram, for Mermaid or Graphviz"
    )


def add_fleet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fleet",
        nargs="?",
        const="",
        metavar="LAKE",
        help="ask all repositories in a lake: a directory, s3:// or gs:// (default: the one of your settings)",
    )


def positive_int(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def non_negative_int(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number
