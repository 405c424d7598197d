"""Virtual environments of their own for programs that golore does not depend on, with golore or without it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest


def make_environment(folder: Path, *packages: str, with_golore: bool = False) -> Path:
    """The directory of the programs of a new environment with these packages. Skips the test if they cannot be had."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    programs = folder / "bin"
    install = [uv, "pip", "install", "-q", "--python", str(programs / "python"), *packages]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{', '.join(packages)} cannot be installed: {done.stderr.strip()[-300:]}")
    if with_golore:
        (site,) = folder.glob("lib/python*/site-packages")
        here = sysconfig.get_path("purelib")
        (site / "golore-of-the-tests.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    return programs
