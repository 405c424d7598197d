"""The documentation: generated pages are current, the site builds without warnings, commands and examples are real."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from golore.mcp_server.cli.main import build_parser
from golore.mcp_server.server import tools
from support.git_repository import git
from support.local_model import make_model
from support.shop import make_shop

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
GOLORE = Path(sys.executable).with_name("golore")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
REAL_GOLORE = re.compile(r"(?:^|\s|`)golore((?: [^\s`|&;#…]+)+)")


class Example(NamedTuple):
    """A command of a `console` block and the output shown below it."""

    page: Path
    command: str
    output: str


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield text


def examples(page: Path) -> list[Example]:
    found: list[Example] = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append(Example(page, command, output))
    return found


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name", ["commands.md", "mcp-tools.md", "python-api.md", "graph-schema.md", "packages.md", "dependencies.md"]
)
def test_generated_pages_are_up_to_date(name: str) -> None:
    pages = generator()
    assert name in pages.PAGES
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert written == pages.NOTICE + pages.PAGES[name](), "run `uv run python docs/generate.py`"


def test_the_python_api_changes_only_with_an_entry_in_the_changelog() -> None:
    surface = generator().api_surface()
    unreleased = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    entry = f"surface `{surface}`"
    assert entry in unreleased, f"describe the change of the Python API in CHANGELOG.md, and write {entry} there"


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-d", str(tmp_path / "trees")]
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(tmp_path / "site")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").is_file()


def test_links_in_markdown_lead_to_files() -> None:
    for page in PAGES:
        prose = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_paths_in_markdown_exist() -> None:
    """Files of this repository that the documents name as code."""
    named = re.compile(r"`((?:graph|learner|summarizers|mcp_server|tests|fixtures|benchmarks|docs)/[\w./-]+)`")
    for page in PAGES:
        for path in named.findall(page.read_text(encoding="utf-8")):
            if "NAME" not in path and "AGENT" not in path:
                assert (ROOT / path).exists(), f"{page.relative_to(ROOT)}: {path}"


def test_names_in_the_recipes_exist_in_the_code() -> None:
    folders = ("graph", "learner", "summarizers", "mcp_server", "tests")
    sources = [ROOT / "setup.py", *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    words = {word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = text.partition("\n## Recipes")[2].partition("\n## Hot modules")[0]
    named = set(re.findall(r"`([A-Za-z_]\w+)(?:\([^`]*\))?(?:=\w+)?`", recipes))
    assert "_TEXT_VERSION" in named
    assert {name for name in named if name != "run_NAME"} <= words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_in_documents_are_accepted_by_the_parser(page: Path) -> None:
    lines = [line for block in blocks(page, "sh", "console") for line in block.replace("\\\n", " ").splitlines()]
    parser = build_parser()
    for line in lines:
        for call in re.findall(r"(?:^\$ |^|&& |; )(?:uv run (?:--[\w-]+ )*)?golore ([^|&;]+)", line):
            words = shlex.split(call, comments=True)
            if words != ["--help"]:
                parser.parse_known_args(words)  # exits with a message if the command or an option does not exist


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_examples_print_what_the_document_shows(page: Path, tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    environment = {**os.environ, "PATH": f"{GOLORE.parent}{os.pathsep}{os.environ['PATH']}", "GIT_AUTHOR_NAME": "ann"}
    environment["HOME"] = str(tmp_path / "home")  # without agents
    for example in examples(page):
        done = subprocess.run(
            example.command, shell=True, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        expected = re.escape(example.output).replace("…", ".*")
        assert re.fullmatch(expected, done.stdout, re.S), f"{example.command}:\n{done.stdout}"


def test_every_tool_module_is_registered() -> None:
    page = (ROOT / "docs" / "reference" / "mcp-tools.md").read_text(encoding="utf-8")
    modules = [path.stem for path in Path(tools.__path__[0]).glob("memory_*.py")]
    assert sorted(modules) == sorted(re.findall(r"^## (memory_\w+)$", page, re.M))


@pytest.mark.slow
def test_the_card_in_the_readme_is_real(tmp_path: Path) -> None:
    go = Path(sys.executable).with_name("go")
    goroot = subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    environment = {**os.environ, "GOLORE_HOME": str(tmp_path)}
    source = Path(goroot) / "src"
    subprocess.run([GOLORE, "learn", source], env=environment, check=True)
    command = [GOLORE, "context", "container/heap/heap.go", "--repo", source]
    card = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    (shown,) = blocks(ROOT / "README.md", "text")
    assert shown in card


def test_python_examples_run(tmp_path: Path) -> None:
    """All blocks of the page, in order and in one program, as a reader would type them."""
    root = make_shop(tmp_path / "shop")
    (root / ".gitignore").write_text(".golore/\n", encoding="utf-8")
    for words in ("init -q", "add .", "commit -qm one"):
        git(root, *words.split())
    for command in (["learn", "shop"], ["embed", "shop", "--model", make_model(tmp_path / "model")]):
        subprocess.run([GOLORE, *command], cwd=tmp_path, capture_output=True, check=True)
    program = "\n".join(blocks(ROOT / "docs" / "how-to" / "python.md", "python"))
    script = tmp_path / "examples.py"
    script.write_text(f"def main():\n{textwrap.indent(program, '    ')}\n\nif __name__ == '__main__':\n    main()\n")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line in (
        "example.com/shop.run main.go (14,)",
        "1 may call it through an interface; 1 uses are unresolved",
        "example.com/shop/store never reaches example.com/shop",
        "100% t",
        "read example.com/shop/store.Memory.Save store/store.go:(19,)",
        "Limit is used by ['example.com/shop']",
        "Flush is used by no other package",
        "example.com/shop/store.Memory.Save\n",
        "Put is called by run\n",
    ):
        assert line in done.stdout, done.stdout
