"""A repository may contain devices, pipes, links and giants under every name that is read: the learn goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from golore.graph.safety.regular_file import SOURCE_LIMIT
from golore.learner.checkout.ignore_rules import IGNORE_LIMIT
from support.git_repository import commit, git
from support.shop import make_shop

_LEARN = """
import os, resource, sys, threading
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from golore.learner.pipeline.graph_step import learn_graph
def watch_memory():
    # A limit of the address space would stop the engine, which reserves a large part of it. The peak that `getrusage`
    # returns may be that of the process that started this one.
    while int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) < 1 << 20:
        waiting.wait(0.05)
    os._exit(9)
waiting = threading.Event()
threading.Thread(target=watch_memory, daemon=True).start()
report = learn_graph(Path(sys.argv[1]), workers=0)
print(report.files)
for problem in report.problems:
    print(problem.file, problem.message)
"""
_HANG_SECONDS = 1_200
"""Only ends a process that hangs."""


def _zero(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 4 << 30)


NOT_REGULAR = "it is not a regular file"
CASES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "an ignore file that is a device": (_zero, ".gitignore", f"its rules do not apply: {NOT_REGULAR}"),
    "an ignore file that is a pipe": (_pipe, "store/.gitignore", f"its rules do not apply: {NOT_REGULAR}"),
    "a giant ignore file": (
        _huge,
        ".gitignore",
        f"its rules do not apply: it is larger than {IGNORE_LIMIT:,} bytes",
    ),
    "a module file that is a device": (_zero, "store/go.mod", ""),
    "a module file that is a pipe": (_pipe, "store/go.mod", ""),
    "a giant module file": (
        _huge,
        "store/go.mod",
        f"file cannot be read: it is larger than {SOURCE_LIMIT:,} bytes",
    ),
    "a giant workspace": (_huge, "go.work", f"file cannot be read: it is larger than {SOURCE_LIMIT:,} bytes"),
    "a document that is a pipe": (_pipe, "pipe.md", ""),
    "a giant document": (_huge, "giant.md", f"file not learned: {4 << 30:,} bytes, more than the limit of 8,388,608"),
    "a `.git` that is a pipe": (_pipe, ".git", ""),
    "a `.git` that is a device": (_zero, ".git", ""),
}


def _learned(root: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _LEARN, str(root)], capture_output=True, text=True, check=False, timeout=_HANG_SECONDS
    )
    assert done.returncode == 0, done.stderr
    count, *problems = done.stdout.splitlines()
    assert count == "5"
    return problems


@pytest.mark.parametrize("case", CASES)
def test_the_learn_goes_on_with(case: str, tmp_path: Path) -> None:
    make, name, message = CASES[case]
    root = make_shop(tmp_path)
    make(root / name)
    assert _learned(root) == ([f"{name} {message}"] if message else [])


@pytest.mark.parametrize("name", ["HEAD", "config", "packed-refs", "commondir", "info/exclude", "index"])
@pytest.mark.parametrize("make", [_zero, _pipe, _huge])
def test_the_learn_goes_on_with_a_file_of_git_that_is_not_what_it_should_be(
    make: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    root = make_shop(tmp_path)
    git(root, "init", "-q")
    commit(root, {})
    (root / ".git" / name).unlink(missing_ok=True)
    make(root / ".git" / name)
    assert _learned(root) == []


def test_a_giant_vendored_file_is_named_and_left_out(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    (root / "go.mod").write_text("module example.com/shop\n\ngo 1.24\n\nrequire example.com/v v1.0.0\n")
    vendored = root / "vendor/example.com/v"
    vendored.mkdir(parents=True)
    (root / "vendor/modules.txt").write_text("# example.com/v v1.0.0\n## explicit\nexample.com/v\n")
    (vendored / "v.go").write_text("package v\n\nfunc V() {}\n")
    _huge(vendored / "giant.go")
    (root / "main.go").write_text('package main\n\nimport "example.com/v"\n\nfunc main() { v.V() }\n')
    message = f"file not learned: {4 << 30:,} bytes, more than the limit of {SOURCE_LIMIT:,}"
    assert _learned(root) == [f"vendor/example.com/v/giant.go {message}"]


def test_a_link_in_place_of_an_ignore_file_does_not_ignore_anything_as_in_git(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    (tmp_path / "rules").write_text("*.go\n")
    (root / ".gitignore").symlink_to("../rules")
    assert _learned(root) == [f".gitignore its rules do not apply: {NOT_REGULAR}"]


EXPRESSIONS = {
    "sums": "1" + "+1" * 500_000,
    "selectors": "a" + ".b" * 500_000,
    "calls": "f" + "()" * 500_000,
    "parentheses": "(" * 500_000 + "1" + ")" * 500_000,
    "indexes": "x" + "[0]" * 330_000,
    "addresses": "&" * 1_000_000 + "x",
    "strings on many lines": '"a" +\n' * 100_000 + '"b"',
    "a call and a sum": "f(" + "1," * 250_000 + ")" + "+1" * 250_000,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_megabyte_of_one_expression_is_learned_in_bounded_time(expression: str, tmp_path: Path) -> None:
    """The processor limit is reached only if the time grows with the square of the length."""
    root = make_shop(tmp_path)
    (root / "main.go").write_text(f"package main\n\nfunc main() {{\n\t_ = {EXPRESSIONS[expression]}\n}}\n")
    _learned(root)


MODULES = {
    "go.mod": "module example.com/shop\n\ngo 1.24\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0\n)\n\n"
    "replace example.com/a => /\n\nreplace example.com/b => ../..\n",
    "go.work": "go 1.24\n\nuse (\n\t.\n\t/\n\t../..\n)\n",
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_outside_the_repository_are_not_walked(name: str, tmp_path: Path) -> None:
    """The root of the file system has far too many files to be read in the time of a test."""
    root = make_shop(tmp_path / "a" / "b" / "shop")
    (root / name).write_text(MODULES[name])
    (root / "main.go").write_text('package main\n\nimport "example.com/a/x"\n\nfunc main() { x.X() }\n')
    assert not [problem for problem in _learned(root) if problem.startswith(("/", "../"))]


NESTED_FUNCS = "func(a, b " * 60 + "int" + ")" * 60
NESTED_STRUCTS = "struct{ a, b " * 60 + "int" + " }" * 60
DECLARATIONS = {
    "an interface with many methods": "type I interface {\n" + "".join(f"\tM{n}()\n" for n in range(20_000)) + "}\n",
    "aliases in a circle": "type A = B\n\ntype B = C\n\ntype C = A\n\nfunc F(a A) { a.M() }\n",
    "embedding in a circle": "type A struct{ *B }\n\ntype B struct{ *A }\n\nfunc F(a A) { a.M() }\n",
    "interfaces in a circle": "type A interface{ B }\n\ntype B interface{ A }\n\nfunc F(a A) { a.M() }\n",
    "embedding that doubles": "type T0 struct{ N int }\n\n"
    + "".join(f"type T{n} struct {{ T{n - 1}; U{n} }}\n\ntype U{n} struct{{ T{n - 1} }}\n\n" for n in range(1, 60))
    + "func F(t T59) { t.M(); _ = t.N }\n",
    "generics that double": "type P[A, B any] struct{ a A; b B }\n\n"
    + "".join(f"type T{n} = P[T{n - 1}, T{n - 1}]\n\n" for n in range(1, 60))
    + "type T0 = int\n\nfunc F(t T59) { _ = t.a.a.b; t.M() }\n",
    "generics that grow": "type L[A any] struct{ next *L[L[A]] }\n\nfunc F(l L[int]) { l.next.next.next.M() }\n",
    "groups of parameters that double": f"type T {NESTED_FUNCS}\n\nfunc F() {{ var f {NESTED_FUNCS}; f.M() }}\n",
    "groups of fields that double": f"type T {NESTED_STRUCTS}\n\nvar v {NESTED_STRUCTS}\n",
    "values in a circle": "var a = b\n\nvar b = c\n\nvar c = a\n\nfunc F() { a.M() }\n",
    "constants in a circle": "const a = b\n\nconst b = a\n\nfunc F() { print(a) }\n",
    "many lines": "func F() {\n" + "\tprint(1)\n" * 50_000 + "}\n",
    "bytes that are no text": "// \x00 \ufeff \udcff\r\nfunc F() {}\r\n",
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_declarations_that_blow_up_are_learned_in_bounded_time(name: str, tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    source = f"package main\n\nfunc main() {{}}\n\n{DECLARATIONS[name]}"
    (root / "main.go").write_bytes(source.encode("utf-8", "surrogateescape"))
    _learned(root)


def test_directories_in_directories_are_learned(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    deep = root.joinpath(*["d"] * 400)
    deep.mkdir(parents=True)
    (deep / "deep.md").write_text("# Deep\n")
    _learned(root)
