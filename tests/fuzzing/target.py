"""What a fuzz target is: seeds, and a function that takes any bytes and raises only for a bug in golore.

The modules of this folder make one target each, in `prepare`. `test_mutations` runs some hundred mutations of each in
the default run; `run` runs many, guided by coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Target(NamedTuple):
    seeds: tuple[bytes, ...]
    run: Callable[[bytes], None]
