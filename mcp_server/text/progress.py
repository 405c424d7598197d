"""Prints progress on standard error: a bar with rate and remaining time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator
from typing import Final

from golore.graph.progress import Progress
from golore.mcp_server.text.output import has_colours, is_terminal, print_message

_BETWEEN_LINES: Final = 10.0
"""Seconds between two plain lines of one step."""


@contextlib.contextmanager
def show_progress() -> Generator[Progress]:
    """A bar if standard error is a terminal, plain lines otherwise."""
    if not is_terminal(sys.stderr):
        yield PlainLines()
        return
    with _bar() as bar:
        yield bar


class PlainLines:
    """Prints a line for each step, and one every ten seconds during a long one."""

    def __init__(self) -> None:
        self._name = ""
        self._total = self._done = 0
        self._started = self._last_printed = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._started = self._last_printed = time.monotonic()
        print_message(f"{name} {total:,}" if total else name)

    def tick(self, units: int) -> None:
        self._done += units
        now = time.monotonic()
        if now - self._last_printed >= _BETWEEN_LINES and self._total:
            self._last_printed = now
            rate = self._done / (now - self._started)
            left = (self._total - self._done) / rate if rate else 0.0
            print_message(f"{self._name} {self._done:,} of {self._total:,}, {rate:,.0f}/s, {left:.0f} s left")


@contextlib.contextmanager
def _bar() -> Generator[Progress]:
    # Loaded here: rich takes longer to import than most commands take to answer.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    class Bar:
        def __init__(self, display: RichProgress) -> None:
            self._display = display
            self._task: TaskID | None = None
            self._started = 0.0
            self._done = 0

        def stage(self, name: str, total: int) -> None:
            self._finish()
            self._started, self._done = time.monotonic(), 0
            self._task = self._display.add_task(name, total=total or None, rate="")

        def tick(self, units: int) -> None:
            if self._task is not None:
                self._done += units
                rate = self._done / max(time.monotonic() - self._started, 0.001)
                self._display.update(self._task, advance=units, rate=f"{rate:,.0f}/s")

        def _finish(self) -> None:
            if self._task is not None:
                self._display.update(self._task, total=self._done or 1, completed=self._done or 1)

    with RichProgress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, no_color=not has_colours(sys.stderr)),
        transient=True,
    ) as display:
        yield Bar(display)
