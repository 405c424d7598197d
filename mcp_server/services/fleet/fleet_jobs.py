"""Jobs of `golore fleet learn`: each gets, learns and publishes one repository in a process of its own.

A repository that makes the process crash, hang or run out of memory is one failed job, and nothing else. Runs on this
machine and in Ray's workers alike.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.files.store_path import HOME_VARIABLE
from golore.graph.safety.child_processes import python_command

GIGABYTE: Final = 1 << 30
_MODULE: Final = "golore.mcp_server.services.fleet.fleet_job_process"
_SECONDS: Final = 7_200
"""Kubernetes takes a minute."""
_SHOWN: Final = 300
_LIMIT: Final = 1 << 20
_STOPPED: Final = (-getattr(signal, "SIGKILL", 9), -getattr(signal, "SIGTERM", 15))


class Job(msgspec.Struct, frozen=True):
    """`cpus` and `memory` (bytes) are what it asks for, and `edition` is the version of the learner that is wanted."""

    address: str
    revision: str
    lake: str
    edition: str
    shallow: bool
    cpus: int
    memory: int
    attempt: int = 1


class Outcome(msgspec.Struct, frozen=True):
    """`status`: `published`, `known` (published before) or `failed`. `can_retry`: another attempt may succeed.
    `was_stopped`: the process was killed, which is mostly for want of memory."""

    address: str
    revision: str
    status: str
    repository: str = ""
    commit: str = ""
    bytes: int = 0
    missing: int = 0
    reason: str = ""
    can_retry: bool = False
    was_stopped: bool = False
    seconds: float = 0.0


def failed(job: Job, reason: str, *, can_retry: bool = False, was_stopped: bool = False) -> Outcome:
    return Outcome(job.address, job.revision, "failed", "", "", 0, 0, reason, can_retry, was_stopped)


def run_job(job: Job) -> Outcome:
    """Run a job in a process of its own, in a temporary directory that is removed afterwards."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="golore-fleet-", ignore_cleanup_errors=True) as folder:
        outcome = _run_in(job, Path(folder))
    return msgspec.structs.replace(outcome, seconds=round(time.monotonic() - started, 1))


def _run_in(job: Job, folder: Path) -> Outcome:
    environment = {name: value for name, value in os.environ.items() if name != HOME_VARIABLE}
    environment["XDG_STATE_HOME"] = str(folder / "state")  # the store is of no use after the job
    paths = [folder / name for name in ("job", "out", "err")]
    paths[0].write_bytes(msgspec.json.encode(job))
    command = python_command("-m", _MODULE, str(folder / "checkout"))
    with paths[0].open("rb") as given, paths[1].open("wb") as out, paths[2].open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=given, stdout=out, stderr=errors, cwd=folder, env=environment, start_new_session=True
        )
        try:
            code = process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            return failed(job, f"It took more than {_SECONDS // 3600} hours, so it was stopped.")
        finally:
            process.kill()  # has no effect on a process that has ended
            process.wait()
    return _read_outcome(job, code, paths[1], paths[2])


def _read_outcome(job: Job, code: int, out: Path, errors: Path) -> Outcome:
    if code == 0:
        with out.open("rb") as file:
            return msgspec.json.decode(file.read(_LIMIT), type=Outcome)
    with errors.open("rb") as file:
        said = file.read(_LIMIT).decode("utf-8", "replace").strip().splitlines()
    last = f" It last printed: {said[-1][:_SHOWN]}" if said else ""
    if code in _STOPPED:
        return failed(job, "Its process was killed, perhaps for want of memory.", can_retry=True, was_stopped=True)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return failed(job, f"Its process ended with {how}.{last}", can_retry=code < 0)
