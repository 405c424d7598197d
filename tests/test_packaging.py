"""What is installed: every source and data file under golore.*, compiled or not, and nothing else.

Wheels are built from a copy of the tree with the setuptools and mypy of this environment, so that no network is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("graph", "learner", "mcp_server", "summarizers")
HOT = """
def triangle(n: int) -> int:
    return sum(range(n + 1))
"""
USER = """
from golore.learner.hot_sample import triangle

def tetrahedron(n: int) -> int:
    return sum(triangle(i) for i in range(n + 1))
"""


def copy_of_sources(to: Path) -> Path:
    unwanted = shutil.ignore_patterns("__pycache__")
    for room in ROOMS:
        shutil.copytree(ROOT / room, to / room, ignore=unwanted)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, to / name)
    return to


def build_wheel(tree: Path, **settings: str) -> zipfile.ZipFile:
    backend = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "GOLORE_PURE")} | settings
    build = subprocess.run(
        [sys.executable, "-c", backend, str(tree / "dist")],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    (wheel,) = (tree / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel)


def list_as_hot(tree: Path, *modules: str) -> None:
    script = (tree / "setup.py").read_text()
    changed, times = re.subn(r"^COMPILED: .*?^\)$", f"COMPILED = {modules!r}", script, flags=re.M | re.S)
    assert times == 1
    (tree / "setup.py").write_text(changed)


def extensions_in(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if name.endswith(tuple(EXTENSION_SUFFIXES))}


def test_pure_wheel_holds_every_file_of_the_rooms_and_nothing_else(tmp_path: Path) -> None:
    tree = copy_of_sources(tmp_path)
    (tree / "learner" / "data" / "deep").mkdir(parents=True, exist_ok=True)
    (tree / "learner" / "data" / "deep" / "sample.go").write_text("package sample\n")
    with build_wheel(tree, GOLORE_PURE="1") as wheel:
        packaged = {name for name in wheel.namelist() if ".dist-info/" not in name}
        expected = {
            f"golore/{path.relative_to(tree).as_posix()}"
            for room in ROOMS
            for path in (tree / room).rglob("*")
            if path.is_file()
        }
        assert packaged == expected
        assert wheel.filename is not None
        assert wheel.filename.endswith("-py3-none-any.whl")


def test_without_a_working_compiler_the_wheel_is_pure(tmp_path: Path) -> None:
    tree = copy_of_sources(tmp_path)
    (tree / "learner" / "hot_sample.py").write_text(HOT)
    list_as_hot(tree, "golore.learner.hot_sample")
    with build_wheel(tree, CC=shutil.which("false") or "no-such-compiler") as wheel:
        assert not extensions_in(wheel)
        assert "golore/learner/hot_sample.py" in wheel.namelist()


def test_hot_modules_that_do_not_exist_stop_the_build(tmp_path: Path) -> None:
    tree = copy_of_sources(tmp_path)
    list_as_hot(tree, "golore.learner.no_such_module")
    with pytest.raises(AssertionError, match=r"hot modules that do not exist: .*no_such_module\.py"):
        build_wheel(tree)


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_hot_modules_are_imported_as_extensions_of_golore(tmp_path: Path) -> None:
    tree = copy_of_sources(tmp_path)
    (tree / "learner" / "hot_sample.py").write_text(HOT)
    (tree / "learner" / "hot_user.py").write_text(USER)
    list_as_hot(tree, "golore.learner.hot_sample", "golore.learner.hot_user")
    with build_wheel(tree, CFLAGS="-O0") as wheel:
        assert len(extensions_in(wheel)) >= 2
        wheel.extractall(tmp_path / "site")
    check = (
        "from golore.learner import compiled, hot_user; print(compiled(), hot_user.__file__, hot_user.tetrahedron(3))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", check],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    is_compiled, file, answer = ran.stdout.split()
    assert (is_compiled, answer) == ("True", "10")
    assert file.endswith(tuple(EXTENSION_SUFFIXES))


def test_version_is_the_one_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version("golore") == project["version"]
    golore = Path(sys.executable).with_name("golore")
    told = subprocess.run([golore, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"golore {project['version']}\n"
