"""What is installed: every source and data file under golore.*, compiled or not, and nothing else.

Wheels are built from a copy of the tree with the setuptools and mypy of this environment, so that no network is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest
from support.git_repository import git

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
        expected.remove("golore/mcp_server/public/__init__.py")
        assert packaged == expected | {"golore/__init__.py"}
        assert wheel.filename is not None
        assert wheel.filename.endswith("-py3-none-any.whl")
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        links = re.findall(r"\]\(([^)]*)\)", wheel.read(name).decode())
        assert "https://github.com/golore/golore/blob/main/docs/tutorial.md" in links
        assert not [link for link in links if not link.startswith(("https://", "#"))]  # PyPI cannot follow those


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


def version_of(tree: Path) -> str:
    """The version that a build of the tree has."""
    told = subprocess.run(
        [sys.executable, "-m", "setuptools_scm"], cwd=tree, capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


def project_without_modules(to: Path) -> Path:
    to.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, to / name)
    list_as_hot(to)
    return to


def test_a_tag_is_the_version_of_its_commit_and_of_its_sdist(tmp_path: Path) -> None:
    tree = project_without_modules(tmp_path / "tree")
    assert version_of(tree) == "0.0"  # no git
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    assert version_of(tree) == "0.1.dev1"  # no tag
    git(tree, "tag", "v3.1.0")
    assert version_of(tree) == "3.1.0"
    assert build_sdist(tree).name == "golore-3.1.0.tar.gz"


def test_after_a_tag_the_version_counts_commits_and_ignores_uncommitted_edits(tmp_path: Path) -> None:
    tree = project_without_modules(tmp_path / "tree")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    git(tree, "tag", "v3.1.0")
    git(tree, "commit", "-qm", "two", "--allow-empty")
    assert version_of(tree) == "3.1.1.dev1"
    (tree / "README.md").write_text("edited\n")
    assert version_of(tree) == "3.1.1.dev1"
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-tags", tree.as_uri(), "shallow")
    assert version_of(tmp_path / "shallow") == "0.1.dev1"


def build_sdist(tree: Path) -> Path:
    backend = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", backend, str(tree / "dist")], cwd=tree, capture_output=True, check=True)
    (sdist,) = (tree / "dist").glob("*.tar.gz")
    return sdist


def test_sdist_holds_what_a_build_needs_the_smoke_test_and_nothing_else(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tree / name)
    list_as_hot(tree)
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    with tarfile.open(build_sdist(tree)) as archive:
        packaged = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}
    expected = {name for name in names if name.split("/")[0] in ROOMS}
    expected |= {"LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py", "tests/packaging/smoke.py"}
    made = {name for name in packaged if name in ("PKG-INFO", "setup.cfg") or name.startswith("golore.egg-info/")}
    assert packaged - made == expected


def test_the_command_tells_the_installed_version() -> None:
    golore = Path(sys.executable).with_name("golore")
    told = subprocess.run([golore, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"golore {version('golore')}\n"


def test_workflows_are_valid_and_safe() -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert workflows
    assert_valid_and_safe(workflows)


def test_the_workflow_in_the_documentation_is_valid_and_safe(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "changes.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    workflow = tmp_path / ".github" / "workflows" / "affected.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(example)
    assert_valid_and_safe([workflow])


def assert_valid_and_safe(workflows: list[Path]) -> None:
    for command in (
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows],
        ["zizmor", "--offline", "--no-progress", *workflows],
    ):
        program = Path(sys.executable).with_name(str(command[0]))
        judged = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
        assert judged.returncode == 0, judged.stdout + judged.stderr


def test_actions_are_pinned_to_commits() -> None:
    uses = [
        line.split("uses:")[1].split("#")[0].strip()
        for workflow in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in workflow.read_text().splitlines()
        if "uses:" in line
    ]
    assert uses
    assert not [use for use in uses if not re.fullmatch(r"\./\.github/.*|[\w./-]+@[0-9a-f]{40}", use)]
