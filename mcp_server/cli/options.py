"""What the declarations of commands have in common: how one is made, and the options that several have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

Make = Callable[..., argparse.ArgumentParser]
Run = Callable[[argparse.Namespace], int]


def add(make: Make, name: str, about: str, run: Run, *, reads: bool = True) -> argparse.ArgumentParser:
    """A command with the options that all of its sort have."""
    parser = add_plain(make, name, about, run)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    if reads:
        add_repository(parser)
    return parser


def add_plain(make: Make, name: str, about: str, run: Run) -> argparse.ArgumentParser:
    """A command without any."""
    parser = make(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
    parser.set_defaults(run=run)
    return parser


def add_repository(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repo", type=Path, default=Path(), metavar="PATH", help="a place in the repository (default: here)"
    )


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("root", nargs="?", type=Path, default=Path(), metavar="PATH", help="its root (default: here)")


def add_symbol(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("symbol", metavar="SYMBOL", help="such as Save, Store.Save, pkg.Store.Save or io.Reader")


def add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=positive, metavar="N", help="list at most N of each sort")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than nothing")
    return number
