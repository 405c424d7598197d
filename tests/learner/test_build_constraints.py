"""Build constraints: where they are found, what they mean, and which files can be in one build."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from golore.learner.go_rules.build_constraints import (
    DEFAULT,
    GOARCH,
    GOOS,
    SyntaxProblem,
    compatible,
    file_constraint,
    name_tags,
    parse,
    read_constraint,
    satisfied,
)
from hypothesis import given
from hypothesis import strategies as st

GO = Path(sys.executable).with_name("go")


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("x.go", ()),
        ("linux.go", ()),
        ("x_linux.go", ("linux",)),
        ("x_amd64.go", ("amd64",)),
        ("x_linux_amd64.go", ("linux", "amd64")),
        ("x_amd64_linux.go", ("linux",)),
        ("x_linux_test.go", ("linux",)),
        ("x_windows_arm64_test.go", ("windows", "arm64")),
        ("_linux_test.go", ("linux",)),
        ("x_test.go", ()),
        ("x_unix.go", ()),
        ("x_test_linux.go", ("linux",)),
        ("x_linux.pb.go", ("linux",)),
        ("linux_amd64.go", ("amd64",)),
    ],
)
def test_names_imply_tags_as_in_go(name: str, tags: tuple[str, ...]) -> None:
    assert name_tags(name) == tags


@pytest.mark.parametrize(
    ("name", "header", "expected"),
    [
        ("x.go", b"package p\n", ""),
        ("x_linux_amd64.go", b"//go:build !cgo\n\npackage p\n", "linux && amd64 && !cgo"),
        ("x_linux.go", b"//go:build linux\n\npackage p\n", "linux"),
        ("x_linux.go", b"//go:build a || b\n\npackage p\n", "linux && (a || b)"),
        ("x.go", b"//go:build (a&&b)||!(c||d)\npackage p\n", "(a && b) || !(c || d)"),
        ("x.go", b"\xef\xbb\xbf// Copyright\r\n\r\n//go:build a\r\n\r\npackage p\r\n", "a"),
        ("x.go", b"/* licence\n//go:build a\n*/\n//go:build b\npackage p\n", "b"),
        ("x.go", b"/* a */ /* b\n */ // c\n//go:build a\n\npackage p\n", "a"),
        ("x.go", b"package p\n\n//go:build a\n", ""),
        ("x.go", b"//go:buildx a\n\npackage p\n", ""),
        ("x.go", b"// +build a,!b c\n// +build d\n\npackage p\n", "((a && !b) || c) && d"),
        ("x.go", b"// +build a\npackage p\n", ""),
        ("x.go", b"// +build a\n\n// +build b\npackage p\n", "a"),
        ("x.go", b"/* c */\n// +build a\n\npackage p\n", ""),
        ("x.go", b"//+build a\n\n//go:build b\n\npackage p\n", "b"),
        ("x.go", b"// +build !!a\n\npackage p\n", "ignore"),
        ("x.go", b"", ""),
    ],
)
def test_constraints_are_found_where_go_looks(name: str, header: bytes, expected: str) -> None:
    assert file_constraint(name, header) == expected


@pytest.mark.parametrize("text", ["", "a b", "a &&", "a & b", "(a", "a)", "!!a", "a || && b", "a-b", "!", "(" * 5000])
def test_what_go_refuses_is_a_problem_and_not_an_exception(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        parse(text)
    read = read_constraint("d/x_linux.go", f"\n//go:build {text}\n\npackage p\n".encode())
    assert read.text == "linux"
    assert [(problem.file, problem.line) for problem in read.problems] == [("d/x_linux.go", 2)]


def test_a_second_line_is_a_problem_and_the_first_one_counts() -> None:
    read = read_constraint("x.go", b"//go:build a\n//go:build b\n\npackage p\n")
    assert read.text == "a"
    assert [problem.line for problem in read.problems] == [2]


def test_the_default_configuration_is_an_ordinary_linux_machine() -> None:
    assert satisfied("linux && amd64 && cgo && gc && unix && go1.21 && !go2")
    assert satisfied("")
    assert not satisfied("windows || ignore || !unix")


def test_a_system_sets_the_tag_of_the_one_it_is_built_on() -> None:
    assert satisfied("linux && unix", frozenset(("android", "arm64")))
    assert satisfied("solaris", frozenset(("illumos",)))
    assert satisfied("darwin", frozenset(("ios",)))
    assert not satisfied("android", frozenset(("linux",)))
    assert satisfied("boringcrypto", frozenset(("goexperiment.boringcrypto",)))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", True),
        ("linux", "", True),
        ("linux", "windows", False),
        ("linux", "android", True),
        ("android", "!linux", False),
        ("linux", "unix", True),
        ("windows", "unix", False),
        ("!windows", "unix", True),
        ("amd64", "arm64", False),
        ("linux", "amd64", True),
        ("linux && amd64", "linux && !amd64", False),
        ("x", "!x", False),
        ("x || linux", "!x && windows", False),
        ("x || linux", "!x && linux", True),
        ("ignore", "", True),
        ("!go1.18", "", False),
        ("go1.18", "go1.21", True),
        ("gc", "gccgo", False),
        ("js", "amd64", False),
        ("linux && windows", "", False),
        ("a && b", "!a || !b", False),
        ("boringcrypto", "!goexperiment.boringcrypto", False),
        ("!(a || b)", "a", False),
    ],
)
def test_two_files_can_be_in_one_build_only_when_their_tags_agree(a: str, b: str, expected: bool) -> None:
    assert compatible(a, b) is expected
    assert compatible(b, a) is expected


_TAGS = ("linux", "android", "windows", "js", "unix", "amd64", "wasm", "cgo", "x", "y", "gc")
_EXPRESSIONS = st.recursive(
    st.sampled_from(_TAGS),
    lambda inner: (
        inner.map(lambda a: f"!({a})")
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) && ({pair[1]})")
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) || ({pair[1]})")
    ),
    max_leaves=8,
)


@given(_EXPRESSIONS, _EXPRESSIONS)
def test_compatible_agrees_with_trying_every_build(a: str, b: str) -> None:
    builds = (
        frozenset((goos, goarch, compiler, *free))
        for goos in ("linux", "android", "windows", "js", "wasip1", "darwin", "plan9")
        for goarch in ("amd64", "wasm", "arm64")
        if (goos in ("js", "wasip1")) == (goarch == "wasm")
        for compiler in ("gc", "gccgo")
        for size in range(4)
        for free in itertools.combinations(("cgo", "x", "y"), size)
    )
    assert compatible(a, b) is any(satisfied(a, tags) and satisfied(b, tags) for tags in builds)


@given(_EXPRESSIONS)
def test_the_canonical_text_means_the_same_and_is_stable(text: str) -> None:
    canonical = file_constraint("x.go", f"//go:build {text}\n\npackage p\n".encode())
    assert file_constraint("x.go", f"//go:build {canonical}\n\npackage p\n".encode()) == canonical
    for tags in (DEFAULT, frozenset(("windows", "x")), frozenset(("js", "wasm", "y", "cgo"))):
        assert satisfied(canonical, tags) is satisfied(text, tags)


def test_many_free_tags_are_settled_quickly() -> None:
    clauses = " && ".join(f"(a{i} || b{i} || !c{i})" for i in range(60))
    started = time.process_time()
    assert compatible(clauses, f"!a0 && {clauses}")
    assert not compatible(clauses, "!a0 && !b0 && c0 && linux && windows")
    assert time.process_time() - started < 5


@given(st.binary(max_size=300))
def test_reading_never_raises(header: bytes) -> None:
    read_constraint("x_linux.go", header)


def _random_line(choose: random.Random) -> str:
    tags = ("linux", "windows", "darwin", "unix", "amd64", "arm64", "cgo", "gc", "go1.20", "mine", "ios", "solaris")
    if choose.random() < 0.3:
        words = (
            ",".join(choose.choice(("", "!")) + choose.choice(tags) for _ in range(choose.randint(1, 3))) for _ in "12"
        )
        return f"// +build {' '.join(words)}"

    def expression(depth: int) -> str:
        if depth == 0 or choose.random() < 0.3:
            return choose.choice(("", "!")) + choose.choice(tags)
        return f"({expression(depth - 1)} {choose.choice(('&&', '||'))} {expression(depth - 1)})"

    return f"//go:build {expression(3)}"


def test_go_lists_the_same_files_on_every_platform(tmp_path: Path) -> None:
    choose = random.Random(7)
    files: dict[str, str] = {}
    suffixes = [
        "",
        *(f"_{tag}" for tag in sorted(GOOS | GOARCH)),
        "_linux_amd64",
        "_darwin_arm64",
        "_unix",
        "_arm64_ios",
    ]
    for number, suffix in enumerate(suffixes + [choose.choice(suffixes) for _ in range(150)]):
        header = "" if number < len(suffixes) else _random_line(choose) + choose.choice(("\n\n", "\n\n", "\n"))
        comment = choose.choice(("", "// Copyright\n\n", "/* block\n */\n", "// doc\n"))
        files[f"f{number}{suffix}.go"] = f"{comment}{header}package p\n"
    (tmp_path / "go.mod").write_text("module example.com/m\n\ngo 1.21\n")
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    expressions = {name: file_constraint(name, content.encode()) for name, content in files.items()}
    releases = {f"go1.{n}" for n in range(1, 28)}
    for goos, goarch in (
        ("linux", "amd64"),
        ("android", "arm64"),
        ("windows", "amd64"),
        ("ios", "arm64"),
        ("js", "wasm"),
    ):
        for cgo, tag in (("0", ""), ("1", "mine")):
            environ = {**os.environ, "GOOS": goos, "GOARCH": goarch, "CGO_ENABLED": cgo, "GOFLAGS": f"-tags={tag}"}
            command = [GO, "list", "-f", '{{join .GoFiles "\\n"}}', "."]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environ)
            tags = frozenset((goos, goarch, "gc", tag, "cgo" if cgo == "1" else "")) | releases
            ours = {name for name, expression in expressions.items() if satisfied(expression, tags)}
            assert ours == set(done.stdout.split()), (goos, goarch)
