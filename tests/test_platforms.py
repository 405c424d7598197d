"""golore can be imported where modules and functions of Unix are missing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LIST = """
import importlib, json, pkgutil, sys, golore
names = [module.name for module in pkgutil.walk_packages(golore.__path__, "golore.")]
for name in names:
    importlib.import_module(name)
others = [name for name in sys.modules if not name.startswith("golore") and name != "__main__"]
print(json.dumps([names, others]))
"""
IMPORT = """
import importlib, json, os, select, signal, socket, sys

class NoUnix:
    def find_spec(self, name, path=None, target=None):
        if name in BLOCKED:
            raise ImportError(f"{name} does not exist on Windows")

BLOCKED = {"fcntl", "grp", "posix", "pwd", "resource", "syslog", "termios", "tty", "pty"}
names, others = json.load(sys.stdin)
for name in others:  # the standard library and other packages have their own ways
    try:
        importlib.import_module(name)
    except ImportError:
        pass
for name in BLOCKED:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, NoUnix())
sys.platform = "win32"
missing = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork geteuid getuid killpg nice "
    "register_at_fork set_blocking setsid sysconf",
    select: "poll POLLIN POLLOUT POLLERR epoll",
    signal: "SIGALRM SIGKILL SIGHUP SIGUSR1 ITIMER_REAL setitimer",
    socket: "AF_UNIX",
}
for module, attributes in missing.items():
    for attribute in attributes.split():
        delattr(module, attribute)
for name in names:
    importlib.import_module(name)
    print(name)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there it is the ordinary import")
def test_every_module_can_be_imported_without_what_only_unix_has() -> None:
    listed = subprocess.run([sys.executable, "-P", "-c", LIST], capture_output=True, text=True, check=True)
    names, _ = json.loads(listed.stdout)
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT], input=listed.stdout, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == names
