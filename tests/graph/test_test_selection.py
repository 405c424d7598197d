"""Which tests are chosen for a changed declaration: all that can run it, and no others that the graph can exclude."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from golore.graph.changes.change_set import OtherChanges
from golore.graph.changes.test_commands import test_commands as commands_for
from golore.graph.changes.test_selection import select_tests
from golore.graph.database.store import Store
from golore.graph.queries.adjacency_builder import make_adjacency
from golore.graph.queries.edges import symbols_where
from golore.learner.pipeline.graph_step import learn_graph

FILES = {
    "go.mod": "module m\n\ngo 1.22\n",
    "shape/shape.go": """package shape

import "sort"

type Shape interface{ Area() int }

type Square struct{ Side int }

func (s Square) Area() int { return scaled(s.Side * s.Side) }

type Circle struct{ Radius int }

func (c Circle) Area() int { return c.Radius * 3 }

func (c Circle) String() string { return named("circle") }

func scaled(n int) int { return n * factor }

const factor = 1

func named(s string) string { return s }

func Sum(all ...Shape) int {
	total := 0
	for _, one := range all {
		total += one.Area()
	}
	return total
}

func Measure(s Shape) func() int { return s.Area }

func IsSquare(s Shape) bool {
	_, ok := s.(Square)
	return ok
}

type bySide []Square

func (b bySide) Len() int           { return len(b) }
func (b bySide) Less(i, j int) bool { return b[i].Side < b[j].Side }
func (b bySide) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func Sort(all []Square) { sort.Sort(bySide(all)) }

func Apply(f func(int) int, n int) int { return f(n) }

func Twice(n int) int { return n * 2 }

var registry = map[string]func() int{}

func Register(name string, make func() int) { registry[name] = make }

func Made(name string) int { return registry[name]() }

func init() { Register("one", one) }

func one() int { return 1 }

var table = filled()

func filled() []int { return []int{1} }

func First() int { return table[0] }
""",
    "shape/shape_test.go": """package shape

import (
	"fmt"
	"testing"
)

func TestSquare(t *testing.T) { check(t, Sum(Square{2}), 4) }

func TestCircle(t *testing.T) { check(t, Sum(Circle{1}), 3) }

func TestPrinted(t *testing.T) { fmt.Println(Circle{1}) }

func TestSort(t *testing.T) { Sort(nil) }

func TestApply(t *testing.T) { check(t, Apply(Twice, 1), 2) }

func TestMade(t *testing.T) { check(t, Made("one"), 1) }

func TestNamed(t *testing.T) { IsSquare(Circle{1}); Sum(Circle{1}) }

func TestMeasure(t *testing.T) { Measure(Circle{1})() }

func TestNothing(t *testing.T) {}

func ExampleFirst() { First() }

func FuzzTwice(f *testing.F) { Twice(1) }

func BenchmarkTwice(b *testing.B) { Twice(1) }

func check(t *testing.T, got, want int) {}
""",
    "user/user.go": 'package user\n\nimport "m/shape"\n\nfunc Use() int { return shape.Twice(1) }\n',
    "user/user_test.go": 'package user\n\nimport "testing"\n\nfunc TestUse(t *testing.T) { Use() }\n',
    "main/main_test.go": """package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { setUp(); os.Exit(m.Run()) }

func setUp() {}

func TestA(t *testing.T) {}

func TestB(t *testing.T) {}
""",
    "main/main.go": "package main\n\nfunc main() {}\n",
    "tagged/tagged.go": "package tagged\n\nfunc F() {}\n",
    "tagged/tagged_test.go": """//go:build integration

package tagged

import "testing"

func TestF(t *testing.T) { F() }
""",
    "stored/stored.go": """package stored

import (
	"io/fs"
	"os"
	"text/template"
)

type codec struct{ encode, decode func() int }

func newCodec() *codec {
	c := &codec{encode: func() int { return encoded() }}
	c.decode = decoded
	return c
}

func encoded() int { return 1 }

func decoded() int { return 2 }

func Encode() int { return newCodec().encode() }

func Decode() int {
	c := newCodec()
	f := c.decode
	return f()
}

var table = map[string]func() int{"a": func() int { return entry() }}

func entry() int { return 1 }

func Look() int { return table["a"]() }

var onEncode, onDecode func() int

func init() {
	onEncode = func() int { return noticed() }
	onDecode = other
}

func noticed() int { return 1 }

func other() int { return 2 }

func Notify() int { return onEncode() }

type File struct{ fs.File }

func (File) Stat() (fs.FileInfo, error) { return nil, os.ErrInvalid }

func Open(name string) fs.File {
	os.Remove(name)
	return File{}
}

type Page struct{ Title func() string }

func newPage() Page { return Page{Title: func() string { return titled() }} }

func titled() string { return "" }

func Render() { template.New("").Execute(nil, Page(newPage())) }

func Show() Page { return newPage() }

func Describe() string { return fs.FormatFileInfo(info(Open("x"))) }

func info(fs.File) fs.FileInfo { return nil }
""",
    "stored/stored_test.go": """package stored

import "testing"

func TestEncode(t *testing.T) { Encode() }

func TestDecode(t *testing.T) { Decode() }

func TestLook(t *testing.T) { Look() }

func TestNotify(t *testing.T) { Notify() }

func TestOpen(t *testing.T) { Open("x") }

func TestRender(t *testing.T) { Render() }

func TestShow(t *testing.T) { Show() }

func TestDescribe(t *testing.T) { Describe() }
""",
    "inner/go.mod": "module m/inner\n",
    "inner/deep/deep.go": "package deep\n\nfunc G() {}\n",
    "inner/deep/deep_test.go": 'package deep\n\nimport "testing"\n\nfunc TestG(t *testing.T) { G() }\n',
}
ALL_OF_SHAPE = {
    *"TestSquare TestCircle TestPrinted TestSort TestApply TestMade TestMeasure TestNamed TestNothing".split(),
    "ExampleFirst",
    "FuzzTwice",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root = tmp_path_factory.mktemp("selected")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as opened:
        yield opened


def chosen(store: Store, *names: str, benchmarks: bool = False) -> list[str]:
    changed = symbols_where(store, "s.qualified_name IN $names", names=list(names))
    assert changed
    return [test.symbol.name for test in select_tests(store, changed, benchmarks=benchmarks).tests]


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("m/shape.scaled", {"TestSquare"}),
        ("m/shape.factor", {"TestSquare"}),
        ("m/shape.Square.Area", {"TestSquare"}),
        ("m/shape.Circle.Area", {"TestCircle", "TestMeasure", "TestNamed"}),
        ("m/shape.Square", {"TestSquare", "TestSort", "TestNamed"}),
        ("m/shape.Sum", {"TestSquare", "TestCircle", "TestNamed"}),
        ("m/shape.named", {"TestPrinted"}),
        ("m/shape.bySide.Less", {"TestSort"}),
        ("m/shape.Twice", {"TestApply", "FuzzTwice", "TestUse"}),
        ("m/shape.one", {"TestMade"}),
        ("m/shape.Made", {"TestMade"}),
        ("m/shape.table", {"ExampleFirst"}),
        ("m/shape.check", {"TestSquare", "TestCircle", "TestApply", "TestMade"}),
        ("m/stored.encoded", {"TestEncode"}),
        ("m/stored.decoded", {"TestDecode"}),
        ("m/stored.newCodec", {"TestEncode", "TestDecode"}),
        ("m/stored.entry", {"TestLook"}),
        ("m/stored.noticed", {"TestNotify"}),
        ("m/stored.other", set[str]()),
        ("m/stored.File.Stat", {"TestDescribe"}),
        ("m/stored.titled", {"TestRender"}),
    ],
)
def test_the_tests_that_can_run_a_declaration_are_chosen(store: Store, name: str, tests: set[str]) -> None:
    assert set(chosen(store, name)) == tests


@pytest.mark.parametrize("name", ["m/shape.Register", "m/shape.init", "m/shape.filled"])
def test_what_runs_before_tests_concerns_all_tests_of_the_packages_that_import_it(store: Store, name: str) -> None:
    assert set(chosen(store, name)) == ALL_OF_SHAPE | {"TestUse"}


def test_what_test_main_runs_concerns_all_tests_of_its_package(store: Store) -> None:
    assert set(chosen(store, "m/main.setUp")) == {"TestA", "TestB"}


def test_benchmarks_are_chosen_on_request(store: Store) -> None:
    assert "BenchmarkTwice" in chosen(store, "m/shape.Twice", benchmarks=True)


def test_the_nearest_tests_come_first_and_those_of_the_package_before_others(store: Store) -> None:
    assert chosen(store, "m/shape.Twice") == ["TestApply", "FuzzTwice", "TestUse"]


def test_other_files_concern_the_tests_of_a_package_and_what_is_built_also_those_that_import_it(store: Store) -> None:
    tested = select_tests(store, [], OtherChanges(tested=("user",)))
    assert [test.symbol.name for test in tested.tests] == ["TestUse"]
    built = select_tests(store, [], OtherChanges(built=("shape",)))
    assert {test.symbol.name for test in built.tests} == ALL_OF_SHAPE | {"TestUse"}


def test_the_adjacency_file_gives_the_same_answers(store: Store) -> None:
    names = ["m/shape.scaled", "m/shape.named", "m/shape.one", "m/shape.filled", "m/main.setUp"]
    before = [chosen(store, name) for name in names]
    assert make_adjacency(store.directory)
    assert [chosen(store, name) for name in names] == before


def test_commands_have_a_pattern_tags_and_the_directory_of_another_module(store: Store) -> None:
    def lines(name: str) -> tuple[str, ...]:
        changed = symbols_where(store, "s.qualified_name = $name", name=name)
        return commands_for(store, [test.symbol for test in select_tests(store, changed, benchmarks=True).tests])

    assert lines("m/shape.Twice") == (
        "go test ./shape -run '^(FuzzTwice|TestApply)$'",
        "go test ./shape -run '^$' -bench '^BenchmarkTwice$'",
        "go test ./user",
    )
    assert lines("m/shape.scaled") == ("go test ./shape -run '^TestSquare$'",)
    assert lines("m/tagged.F") == ("go test -tags=integration ./tagged",)
    assert lines("m/inner/deep.G") == ("go -C inner test ./deep",)
