"""What counts as a breaking change of exported API, case by case: each is a package with two states."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from golore.graph.changes.api_change import ApiChange, bump_for, next_version
from golore.learner.changes.compared_files import Request, compared_files
from golore.learner.compatibility.api_changes import api_changes
from support.git_repository import commit, git


class Case(NamedTuple):
    """`!` marks what breaks, `?` what may break, `+` what does not."""

    before: str
    after: str
    expected: list[str]


CASES = {
    "removed": Case(
        "func F() {}\nvar V int\nconst C = 1\ntype T int\nfunc private() {}",
        "func f() {}",
        ["!C: removed", "!F: removed", "!T: removed", "!V: removed"],
    ),
    "added": Case("", "func F() {}\ntype T struct{ X int }", ["+F: added", "+T: added"]),
    "parameter": Case("func F(a int) {}", "func F(a, b int) {}", ["!F: its signature changed"]),
    "parameter_name": Case("func F(a int) error { return nil }", "func F(b int) (err error) { return nil }", []),
    "variadic": Case("func F(a ...int) {}", "func F(a []int) {}", ["!F: its signature changed"]),
    "byte_is_uint8": Case("func F(byte, rune, interface{}) {}", "func F(uint8, int32, any) {}", []),
    "function_to_variable": Case("func F(int) {}", "var F = func(int) {}", ["+F: it changed from a func to a var"]),
    "variable_to_function": Case("var F = func(int) {}", "func F(int) {}", ["!F: it changed from a var to a func"]),
    "variable_type": Case(
        "var V = 1\nvar W = f()\nfunc f() int { return 1 }", "var V = 1.5\nvar W int", ["!V: its type changed"]
    ),
    "constant_value": Case("const C = 1", "const C = 2", ["!C: its value changed"]),
    "constant_same_value": Case(
        'const (\n\tKB = 1 << (10 * (iota + 1))\n\tMB\n)\nconst S = "a" + "b"\nconst L = len(S)\nconst R = \'a\'\n'
        "const M = ^uint8(1)\nconst F = 1.5e3",
        'const KB, MB = 1024, 1_048_576\nconst S = "ab"\nconst L = 2\nconst R rune = 97\n'
        "const M uint8 = 254\nconst F = 1500.0",
        ["!L: its type changed", "!R: its type changed"],
    ),
    "constant_of_dependency": Case(
        'import "time"\n\nconst T = 2 * time.Second\nconst U = time.Hour',
        'import "time"\n\nconst T = 2 * time.Second\nconst U = 60 * time.Minute',
        ["?U: its value may have changed"],
    ),
    "iota_moved": Case(
        "const (\n\tA = iota\n\tB\n)",
        "const (\n\tZ = iota\n\tA\n\tB\n)",
        ["!A: its value changed", "!B: its value changed", "+Z: added"],
    ),
    "constant_type": Case("const C int64 = 1", "const C = 1", ["!C: its type changed"]),
    "field_added": Case("type T struct{ X int }", "type T struct{ X, Y int }", ["+T.Y: added"]),
    "field_removed": Case("type T struct{ X, y int }", "type T struct{ y string }", ["!T.X: removed"]),
    "field_type": Case("type T struct{ X int }", "type T struct{ X string }", ["!T.X: its type changed"]),
    "field_of_embedded": Case(
        "type inner struct{ X int }\ntype T struct{ inner }", "type other struct{ X int }\ntype T struct{ other }", []
    ),
    "field_of_embedded_removed": Case(
        "type inner struct{ X int }\ntype T struct{ inner }",
        "type inner struct{ x int }\ntype T struct{ inner }",
        ["!T.X: removed"],
    ),
    "comparable": Case("type T struct{ x int }", "type T struct{ x []int }", ["!T: it is no longer comparable"]),
    "unnamed_struct": Case("var V struct{ X int }", "var V struct{ X, Y int }", ["!V: its type changed"]),
    "method_removed": Case(
        "type T int\n\nfunc (T) M() {}\nfunc (*T) P() {}", "type T int", ["!T.M: removed", "!T.P: removed"]
    ),
    "pointer_receiver": Case(
        "type T int\n\nfunc (T) M() {}", "type T int\n\nfunc (*T) M() {}", ["!T.M: it needs a pointer receiver now"]
    ),
    "value_receiver": Case("type T int\n\nfunc (*T) M() {}", "type T int\n\nfunc (T) M() {}", []),
    "method_signature": Case(
        "type T int\n\nfunc (T) M() {}",
        "type T int\n\nfunc (T) M() error { return nil }",
        ["!T.M: its signature changed"],
    ),
    "method_promoted": Case(
        "type inner struct{}\n\nfunc (inner) M() {}\n\ntype T struct{ inner }",
        "type inner struct{}\n\ntype T struct{ inner }",
        ["!T.M: removed"],
    ),
    "method_promoted_signature": Case(
        "type Base struct{}\n\nfunc (Base) M() {}\n\ntype T struct{ Base }\ntype U struct{ Base }",
        "type Base struct{}\n\nfunc (Base) M(int) {}\n\ntype T struct{ Base }\ntype U struct{ Base }",
        ["!Base.M: its signature changed"],
    ),
    "interface_method": Case(
        "type I interface{ M() }",
        "type I interface{ M(); N() }",
        ["!I.N: added to an interface that others may implement"],
    ),
    "interface_method_of_embedded": Case(
        "type I interface{ M() }\ntype J interface{ I }",
        "type I interface{ M(); N() }\ntype J interface{ I }",
        ["!I.N: added to an interface that others may implement"],
    ),
    "closed_interface": Case(
        "type I interface{ M(); m() }", "type I interface{ M(); N(); m() }", ["+I.N: added to an interface"]
    ),
    "interface_closed": Case(
        "type I interface{ M() }",
        "type I interface{ M(); m() }",
        ["!I.m: added, unexported: others can no longer implement the interface"],
    ),
    "no_longer_implements": Case(
        "type T int\n\nfunc (T) m() {}\n\ntype I interface{ m() }",
        "type T int\n\ntype I interface{ m() }",
        ["!T: it no longer implements I"],
    ),
    "wider_number": Case("type T int32", "type T int64", ["+T: it changed from int32 to int64"]),
    "narrower_number": Case("type T int64", "type T int32", ["!T: it changed from int64 to int32"]),
    "channel": Case(
        "type C <-chan int\ntype D chan int",
        "type C chan int\ntype D <-chan int",
        ["!D: its direction changed", "+C: its direction changed"],
    ),
    "kind_of_type": Case("type T struct{}", "type T interface{}", ["!T: its underlying type changed"]),
    "alias_of_renamed": Case("type T struct{ X int }", "type u struct{ X, Y int }\ntype T = u", ["+T.Y: added"]),
    "unexported_renamed": Case("type u1 int\n\nvar V u1", "type u2 int\n\nvar V u2", []),
    "unexported_exposed": Case(
        "type u struct{ X int }\n\nvar V u", "type u struct{ Y int }\n\nvar V u", ["!u.X: removed", "+u.Y: added"]
    ),
    "constraint": Case(
        "func F[T any](T) {}\ntype G[T any] struct{}",
        "func F[T comparable](T) {}\ntype G[T comparable] struct{}",
        ["!F: its signature changed", "!G: its type changed"],
    ),
    "type_set": Case(
        "type N interface{ ~int | ~string }", "type N interface{ ~int }", ["!N: its type set no longer has string"]
    ),
    "type_parameter": Case("type G[T any] struct{ X T }", "type G[K, V any] struct{ X K }", ["!G: its type changed"]),
    "type_parameter_name": Case("type G[T any] struct{ X T }", "type G[E any] struct{ X E }", []),
    "array_length": Case("var V [2]int", "var V [3]int", ["!V: its type changed"]),
    "unknown_dependency": Case(
        'import "absent.example/x"\n\nvar V x.T\nvar W = x.F()\nfunc F(x.T) {}',
        'import "absent.example/x"\n\nvar V x.U\nvar W int\nfunc F(x.T) {}',
        ["!V: its type changed", "?W: its type may have changed"],
    ),
    "recursive": Case(
        "type T struct{ Next *T; I I }\ntype I interface{ M(I) T }",
        "type T struct{ Next *T; I I }\ntype I interface{ M(I) T }",
        [],
    ),
}


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[ApiChange]]:
    root = tmp_path_factory.mktemp("cases")
    git(root, "init", "-q")
    commit(
        root, {"go.mod": "module m\n", **{f"{name}/x.go": source(name, case.before) for name, case in CASES.items()}}
    )
    commit(root, {f"{name}/x.go": source(name, case.after) for name, case in CASES.items()})
    found: dict[str, list[ApiChange]] = {}
    for change in api_changes(root, compared_files(root, Request(revisions="HEAD~..HEAD")), None, lambda _: ()):
        found.setdefault(change.package.removeprefix("m/"), []).append(change)
    return found


def source(name: str, text: str) -> str:
    return f"package {name}\n\n{text}\n"


def shown(changes: list[ApiChange]) -> list[str]:
    marks = {(True, True): "!", (True, False): "?", (False, True): "+"}
    return [f"{marks[one.is_breaking, one.is_certain]}{one.name}: {one.what}" for one in changes]


@pytest.mark.parametrize("name", CASES)
def test_each_change_is_judged_by_the_rules_of_compatibility(name: str, changes: dict[str, list[ApiChange]]) -> None:
    assert shown(changes.get(name, [])) == CASES[name].expected


def compared(root: Path, importers: dict[str, list[str]] | None = None) -> list[ApiChange]:
    known = importers or {}
    files = compared_files(root, Request(revisions="HEAD~..HEAD"))
    return list(api_changes(root, files, None, lambda directory: known.get(directory, [])))


def test_commands_internal_packages_and_tests_are_no_api(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    paths = {"cmd/x.go": "main", "internal/a/x.go": "a", "b/x_test.go": "b", "testdata/c/x.go": "c"}
    text = "package {}\n\nfunc F() {{}}\n"
    commit(tmp_path, {"go.mod": "module m\n", **{path: text.format(name) for path, name in paths.items()}})
    commit(tmp_path, {path: f"package {name}\n" for path, name in paths.items()})
    assert compared(tmp_path) == []


def test_a_package_that_disappears_breaks_and_a_new_one_does_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"go.mod": "module m\n", "a/a.go": "package a\n"})
    commit(tmp_path, {"a/a.go": None, "b/b.go": "package b\n"})
    assert [(one.package, one.what, one.is_breaking) for one in compared(tmp_path)] == [
        ("m/a", "removed", True),
        ("m/b", "added", False),
    ]


def test_a_package_that_embeds_a_changed_type_is_compared_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    base = "package base\n\ntype T struct{}\n\nfunc (T) M() {}\n"
    commit(
        tmp_path,
        {
            "go.mod": "module m\n",
            "internal/base/base.go": base,
            "api/api.go": 'package api\n\nimport "m/internal/base"\n\ntype A struct{ base.T }\n',
            "other/other.go": 'package other\n\nimport "m/internal/base"\n\nvar V = base.T{}\n',
        },
    )
    commit(tmp_path, {"internal/base/base.go": "package base\n\ntype T struct{}\n"})
    importers = {"internal/base": ["api", "other"]}
    assert [one.qualified_name for one in compared(tmp_path, importers)] == ["m/api.A.M"]


def test_declarations_of_the_default_build_are_compared_and_removals_in_others_are_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(
        tmp_path,
        {
            "go.mod": "module m\n",
            "a_linux.go": "package m\n\nfunc F() {}\n",
            "a_windows.go": "package m\n\nfunc F(int) {}\nfunc Registry() {}\n",
            "fuzz.go": "//go:build gofuzz\n\npackage m\n\nfunc Fuzz() {}\n",
        },
    )
    commit(tmp_path, {"a_windows.go": "package m\n\nfunc F(string) {}\n", "fuzz.go": None})
    assert shown(compared(tmp_path)) == ["!Registry: removed"]


def test_a_change_tells_the_declarations_and_the_place(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"go.mod": "module example.com/m\n", "a.go": "package m\n\nfunc F() {}\n"})
    commit(tmp_path, {"a.go": "package m\n\n\nfunc F(n int) {}\n"})
    (one,) = compared(tmp_path)
    assert (one.module, one.before, one.after) == ("example.com/m", "func F()", "func F(n int)")
    assert (one.file, one.line, one.kind) == ("a.go", 4, "func")


def test_the_version_to_raise_follows_from_the_changes() -> None:
    def change(*, is_breaking: bool, is_certain: bool = True) -> ApiChange:
        return ApiChange("m", "m", "F", "func", "changed", is_breaking, is_certain, "", "", "a.go", 1)

    assert bump_for([]) == "patch"
    assert bump_for([change(is_breaking=True, is_certain=False)]) == "patch"
    assert bump_for([change(is_breaking=False)]) == "minor"
    assert bump_for([change(is_breaking=False), change(is_breaking=True)]) == "major"
    assert next_version("v1.4.2", "major") == "v2.0.0"
    assert next_version("v1.4.2", "minor") == "v1.5.0"
    assert next_version("v0.4.2", "major") == "v0.5.0"
    assert next_version("v0.4.2", "patch") == "v0.4.3"
    assert next_version("api/v1.4.2", "minor") == "api/v1.5.0"
    assert next_version("latest", "minor") == ""
