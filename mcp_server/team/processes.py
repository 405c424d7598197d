"""Runs the processes of a team server, and replaces one that ends by itself."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

import msgspec
from golore.graph.errors import GoloreError
from golore.graph.safety.child_processes import python_command
from golore.mcp_server.team.worker import GRACE_SECONDS, WorkerSetup

_MODULE: Final = "golore.mcp_server.team.worker"
_LOOK_EVERY: Final = 0.2
_LEAST_LIFE: Final = 5.0
_MOST_TRIES: Final = 3
"""If so many processes in a row lived shorter than `_LEAST_LIFE` seconds, the next one would not live either."""


class _Process:
    def __init__(self, setup: WorkerSetup, tries: int = 1) -> None:
        self.setup = setup
        self.tries = tries
        self.started = time.monotonic()
        command = python_command("-m", _MODULE, msgspec.json.encode(setup).decode())
        self.running = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(setup.socket, setup.metrics))


def run_processes(setups: Sequence[WorkerSetup]) -> int:
    """Run until SIGTERM or SIGINT. Returns the exit code."""
    over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        over.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    processes = [_Process(setup) for setup in setups]
    try:
        while not over.wait(_LOOK_EVERY):
            processes = [one if one.running.poll() is None else _replaced(one) for one in processes]
    finally:
        _end_all(processes)
    return 0


def _replaced(one: _Process) -> _Process:
    tries = one.tries + 1 if time.monotonic() - one.started < _LEAST_LIFE else 1
    if tries > _MOST_TRIES:
        raise GoloreError(f"A process of the server ends at once (exit code {one.running.returncode}); see the log.")
    return _Process(one.setup, tries)


def _end_all(processes: Sequence[_Process]) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            one.running.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS + 5
    for one in processes:
        try:
            one.running.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.running.kill()
            one.running.wait()
