"""Prints progress on standard error: a bar with rate and remaining time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from golore.graph.phrases import amount, counted, duration
from golore.mcp_server.text.output import has_colours, is_terminal, print_message

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_BETWEEN_LINES: Final = 10.0
"""Seconds between two plain lines of one step."""


Estimate = Callable[[int], float]
"""Bytes of Go code that are learned for the first time → seconds that this takes."""


@contextlib.contextmanager
def show_progress(estimate: Estimate | None = None) -> Generator[PlainLines | Bar]:
    """A bar if standard error is a terminal, plain lines otherwise. Both show the time that is left, of the whole learn
    if there is an `estimate`."""
    if not is_terminal(sys.stderr):
        yield PlainLines(estimate)
        return
    with _display() as display:
        yield Bar(display, estimate)


class _Clock:
    """The time that is left: by the estimate of the whole, or by the rate of the current step if that is longer."""

    def __init__(self, estimate: Estimate | None) -> None:
        self.size = 0
        """Bytes of Go code that are learned for the first time."""
        self._estimate = estimate
        self._end = self._started = 0.0
        self._total = self._done = 0

    def begin(self, files: int, size: int) -> None:
        self.size = size
        if self._estimate is not None:
            seconds = self._estimate(size)
            self._end = time.monotonic() + seconds
            self._announce(f"Learning {counted(files, 'Go file')} ({amount(size)}): {duration(seconds)}")

    def _announce(self, sentence: str) -> None:
        print_message(sentence)

    def _begin_step(self, total: int) -> None:
        self._total, self._done, self._started = total, 0, time.monotonic()

    def tick(self, units: int) -> None:
        self._done += units

    def running(self, steps: tuple[str, ...]) -> None:
        pass

    @property
    def rate(self) -> float:
        return self._done / max(time.monotonic() - self._started, 0.001)

    @property
    def left(self) -> str:
        """Empty if it is not known, or if the estimate was too low."""
        of_step = (self._total - self._done) / self.rate if self._done and self._total else 0.0
        seconds = max(of_step, self._end - time.monotonic())
        return f"{duration(seconds)} left" if seconds > 0 else ""


class PlainLines(_Clock):
    """Prints a line for each step, and one every ten seconds during a long one."""

    def __init__(self, estimate: Estimate | None = None) -> None:
        super().__init__(estimate)
        self._name = ""
        self._last_printed = 0.0

    def stage(self, name: str, total: int) -> None:
        self._begin_step(total)
        self._name, self._last_printed = name, time.monotonic()
        print_message(f"{name} {total:,}" if total else name)

    def tick(self, units: int) -> None:
        super().tick(units)
        now = time.monotonic()
        if now - self._last_printed >= _BETWEEN_LINES and self._total:
            self._last_printed = now
            parts = (f"{self._name} {self._done:,} of {self._total:,}", f"{self.rate:,.0f}/s", self.left)
            print_message(", ".join(filter(None, parts)))


class Bar(_Clock):
    """Draws a bar for each step."""

    def __init__(self, display: RichProgress, estimate: Estimate | None) -> None:
        super().__init__(estimate)
        self._display = display
        self._task: TaskID | None = None
        self._beside = ""

    def stage(self, name: str, total: int) -> None:
        self._finish()
        self._begin_step(total)
        self._task = self._display.add_task(name, total=total or None, rate="", clock=self, beside=self._beside)

    def tick(self, units: int) -> None:
        super().tick(units)
        if self._task is not None:
            self._display.update(self._task, advance=units, rate=f"{self.rate:,.0f}/s")

    def running(self, steps: tuple[str, ...]) -> None:
        self._beside = ", ".join(steps)
        if self._task is not None:
            self._display.update(self._task, beside=self._beside)

    def _announce(self, sentence: str) -> None:
        self._display.console.print(sentence, highlight=False)

    def _finish(self) -> None:
        if self._task is not None:
            self._display.update(self._task, total=self._done or 1, completed=self._done or 1, clock=None, beside="")


def _display() -> RichProgress:
    # Loaded here: rich takes longer to import than most commands take to answer.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            clock = task.fields["clock"]
            return Text(clock.left if clock is not None else "")

    return RichProgress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeLeft(),
        TextColumn("{task.fields[beside]}", style="dim"),
        console=Console(stderr=True, no_color=not has_colours(sys.stderr)),
        transient=True,
    )
