"""The `golore` command. Knows the version so far, and no more."""

from __future__ import annotations

import argparse
from importlib.metadata import version


def main() -> int:
    parser = argparse.ArgumentParser(prog="golore")
    parser.add_argument("--version", action="version", version=f"golore {version('golore')}")
    parser.parse_args()
    parser.print_help()
    return 0
