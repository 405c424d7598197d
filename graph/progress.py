"""How long-running work reports how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """`begin` says that this many files and bytes of Go code are learned for the first time. `stage` begins a step of
    `total` units (0: unknown), `tick` reports units of it as done."""

    def begin(self, files: int, size: int) -> None: ...

    def stage(self, name: str, total: int) -> None: ...

    def tick(self, units: int) -> None: ...


class NoProgress:
    """Reports nothing."""

    def begin(self, files: int, size: int) -> None:
        pass

    def stage(self, name: str, total: int) -> None:
        pass

    def tick(self, units: int) -> None:
        pass
