"""The names of test functions."""

from __future__ import annotations

import re
from typing import Final

TEST_NAME: Final = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")


def is_test_name(name: str) -> bool:
    return TEST_NAME.match(name) is not None
