"""The judge's answers on small modules whose truth is known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from golore.graph.errors import ToolchainError
from golore.learner.audit.go_judge import (
    FileDeclarations,
    Toolchain,
    Truth,
    build_judge,
    find_toolchain,
    judge_declarations,
    judge_edges,
)

GO_MOD = "module example.com/m\n\ngo 1.22\n"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def calls(truth: Truth, file: str) -> list[tuple[int, str, str, str]]:
    return [(c.line, c.caller, c.callee, f"{c.callee_file}:{c.callee_line}") for c in truth.calls if c.file == file]


def callees(truth: Truth, file: str) -> list[str]:
    return [call.callee for call in truth.calls if call.file == file]


def implements(truth: Truth) -> set[tuple[str, str, bool]]:
    return {(fact.type_name, fact.interface, fact.pointer) for fact in truth.implements}


def declare(cache: Path, path: Path) -> FileDeclarations:
    return next(iter(judge_declarations([path], cache=cache)))


def test_static_calls_name_caller_callee_and_their_places(tmp_path: Path, cache: Path) -> None:
    source = 'package m\n\nimport "fmt"\n\nfunc F() {\n\tG()\n\tfmt.Println()\n\tfunc() { G() }()\n}\n\nfunc G() {}\n'
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert calls(truth, "m.go") == [
        (6, "example.com/m.F", "example.com/m.G", "m.go:11"),
        (7, "example.com/m.F", "fmt.Println", ":0"),
        (8, "example.com/m.F", "example.com/m.G", "m.go:11"),
    ]
    assert {call.caller_line for call in truth.calls} == {5}


def test_values_conversions_and_builtins_are_no_calls(tmp_path: Path, cache: Path) -> None:
    source = """package m

type T struct{ f func() }

func F(p func(), t T, fs []func()) {
	p()
	t.f()
	fs[0]()
	_ = int64(len("x"))
	_ = T(t)
	v := F
	v(p, t, fs)
}
"""
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert truth.calls == ()
    assert truth.open_sites == ()


def test_methods_are_named_after_the_type_that_declares_them(tmp_path: Path, cache: Path) -> None:
    source = """package m

import "io"

type Base struct{}

func (*Base) Promoted() {}

type Outer struct {
	*Base
	io.Reader
}

type RW interface {
	io.Reader
	Own()
}

func F(o Outer, rw RW, err error) {
	o.Promoted()
	o.Read(nil)
	rw.Read(nil)
	rw.Own()
	_ = err.Error()
	(*Base).Promoted(o.Base)
	(RW).Own(rw)
}
"""
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert callees(truth, "m.go") == [
        "example.com/m.Base.Promoted",
        "io.Reader.Read",
        "io.Reader.Read",
        "example.com/m.RW.Own",
        "error.Error",
        "example.com/m.Base.Promoted",
        "example.com/m.RW.Own",
    ]
    assert [call.kind for call in truth.calls][:2] == ["method", "interface"]


def test_generic_functions_and_methods_are_their_declarations(tmp_path: Path, cache: Path) -> None:
    source = """package m

type List[T any] struct{}

func (l *List[T]) Push(T) {}

type Shape interface{ Area() int }

func Sum[S Shape](shapes ...S) (n int) {
	for _, s := range shapes {
		n += s.Area()
	}
	return n
}

func F(l *List[int], s Shape) {
	l.Push(1)
	Sum[Shape](s)
	Sum(s)
	(Sum[Shape])(s)
}
"""
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert callees(truth, "m.go") == ["example.com/m.Shape.Area", "example.com/m.List.Push", *["example.com/m.Sum"] * 3]


def test_the_initialiser_of_a_package_variable_is_a_caller(tmp_path: Path, cache: Path) -> None:
    source = """package m

var a, b = f()

var (
	_ = g(func() int { return g(0) })
)

func f() (int, int) { return 0, 0 }
func g(any) int     { return 0 }
"""
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert [(call.caller, call.caller_line) for call in truth.calls] == [
        ("example.com/m.a", 3),
        ("example.com/m._", 6),
        ("example.com/m._", 6),
    ]


def test_methods_of_types_without_a_package_level_name_are_counted_not_reported(tmp_path: Path, cache: Path) -> None:
    source = """package m

type S struct{ in interface{ M() } }

func F(s S) {
	type local interface{ N() }
	var l local
	l.N()
	s.in.M()
}
"""
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert truth.calls == ()
    assert [(site.line, site.name) for site in truth.nameless_sites] == [(8, "N"), (9, "M")]
    assert {count.n for count in truth.counts} == {1}


TESTED = {
    "go.mod": GO_MOD,
    "a/a.go": "package a\n\ntype T struct{}\n\nfunc New() T { return T{} }\n",
    "a/export_test.go": "package a\n\nfunc (T) ForTests() {}\n",
    "b/b.go": 'package b\n\nimport "example.com/m/a"\n\nfunc Make() a.T { return a.New() }\n',
    "a/a_test.go": """package a_test

import (
	. "example.com/m/a"
	"example.com/m/b"
)

func use() {
	b.Make().ForTests()
	New()
}
""",
}


def test_external_tests_see_in_package_tests_through_other_packages(tmp_path: Path, cache: Path) -> None:
    truth = judge_edges(write(tmp_path, TESTED), cache=cache)
    assert calls(truth, "a/a_test.go") == [
        (9, "example.com/m/a_test.use", "example.com/m/a.T.ForTests", "a/export_test.go:3"),
        (9, "example.com/m/a_test.use", "example.com/m/b.Make", "b/b.go:5"),
        (10, "example.com/m/a_test.use", "example.com/m/a.New", "a/a.go:5"),
    ]
    assert {file.path: file.errors for file in truth.files} == {name: 0 for name in TESTED if name.endswith(".go")}


def test_a_missing_dependency_leaves_its_calls_open_and_the_rest_judged(tmp_path: Path, cache: Path) -> None:
    source = """package m

import "github.com/absent/dep"

type T struct{ dep.Base }

func F(t T) {
	dep.Do().Then()
	t.Close()
	G()
}

func G() {}
"""
    requires = "require github.com/absent/dep v1.0.0\n"
    root = write(tmp_path, {"go.mod": GO_MOD + requires, "m.go": source})
    truth = judge_edges(root, cache=cache)
    assert callees(truth, "m.go") == ["example.com/m.G"]
    assert {(site.line, site.name) for site in truth.open_sites} == {(8, "Do"), (8, "Then"), (9, "Close")}
    assert [(t.name, t.partial) for t in truth.types] == [("example.com/m.T", True)]
    assert truth.files[0].errors > 0
    assert (root / "go.mod").read_text() == GO_MOD + requires
    assert not (root / "go.sum").exists()


def test_nothing_is_said_to_implement_an_interface_of_which_a_part_is_not_known(tmp_path: Path, cache: Path) -> None:
    source = """package m

import "github.com/absent/dep"

type Whole interface{ Do() }

type Part interface {
	Do()
	dep.More
}

type T struct{}

func (T) Do() {}
"""
    root = write(tmp_path, {"go.mod": GO_MOD + "require github.com/absent/dep v1.0.0\n", "m.go": source})
    truth = judge_edges(root, cache=cache)
    assert [(fact.type_name, fact.interface) for fact in truth.implements] == [
        ("example.com/m.T", "example.com/m.Whole")
    ]
    assert [i.name for i in truth.interfaces if i.partial] == ["example.com/m.Part"]


def test_a_source_root_provides_what_no_module_does(tmp_path: Path, cache: Path) -> None:
    source = 'package m\n\nimport "github.com/absent/dep/v2"\n\nfunc F() { dep.New().Run() }\n'
    root = write(tmp_path / "m", {"go.mod": GO_MOD, "m.go": source})
    library = """package dep

import "strings"

type X struct{ b strings.Builder }

func New() *X { return nil }
func (*X) Run() {}
"""
    gopath = write(tmp_path / "gopath", {"src/github.com/absent/dep/dep.go": library})
    truth = judge_edges(root, gopath=[gopath], cache=cache)
    assert callees(truth, "m.go") == ["github.com/absent/dep/v2.X.Run", "github.com/absent/dep/v2.New"]


def test_a_tree_without_modules_is_named_as_gopath_would(tmp_path: Path, cache: Path) -> None:
    tree = {
        "src/example.com/x/x.go": 'package x\n\nimport "example.com/y"\n\nfunc F() { y.G() }\n',
        "src/example.com/y/y.go": "package y\n\nfunc G() {}\n",
    }
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert callees(truth, "src/example.com/x/x.go") == ["example.com/y.G"]


def test_nested_modules_and_workspaces_are_all_judged(tmp_path: Path, cache: Path) -> None:
    tree = {
        "go.work": "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n",
        "a/go.mod": "module example.com/a\n\ngo 1.22\n",
        "a/a.go": "package a\n\nfunc A() {}\n",
        "b/go.mod": "module example.com/b\n\ngo 1.22\n",
        "b/b.go": 'package b\n\nimport "example.com/a"\n\nfunc B() { a.A() }\n',
        "b/c/go.mod": "module example.com/c\n\ngo 1.22\n",
        "b/c/c.go": "package c\n\nfunc C() { C() }\n",
    }
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert calls(truth, "b/b.go") == [(5, "example.com/b.B", "example.com/a.A", "a/a.go:3")]
    assert callees(truth, "b/c/c.go") == ["example.com/c.C"]


def test_vendored_code_is_used_but_lies_outside(tmp_path: Path, cache: Path) -> None:
    tree = {
        "go.mod": GO_MOD + "\nrequire example.com/v v1.0.0\n",
        "m.go": 'package m\n\nimport "example.com/v"\n\nfunc F() { v.V() }\n',
        "vendor/modules.txt": "# example.com/v v1.0.0\n## explicit; go 1.22\nexample.com/v\n",
        "vendor/example.com/v/v.go": "package v\n\nfunc V() {}\n",
    }
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert calls(truth, "m.go") == [(5, "example.com/m.F", "example.com/v.V", ":0")]
    assert [file.path for file in truth.files] == ["m.go"]


def test_a_nested_module_does_not_see_what_the_outer_one_vendors(tmp_path: Path, cache: Path) -> None:
    tree = {
        "go.mod": GO_MOD + "\nrequire example.com/v v1.0.0\n",
        "m.go": 'package m\n\nimport "example.com/v"\n\nfunc F() { v.V() }\n',
        "vendor/modules.txt": "# example.com/v v1.0.0\n## explicit; go 1.22\nexample.com/v\n",
        "vendor/example.com/v/v.go": "package v\n\nfunc V() {}\n",
        "tool/go.mod": "module example.com/tool\n\ngo 1.22\n\nrequire example.com/v v1.0.0\n",
        "tool/t.go": 'package tool\n\nimport "example.com/v"\n\nfunc T() { v.V(); T() }\n',
    }
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert callees(truth, "m.go") == ["example.com/v.V"]
    assert callees(truth, "tool/t.go") == ["example.com/tool.T"]


def test_implements_is_exact_by_signature_and_tells_pointers_apart(tmp_path: Path, cache: Path) -> None:
    source = """package m

import "io"

type Value struct{}

func (Value) Read(p []byte) (int, error) { return 0, nil }

type Pointer struct{}

func (*Pointer) Read(p []byte) (int, error) { return 0, nil }

type Promoted struct{ io.Reader }

type Wrong struct{}

func (Wrong) Read(p []string) (int, error) { return 0, nil }

type Own interface {
	io.Reader
}

type Constraint interface {
	~int
	Read([]byte) (int, error)
}

type Failure string

func (Failure) Error() string { return "" }
"""
    truth = judge_edges(write(tmp_path, {"go.mod": GO_MOD, "m.go": source}), cache=cache)
    assert implements(truth) == {
        (f"example.com/m.{name}", interface, name == "Pointer")
        for name in ("Value", "Pointer", "Promoted")
        for interface in ("io.Reader", "example.com/m.Own")
    } | {("example.com/m.Failure", "error", False)}


def test_implements_holds_between_a_test_and_a_package_that_imports_the_tested_one(tmp_path: Path, cache: Path) -> None:
    tree = TESTED | {
        "b/b.go": 'package b\n\nimport "example.com/m/a"\n\ntype Taker interface{ Take(a.T) }\n',
        "a/a_test.go": "package a\n\ntype fake struct{}\n\nfunc (fake) Take(T) {}\n",
    }
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert ("example.com/m/a.fake", "example.com/m/b.Taker", False) in implements(truth)


def test_broken_syntax_is_marked_and_does_not_stop_the_rest(tmp_path: Path, cache: Path) -> None:
    tree = {"go.mod": GO_MOD, "bad.go": "package m\n\nfunc F( {\n", "good.go": "package m\n\nfunc G() { G() }\n"}
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert {file.path: file.broken for file in truth.files} == {"bad.go": True, "good.go": False}
    assert callees(truth, "good.go") == ["example.com/m.G"]


def test_files_of_another_build_configuration_are_not_judged(tmp_path: Path, cache: Path) -> None:
    tree = {
        "go.mod": GO_MOD,
        "m.go": "package m\n",
        "m_plan9.go": "package m\n",
        "x.go": "//go:build never\n\npackage m\n",
    }
    truth = judge_edges(write(tmp_path, tree), cache=cache)
    assert [file.path for file in truth.files] == ["m.go"]


DECLARATIONS = """// Package p is documented.
package p

import (
	"io"
	. "fmt"
)

// Group doc.
const (
	// One is first.
	One, Two = iota, iota // trailing
)

// V is a variable.
var V, w io.Reader

// T holds things.
type T[K comparable] struct {
	// A is a field.
	A, b int `json:"a"`
	*io.LimitedReader
	nested struct{ hidden int }
}

type I interface {
	// M does.
	M(x int) (err error)
	io.Reader
	~int | ~string
}

type (
	Alias = T[string]
	Func  func(int) string
)

// Do acts.
//
//go:noinline
func (t *T[K]) Do(a, b int, rest ...string) (n int, err error) { Println(); return }

func init() {}
"""


def test_declarations_are_those_of_the_parser(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "p.go"
    path.write_text(DECLARATIONS)
    found = declare(cache, path)
    assert (found.package, found.error) == ("p", "")
    assert [(i.name, i.path, i.line) for i in found.imports] == [("", "io", 5), (".", "fmt", 6)]
    assert [(d.kind, d.owner or d.receiver, d.name, d.line) for d in found.declarations] == [
        ("const", "", "One", 12),
        ("const", "", "Two", 12),
        ("var", "", "V", 16),
        ("var", "", "w", 16),
        ("struct", "", "T", 19),
        ("field", "T", "A", 21),
        ("field", "T", "b", 21),
        ("field", "T", "LimitedReader", 22),
        ("field", "T", "nested", 23),
        ("field", "T.nested", "hidden", 23),
        ("interface", "", "I", 26),
        ("imethod", "I", "M", 28),
        ("embed", "I", "io.Reader", 29),
        ("embed", "I", "~int | ~string", 30),
        ("alias", "", "Alias", 34),
        ("type", "", "Func", 35),
        ("method", "T", "Do", 41),
        ("func", "", "init", 43),
    ]
    assert all(DECLARATIONS[d.start : d.end] == d.name for d in found.declarations)


def test_declarations_carry_docs_and_signatures_as_go_prints_them(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "p.go"
    path.write_text(DECLARATIONS)
    by_name = {d.name: d for d in declare(cache, path).declarations}
    assert {name: d.doc for name, d in by_name.items() if d.doc} == {
        "One": "One is first.\n",
        "Two": "One is first.\n",
        "V": "V is a variable.\n",
        "w": "V is a variable.\n",
        "T": "T holds things.\n",
        "A": "A is a field.\n",
        "b": "A is a field.\n",
        "M": "M does.\n",
        "Do": "Do acts.\n",
    }
    assert by_name["Do"].signature == "func (t *T[K]) Do(a, b int, rest ...string) (n int, err error)"
    assert by_name["M"].signature == "M(x int) (err error)"
    assert by_name["T"].signature == "type T[K comparable] struct"
    assert by_name["I"].signature == "type I interface"
    assert by_name["Alias"].signature == "type Alias = T[string]"
    assert by_name["Func"].signature == "type Func func(int) string"
    assert by_name["A"].tag == '`json:"a"`'
    assert by_name["LimitedReader"].embedded
    assert by_name["LimitedReader"].signature == "*io.LimitedReader"
    assert {name for name, d in by_name.items() if d.exported} >= {"One", "V", "T", "A", "M", "Do"}


def test_declarations_of_a_broken_file_come_with_the_error(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "p.go"
    path.write_text("package p\n\nfunc Good() {}\n\nfunc Bad( {\n")
    found = declare(cache, path)
    assert "p.go:5" in found.error
    assert found.declarations[0].name == "Good"


def test_declarations_of_an_absent_file_are_an_error_in_the_answer(tmp_path: Path, cache: Path) -> None:
    found = declare(cache, tmp_path / "absent.go")
    assert "absent.go" in found.error
    assert found.declarations == ()


def test_the_judge_is_built_once_per_toolchain(tmp_path: Path) -> None:
    toolchain = find_toolchain()
    program = build_judge(toolchain, tmp_path)
    built = program.stat().st_mtime_ns
    assert build_judge(toolchain, tmp_path).stat().st_mtime_ns == built
    assert [path.name for path in program.parent.iterdir()] == [program.name]


def test_a_missing_root_is_a_clear_error(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ToolchainError, match="no such file or directory"):
        judge_edges(tmp_path / "absent", cache=cache)


def test_a_go_command_that_cannot_build_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="failed"):
        build_judge(Toolchain(sys.executable, "go version nothing"), tmp_path)


def test_the_toolchain_of_goroot_comes_first() -> None:
    found = find_toolchain()
    goroot = Path(found.go).resolve().parent.parent
    assert find_toolchain({"GOROOT": str(goroot), "PATH": ""}).go == str(goroot / "bin" / Path(found.go).name)
