"""Runs a learn in a separate process, for a server. Prints its progress and its outcome as lines of JSON.

    python -m golore.mcp_server.server.learn_process ROOT STORE [--full]

A learn uses memory that a server should not keep, and can be killed at any moment without harm to the store.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError
from golore.graph.queries.store_counts import count_store
from golore.learner.learn import learn
from golore.mcp_server.text.learn_text import summary_lines
from golore.mcp_server.text.output import as_utf8, print_json_line

_INTERVAL: Final = 0.2
"""Seconds between two reports of one stage."""


class JsonProgress:
    """A `Progress` that prints lines of JSON."""

    def __init__(self) -> None:
        self._name = ""
        self._total = self._done = 0
        self._printed_at = 0.0

    def begin(self, files: int, size: int) -> None:
        pass

    def stage(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._print_progress()

    def tick(self, units: int) -> None:
        self._done += units
        if time.monotonic() - self._printed_at >= _INTERVAL:
            self._print_progress()

    def running(self, steps: tuple[str, ...]) -> None:
        pass

    def _print_progress(self) -> None:
        self._printed_at = time.monotonic()
        _print_line(stage=self._name, done=self._done, total=self._total)


def main(arguments: list[str]) -> int:
    as_utf8(sys.stdout)
    # The server reads the output, not a terminal.
    os.environ["NO_COLOR"] = "1"
    root, directory = (Path(argument) for argument in arguments[:2])
    try:
        report = learn(root, directory, full="--full" in arguments, progress=JsonProgress())
        with Store.open(directory, write=False) as store:
            counts = count_store(store)
    except (GoloreError, OSError) as failure:
        _print_line(error=str(failure))
        return 1
    _print_line(lines=summary_lines(report, counts))
    return 0


def _print_line(**values: object) -> None:
    print_json_line(values)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
