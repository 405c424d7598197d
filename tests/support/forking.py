"""Runs golore's commands in forked processes: a kill then hits the command at its work and not at its imports.

As a program, it imports all of golore, then forks a process for each line of JSON on standard input: the file for the
output, the file for the messages, and the command line. A first word that ends in `.py` is a script to run. It prints
the id of the process, which leads a group of its own, and after its end the exit code, negative for a signal.
"""

from __future__ import annotations

import json
import os
import pkgutil
import runpy
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Self


class Forks:
    """Use as a context manager. `start` begins a process, and `wait` returns its exit code."""

    def __init__(self, **environ: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **environ},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, words: list[str], out: Path, err: Path) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(out), str(err), words]) + "\n")
        return self._read()

    def wait(self) -> int:
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


def _serve() -> None:
    import golore

    for module in pkgutil.walk_packages(golore.__path__, "golore."):
        with suppress(ImportError):
            import_module(module.name)
    for line in sys.stdin:
        out, err, words = json.loads(line)
        child = os.fork()
        if not child:
            _run(out, err, words)
        with suppress(OSError):  # in both processes, so that the group exists when its id is printed
            os.setpgid(child, child)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(out: str, err: str, words: list[str]) -> None:
    with suppress(OSError):
        os.setpgid(0, 0)
    for path, descriptor in ((os.devnull, 0), (out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), descriptor)
    from golore.mcp_server.cli.main import main

    sys.argv = words
    code: object = 1
    try:
        code = runpy.run_path(words[0]) and 0 if words[0].endswith(".py") else main(words)
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _serve()
