"""For tests that kill processes: a repository whose files change by renames, a program that writes notes, and a check
for processes that are left."""

from __future__ import annotations

import json
import os
from pathlib import Path

PACKAGES = 12
PROJECTED = (None, "Note", "Summary", "DESCRIBES", "SUMMARIZES", "SUPERSEDES")
"""Labels of what an export has beyond what was learned from code."""
NOTER = """
import contextlib, io, json, random, sys
from golore.mcp_server.cli.main import main
root, packages, seed, count = sys.argv[1], *map(int, sys.argv[2:])
chance = random.Random(seed)
for number in range(count):
    package = chance.randrange(packages)
    target = chance.choice((f"p{package}.Root", f"p{package}.Last", f"p{package}/p.go", f"p{package}/", "."))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        words = ["note", target, f"Note {seed} {number} on {target}.", "--author", "t", "--json"]
        code = main([*words, "--repo", root])
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


def source(package: int, version: int) -> str:
    """A file of which every declaration but three tells its version, and which is as long as its version says."""
    steps = range(3 + version % 5)
    calls = "; ".join(f"Step{version}n{step}()" for step in steps)
    functions = "".join(f"func Step{version}n{step}() {{ Last() }}\n\n" for step in steps)
    return f"package p{package}\n\nfunc Root() {{ {calls} }}\n\n{functions}func Last() {{}}\n"


def steps_of(version: int) -> set[str]:
    return {f"Step{version}n{step}" for step in range(3 + version % 5)}


class Tree:
    """The repository, of whose files the versions so far are known."""

    def __init__(self, root: Path, packages: int = PACKAGES) -> None:
        self.root = root
        self.versions = [0] * packages
        root.mkdir()
        (root / "go.mod").write_text("module example.com/m\n\ngo 1.22\n")
        for package in range(packages):
            self.write(package, 0)

    def write(self, package: int, version: int) -> None:
        path = self.root / f"p{package}" / "p.go"
        path.parent.mkdir(exist_ok=True)
        part = path.with_name("part")
        part.write_text(source(package, version))
        part.replace(path)
        self.versions[package] = version

    def is_true(self, package: int, question: str, out: str) -> bool:
        """Whether an answer about a file holds for one of the versions that it has had."""
        told = json.loads(out)
        if question == "query":
            names = {row["s.name"] for row in told["rows"]} - {"Root", "Last"}
        else:
            found = [one["symbol"]["name"] for one in told["resolved"]]
            names = set(found) - {"Root"}
            if len(found) != len(set(found)) or (question == "impact" and "Root" not in found):
                return False
        version = int(min(names, default="Step-1n0")[4:].partition("n")[0])
        return 0 <= version <= self.versions[package] and names == steps_of(version)


def learned_part(lines: list[str]) -> list[str]:
    """What of an export comes from the code."""
    parsed = [json.loads(line) for line in lines]
    return [json.dumps(one) for one in parsed if one.get("label") not in PROJECTED]


def left_behind(root: Path) -> list[str]:
    """Processes that still have something to do with a directory."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            cwd, command = str((path / "cwd").readlink()), (path / "cmdline").read_bytes()
        except OSError:
            continue
        if str(root) in cwd or (os.fsencode(root) in command and int(path.name) != os.getpid()):
            found.append(command.replace(b"\0", b" ").decode())
    return found
