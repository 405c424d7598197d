"""The files of a store: whatever bytes one of them has, a question is answered or refused, and so is a learn.

The first byte of an input chooses the file, the rest changes it. Every command runs in a child process made by `fork`,
with a limit of processor time, because the engine cannot be unloaded. A child that a signal ends is a finding.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

from fuzzing.target import Target
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from support.shop import make_shop
from support.stores import put_note

_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGALRM)
_KEPT = ("lock", "writer.lock", ".gitignore", "id")
_COMMANDS = (
    ["learn"],
    ["callers", "Memory.Save", "--repo"],
    ["context", "store/store.go", "--repo"],
    ["search", "save", "--repo"],
    ["status", "--repo"],
    ["impact", "Put", "--repo"],
    ["note", "--list", "--repo"],
)
_SECONDS = 10
_MOST_KIBIBYTES = 1 << 20
_SHORT = 2_000


def prepare(directory: Path) -> Target:
    root = make_shop(directory.resolve() / "shop")
    store, good = root / ".golore", directory / "good"
    _in_child(lambda: _make_store(root))
    shutil.copytree(store, good)
    files = sorted(path.name for path in good.iterdir() if path.is_file() and path.name not in _KEPT)

    def run(data: bytes) -> None:
        name = files[data[0] % len(files)] if data else files[0]
        for path in list(store.iterdir()):
            if path.is_file() and path.name not in _KEPT:
                path.unlink()
        for other in files:
            shutil.copyfile(good / other, store / other)
        (store / name).write_bytes(_changed((good / name).read_bytes(), data[1:]))
        if len(data) % 2:
            for record in store.glob("*.digests"):  # as after a writer that was killed
                record.unlink()
        _in_child(lambda: _command([*_COMMANDS[len(data) % len(_COMMANDS)], str(root)]))

    seeds = [bytes([at]) + (good / name).read_bytes()[:400] for at, name in enumerate(files)]
    return Target(tuple(seeds), run)


def _make_store(root: Path) -> None:
    learn(root, root / ".golore", workers=0)
    put_note(root / ".golore", "n1")
    learn(root, root / ".golore", workers=0)


def _changed(content: bytes, changes: bytes) -> bytes:
    """The content of a large file with other bytes at places, each given by four bytes. Small ones are replaced."""
    if len(content) < _SHORT:
        return changes
    result = bytearray(content)
    for at in range(0, len(changes) - 3, 4):
        result[int.from_bytes(changes[at : at + 3], "little") % len(result)] = changes[at + 3]
    return bytes(result)


def _command(words: list[str]) -> None:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(words)
    assert code in (0, 1, 2), code
    assert "Internal error" not in said.getvalue(), said.getvalue()


def _in_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if not child:
        try:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            inherited = _peak()
            work()
            assert _peak() - inherited < _MOST_KIBIBYTES, f"the child used {_peak() - inherited:,} KiB"
        except BaseException:  # noqa: BLE001  the parent sees the exit code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {os.waitstatus_to_exitcode(status)}"


def _peak() -> int:
    """Peak memory in KiB. A forked process begins with that of its parent, which may be a large test process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
