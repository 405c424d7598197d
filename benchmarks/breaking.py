"""Judges `golore breaking` by golang.org/x/exp/apidiff: is the verdict of two releases the same?

    python benchmarks/breaking.py --apidiff PATH --go PATH [--pairs N] [--stride N] [--patches] REPOSITORY...

Each REPOSITORY is a git clone with tags. For neighbouring minor releases, apidiff compares the module at the root, and
golore compares the same commits. Packages that import other modules are removed for apidiff, which needs all sources,
and left out of golore's answer; so are commands, which nobody imports. Prints what each of them reports where the
breaking names differ, and counts the pairs with equal verdicts and those with equal names.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from golore.graph.changes.api_change import ApiChange
from golore.learner.changes.compared_files import Request, compared_files
from golore.learner.compatibility.api_comparison import compare_api
from golore.learner.compatibility.revisions import read_revisions

VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
MESSAGE = re.compile(r"- (.*)")


class Verdict(NamedTuple):
    names: frozenset[str]
    lines: tuple[str, ...]


def main() -> int:
    options = parse()
    environment = go_environment(options.go)
    total = same = same_names = 0
    for repository in options.repositories:
        with tempfile.TemporaryDirectory() as scratch:
            for before, after in pairs(repository, options.pairs, options.stride, patches=options.patches):
                judged = judge(options.apidiff, environment, repository, Path(scratch), before, after)
                if judged is None:
                    continue
                skipped = {directory for tag in (before, after) for directory in judged_not(Path(scratch) / tag)}
                found = golore_verdict(repository, before, after, module_of(repository, after), skipped)
                total += 1
                is_same = bool(judged.names) == bool(found.names)
                same += is_same
                same_names += judged.names == found.names
                print_pair(repository, before, after, judged, found, is_same=is_same)
    print(f"{total} pairs: verdict equal on {same}, the same names on {same_names}")
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apidiff", type=Path, required=True, help="a built apidiff")
    parser.add_argument("--go", type=Path, required=True, help="the go command")
    parser.add_argument("--pairs", type=int, default=20, help="at most N pairs of each repository, the newest")
    parser.add_argument("--stride", type=int, default=1, help="compare with the Nth release that follows")
    parser.add_argument("--patches", action="store_true", help="neighbouring releases of any kind")
    parser.add_argument("repositories", nargs="+", type=Path)
    return parser.parse_args()


def go_environment(go: Path) -> dict[str, str]:
    fixed = {"GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOWORK": "off"}
    return os.environ | fixed | {"PATH": f"{go.resolve().parent}{os.pathsep}{os.environ['PATH']}"}


def pairs(repository: Path, most: int, stride: int, *, patches: bool) -> list[tuple[str, str]]:
    """Neighbouring releases of one major version, without pre-releases; of each minor version the first."""
    tags = git(repository, "tag").split()
    numbered = sorted((tuple(map(int, found.groups())), tag) for tag in tags if (found := VERSION.fullmatch(tag)))
    if not patches:
        minors = {version[:2]: (version, tag) for version, tag in reversed(numbered)}
        numbered = sorted(minors.values())
    found = [
        (first, second)
        for (version, first), (other, second) in zip(numbered, numbered[stride:], strict=False)
        if version[0] == other[0] and has_module(repository, first)
    ]
    return found[-most:]


def has_module(repository: Path, tag: str) -> bool:
    return bool(git(repository, "ls-tree", tag, "go.mod"))


def git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True, text=True).stdout


def module_of(repository: Path, tag: str) -> str:
    text = git(repository, "show", f"{tag}:go.mod")
    return next((line.split()[1].strip('"') for line in text.splitlines() if line.startswith("module ")), "")


def judge(
    apidiff: Path, environment: dict[str, str], repository: Path, scratch: Path, before: str, after: str
) -> Verdict | None:
    """The answer of apidiff; None if one of the releases does not type-check here."""
    files: list[Path] = []
    commands: set[str] = set()
    for tag in (before, after):
        exported = export(apidiff, environment, repository, scratch, tag, commands)
        if exported is None:
            return None
        files.append(exported)
    command = [apidiff, "-m", "-incompatible", *files]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        return None
    lines = [found[1] for line in run.stdout.splitlines() if (found := MESSAGE.fullmatch(line))]
    module = module_of(repository, after)
    skipped = {one for tag in (before, after) for one in judged_not(scratch / tag)}
    skipped |= {f"{module}/{directory}".removesuffix("/.") for directory in commands}
    kept = [line for line in lines if path_in(line, module) not in skipped]
    return Verdict(frozenset(map(named_by_judge, kept)), tuple(kept))


def export(
    apidiff: Path, environment: dict[str, str], repository: Path, scratch: Path, tag: str, commands: set[str]
) -> Path | None:
    """The types of a release, written once by apidiff."""
    tree, target = scratch / tag, scratch / f"{tag}.types"
    if not tree.exists():
        tree.mkdir()
        archive = subprocess.run(["git", "-C", repository, "archive", tag], check=False, capture_output=True)
        if archive.returncode:
            (tree / "removed").touch()  # a clone may lack large files
            return None
        subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
        module = module_of(repository, tag)
        remove_dependents(tree, module)
        run = subprocess.run(
            [apidiff, "-m", "-w", target, module], cwd=tree, capture_output=True, text=True, env=environment
        )
        if run.returncode:
            reason = (run.stderr.strip() or "no reason").splitlines()[0]
            print(f"{repository.name} {tag}: {reason[:150]}", file=sys.stderr)
    commands.update(commands_in(tree))
    return target if target.exists() else None


def remove_dependents(tree: Path, module: str) -> None:
    """Remove the packages that need other modules, also those that need them through other packages, and tests."""
    for path in [*tree.rglob("*_test.go"), *tree.rglob("go.sum"), *tree.rglob("vendor")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    go_mod = (tree / "go.mod").read_text(encoding="utf-8")
    version = re.search(r"^go \S+$", go_mod, re.MULTILINE)
    (tree / "go.mod").write_text(f"module {module}\n\n{version[0] if version else 'go 1.16'}\n", encoding="utf-8")
    imports: dict[Path, set[str]] = {}
    for path in tree.rglob("*.go"):
        imports.setdefault(path.parent, set()).update(imports_in(path))
    removed: set[str] = set()
    while True:
        gone = {
            directory for directory, paths in imports.items() if any(is_missing(one, module, removed) for one in paths)
        }
        if not gone:
            break
        for directory in gone:
            del imports[directory]
            for path in directory.glob("*.go"):
                path.unlink()
            removed.add(f"{module}/{directory.relative_to(tree).as_posix()}".removesuffix("/."))
    (tree / "removed").write_text("\n".join(sorted(removed)), encoding="utf-8")


def imports_in(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    for group in re.findall(r'^import \((.*?)^\)|^import ([^(\n]*"[^"\n]*")', text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r'^\s*(?:[\w.]+\s+)?"([^"\n]*)"', "\n".join(group), re.MULTILINE)


def is_missing(imported: str, module: str, removed: set[str]) -> bool:
    if imported == module or imported.startswith(f"{module}/"):
        return imported in removed
    return "." in imported.partition("/")[0]


def judged_not(tree: Path) -> list[str]:
    """The import paths that were removed from a release before it was judged."""
    return (tree / "removed").read_text(encoding="utf-8").split("\n")


def commands_in(tree: Path) -> Iterator[str]:
    for path in tree.rglob("*.go"):
        if re.search(r"^package main\b", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
            yield path.parent.relative_to(tree).as_posix()


def package_in(line: str) -> str:
    """The directory of the package that a message is about: `./cmd/x.F: removed`, `package m/cmd/x: removed`."""
    subject = line.partition(": ")[0].partition(", ")[0]
    if subject.startswith("./"):
        directory, _, last = subject[2:].rpartition("/")
        return "/".join(part for part in (directory, last.partition(".")[0]) if part)
    return "."


def path_in(line: str, module: str) -> str:
    """The import path of the package that a message is about."""
    subject = line.partition(": ")[0].partition(", ")[0]
    if subject.startswith("package "):
        return subject.removeprefix("package ")
    return f"{module}/{package_in(line)}".removesuffix("/.")


def named_by_judge(line: str) -> str:
    """The name that a message is about, without the package and the pointer of its receiver."""
    name = line.partition(": ")[0].partition(", ")[0]
    if name.startswith("package "):
        return name.removeprefix("package ")
    name = name.replace("(*", "").replace(")", "")
    return name.rpartition("/")[2]


def golore_verdict(repository: Path, before: str, after: str, module: str, skipped: set[str]) -> Verdict:
    compared = compared_files(repository, Request(revisions=f"{before}..{after}"))
    old, new = read_revisions(repository, compared, None)
    changes = [
        change
        for change in compare_api(old, new, {*old.directories, *new.directories})
        if change.is_breaking
        and change.is_certain
        and change.package not in skipped
        and is_in_module(change, module, new.project.modules)
    ]
    names = frozenset(short_name(change, module) for change in changes)
    return Verdict(names, tuple(f"{change.qualified_name}: {change.what}" for change in changes))


def is_in_module(change: ApiChange, module: str, modules: tuple[object, ...]) -> bool:
    others = [getattr(other, "path", "") for other in modules if getattr(other, "path", "") != module]
    is_inside = change.package == module or change.package.startswith(f"{module}/")
    return is_inside and not any(f"{change.package}/".startswith(f"{other}/") for other in others)


def short_name(change: ApiChange, module: str) -> str:
    if not change.name:
        return change.package
    inner = change.package[len(module) + 1 :]
    return f"{inner.rpartition('/')[2]}.{change.name}" if inner else change.name


def print_pair(repository: Path, before: str, after: str, judged: Verdict, found: Verdict, *, is_same: bool) -> None:
    print(f"{repository.name} {before}..{after}: {'equal' if is_same else 'DIFFERENT'}, {len(judged.names)} breaking")
    if judged.names != found.names:
        for line in sorted(judged.lines):
            if named_by_judge(line) not in found.names:
                print(f"    only apidiff: {line}")
        for line in found.lines:
            print(f"    golore: {line}")


if __name__ == "__main__":
    sys.exit(main())
