"""The peak memory of a process.

The kernel counts the peak of the parent for a process that it starts, so the process is started by a small one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([done.returncode, done.stderr.decode(errors="replace"), peak]))
"""


class Measured(NamedTuple):
    returncode: int
    stderr: str
    peak: int
    """kibibytes"""


def measured(command: Sequence[str | Path]) -> Measured:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _MEASURE, *map(str, command)], capture_output=True, text=True, check=True
    )
    return Measured(*json.loads(done.stdout))
