"""Builds the sdist, and from it a wheel for each given Python; installs each and runs the smoke test:

    python tests/packaging/wheels.py [--out DIRECTORY] [--pure] PYTHON...

The smoke test runs in a new virtual environment, without any variable of this one. `--pure` hides the C compiler from
the build, which must then give a wheel without extensions. Needs uv, and PyPI for what golore depends on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SMOKE = Path(__file__).with_name("smoke.py")
BIN = "Scripts" if os.name == "nt" else "bin"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pythons", nargs="*", metavar="PYTHON", default=[sys.executable])
    arguments.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments.add_argument("--pure", action="store_true")
    options = arguments.parse_args()
    uv = shutil.which("uv")
    if uv is None:
        raise SystemExit("uv is not on the PATH.")
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    _run(uv, "build", "--quiet", "--sdist", "--out-dir", str(out), str(ROOT))
    (sdist,) = out.glob("*.tar.gz")
    for python in options.pythons:
        before = set(out.glob("*.whl"))
        _run(
            uv, "build", "--quiet", "--wheel", "--python", python, "--out-dir", str(out), str(sdist), pure=options.pure
        )
        built = set(out.glob("*.whl")) - before
        for wheel in built:
            print(wheel.name, f"{wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            _run(uv, "venv", "--quiet", "--python", python, directory)
            inside = Path(directory, BIN, "python")
            (wheel,) = built or out.glob("*.whl")  # a pure wheel is the same for every Python
            _run(uv, "pip", "install", "--quiet", "--python", str(inside), str(wheel))
            # Outside the repository, so that nothing of it is imported.
            _run(str(inside), "-P", str(SMOKE), "pure" if options.pure else "compiled", cwd=directory, clean=True)


def _run(*command: str, cwd: str | None = None, clean: bool = False, pure: bool = False) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("GOLORE_PURE", "VIRTUAL_ENV")}
    if pure:
        environment["CC"] = "no-such-compiler"
    if clean and os.name != "nt":  # Windows starts no process without its variables
        environment = {"HOME": cwd or "/", "PATH": cwd or "/"}
    if subprocess.run(command, cwd=cwd, env=environment, check=False).returncode:
        raise SystemExit(f"This failed: {' '.join(command)}")


if __name__ == "__main__":
    main()
