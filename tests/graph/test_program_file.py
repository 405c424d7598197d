"""The program file gives the same choice of tests as the graph itself, also after the graph has changed."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
from golore.graph.changes import program_builder
from golore.graph.changes.part import with_reads
from golore.graph.changes.program import Program
from golore.graph.changes.program_builder import (
    build_ahead,
    is_program_due,
    make_program_files,
    start_program_build,
)
from golore.graph.changes.program_file import open_program_file
from golore.graph.changes.running import run_from
from golore.graph.changes.test_selection import ChosenTest, select_tests
from golore.graph.database.store import Store
from golore.graph.files.store_path import PROGRAM_NAME
from golore.graph.queries import adjacency_file
from golore.graph.queries.edges import symbols_where
from golore.graph.queries.symbol_steps import open_steps
from golore.learner.pipeline.graph_step import learn_graph

FILES = {
    "go.mod": "module m\n\ngo 1.22\n",
    "zoo/zoo.go": """package zoo

import (
	"fmt"
	"sort"
)

type Animal interface{ Sound() string }

type Walker interface {
	Animal
	Walk() int
}

type base struct{}

func (base) Walk() int { return steps() }

type Dog struct{ base }

func (Dog) Sound() string { return bark() }

type Cat struct{ base }

func (Cat) Sound() string { return meow() }

func (c Cat) String() string { return meow() }

func (Cat) Unwrap() error { return nil }

func bark() string { return limit.name }

func meow() string { return "meow" }

func steps() int { return 4 }

type limits struct{ name string }

var limit limits

func init() { setLimit() }

func setLimit() { limit = limits{name: pick()} }

func pick() string { return "woof" }

func All(animals ...Animal) (sounds []string) {
	for _, one := range animals {
		sounds = append(sounds, one.Sound())
	}
	return sounds
}

func Walked(one Walker) int { return one.Walk() }

func Inner(one any) error {
	if wrapped, ok := one.(interface{ Unwrap() error }); ok {
		return wrapped.Unwrap()
	}
	return nil
}

type byName []string

func (b byName) Len() int           { return len(b) }
func (b byName) Less(i, j int) bool { return less(b[i], b[j]) }
func (b byName) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func less(a, b string) bool { return a < b }

func Sorted(names []string) { sort.Sort(byName(names)) }

func Printed(one any) { fmt.Println(one) }

func Even(n int) bool { return n == 0 || Odd(n-1) }

func Odd(n int) bool { return n != 0 && Even(n-1) }

type Keeper struct{ feed func() string }

func NewKeeper() *Keeper { return &Keeper{feed: func() string { return food() }} }

func food() string { return "fish" }

func (k *Keeper) Feed() string { return k.feed() }

var hooks = map[string]func() int{}

func Hook() { hooks["one"] = func() int { return hooked() } }

func hooked() int { return 1 }

func RunHooks() int { return hooks["one"]() }
""",
    "zoo/zoo_test.go": """package zoo

import "testing"

func TestDog(t *testing.T) { All(Dog{}) }

func TestCat(t *testing.T) { All(Cat{}) }

func TestWalk(t *testing.T) { Walked(Dog{}) }

func TestInner(t *testing.T) { Inner(Cat{}) }

func TestSorted(t *testing.T) { Sorted(nil) }

func TestPrinted(t *testing.T) { Printed(Cat{}) }

func TestEven(t *testing.T) { Even(2) }

func TestBark(t *testing.T) { bark() }

func TestNothing(t *testing.T) {}

func TestKeeper(t *testing.T) { NewKeeper() }

func TestFed(t *testing.T) { NewKeeper().Feed() }

func TestHook(t *testing.T) { Hook() }

func TestRunHooks(t *testing.T) { Hook(); RunHooks() }
""",
    "user/user.go": 'package user\n\nimport "m/zoo"\n\nfunc Use() bool { return zoo.Odd(1) }\n',
    "user/user_test.go": 'package user\n\nimport "testing"\n\nfunc TestUse(t *testing.T) { Use() }\n',
}
EDITS = (
    ("zoo/zoo.go", 'func meow() string { return "meow" }', "func meow() string { return bark() }"),
    ("zoo/zoo.go", "func (Dog) Sound() string { return bark() }", "func (*Dog) Sound() string { return bark() }"),
    ("zoo/zoo.go", "type Cat struct{ base }", "type Cat struct{}"),
    ("zoo/zoo.go", "func init() { setLimit() }", "func init() { Printed(Dog{}) }"),
    (
        "zoo/zoo.go",
        "func init() { setLimit() }",
        "func start() { setLimit() }\n\nfunc init() { start(); less(pick(), pick()) }",
    ),
    ("zoo/zoo.go", "return n == 0 || Odd(n-1)", "return n == 0"),
    ("zoo/zoo.go", "return n == 0 || Odd(n-1)", "return n == 0 || Odd(n-steps())"),
    ("zoo/zoo.go", "func (Cat) Unwrap() error { return nil }", "func (Cat) Unwrap(int) error { return nil }"),
    ("zoo/zoo.go", "interface{ Unwrap() error }", "interface{ String() string; Unwrap() error }"),
    ("zoo/zoo.go", "func bark() string { return limit.name }", "var bark = func() string { return limit.name }"),
    ("zoo/zoo.go", "func steps() int { return 4 }", "func steps() int { Printed(Cat{}); return 4 }"),
    ("zoo/zoo.go", "func Walked(one Walker) int { return one.Walk() }", "func Walked(one Walker) int { return 0 }"),
    ("zoo/zoo.go", "func less(a, b string) bool { return a < b }\n", ""),
    ("zoo/zoo_test.go", "func TestNothing(t *testing.T) {}", "func TestNothing(t *testing.T) { Sorted(nil) }"),
    ("zoo/zoo_test.go", "func TestBark(", "func TestBarking("),
    ("user/user.go", "return zoo.Odd(1)", "return len(zoo.All(zoo.Cat{})) > 1"),
    (
        "user/more.go",
        "",
        'package user\n\nimport "m/zoo"\n\ntype Fox struct{ zoo.Cat }\n\nvar fox zoo.Animal = Fox{}\n',
    ),
    ("zoo/zoo.go", "return k.feed()", 'return ""'),
    ("zoo/zoo.go", "feed: func() string { return food() }", "feed: food"),
    ("zoo/zoo.go", "struct{ name string }", "struct{ name string; say func() string }"),
    ("zoo/zoo.go", "limits{name: pick()}", "limits{name: pick(), say: func() string { return meow() }}"),
    ("zoo/zoo.go", 'hooks["one"]()', "0"),
    ("zoo/zoo.go", "func bark() string { return limit.name }", "func bark() string { hooks = nil; return limit.name }"),
    ("user/user_test.go", "{ Use() }", "{ Use(); zoo.Walked(nil) }"),
)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    learn_graph(tmp_path, workers=0)
    return tmp_path


@contextmanager
def opened(root: Path) -> Generator[Store]:
    with Store.open(root / ".golore", write=False) as store:
        yield store


def choices(root: Path) -> dict[str, tuple[ChosenTest, ...]]:
    """The tests that are chosen for each declaration."""
    with opened(root) as store:
        return {one.id: select_tests(store, [one], benchmarks=True).tests for one in symbols_where(store, "true")}


def choices_without_files(root: Path) -> dict[str, tuple[ChosenTest, ...]]:
    kept: dict[Path, bytes] = {}
    for name in (adjacency_file.FILE_NAME, PROGRAM_NAME):
        path = root / ".golore" / name
        kept[path] = path.read_bytes()
        path.unlink()
    try:
        return choices(root)
    finally:
        for path, content in kept.items():
            path.write_bytes(content)


def test_the_file_gives_the_same_choice_as_the_graph(root: Path) -> None:
    before = choices(root)
    assert make_program_files(root / ".golore")
    with opened(root) as store:
        assert not is_program_due(store)
    assert choices(root) == before
    assert any(before.values())


def test_the_parts_of_the_file_are_those_of_the_graph(root: Path) -> None:
    assert make_program_files(root / ".golore")
    with opened(root) as store:
        steps = open_steps(store)
        program = Program(store, steps)
        assert steps.adjacency is not None
        file = open_program_file(store.directory, store.generation)
        assert file is not None
        awaited = file.awaited()
        assert awaited
        for number in range(steps.adjacency.symbols):
            stored, read = program.part(number), with_reads(program.read_part(number), awaited)
            assert [*map(list, stored[:6])] == [*map(list, read[:6])]
            assert (*stored[6:8], [*stored.awaits]) == (*read[6:8], [*read.awaits])
            assert [*program.initialisers(number)] == [*program.find_initialisers(number)]
            assert program.role(number) == program.read_role(number)
        assert program.unnamed_methods() == program.read_unnamed()


@pytest.mark.parametrize("seed", range(3))
def test_after_edits_the_file_still_gives_the_same_choice_as_the_graph(root: Path, seed: int) -> None:
    assert make_program_files(root / ".golore")
    for file, old, new in random.Random(seed).sample(EDITS, 5):
        path = root / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(text.replace(old, new, 1) if old else new, encoding="utf-8")
        learn_graph(root, workers=0)
        with opened(root) as store:
            assert not is_program_due(store)
        assert choices(root) == choices_without_files(root), (file, old, new)


def test_tests_that_are_followed_together_reach_what_each_reaches_alone(root: Path) -> None:
    assert make_program_files(root / ".golore")
    with opened(root) as store:
        program = Program(store, open_steps(store))
        tests = [program.steps.number(test) for test in program.tests()]
        for symbol in symbols_where(store, "NOT s.file ENDS WITH '_test.go'"):
            goals = program.goals([program.steps.number(symbol)])
            alone = {at for at, test in enumerate(tests) if run_from(program, [[test]], goals, 1_000).found}
            assert run_from(program, [[test] for test in tests], goals, 1_000).found == alone


def test_what_was_not_followed_to_the_end_is_unknown(root: Path) -> None:
    assert make_program_files(root / ".golore")
    with opened(root) as store:
        program = Program(store, open_steps(store))
        tests = [[program.steps.number(test)] for test in program.tests() if test.name in ("TestDog", "TestWalk")]
        (goal,) = symbols_where(store, "s.name = 'less'")
        goals = program.goals([program.steps.number(goal)])
        assert run_from(program, tests, goals, 1).unknown == {0, 1}
        assert run_from(program, tests, goals, 1_000).unknown == frozenset()


@pytest.mark.parametrize("content", [b"", b"golore", b"something else altogether, and long enough to be read as one"])
def test_a_damaged_file_is_as_none_and_is_built_again(root: Path, content: bytes) -> None:
    assert make_program_files(root / ".golore")
    before = choices(root)
    (root / ".golore" / PROGRAM_NAME).write_bytes(content)
    with opened(root) as store:
        assert open_program_file(root / ".golore", store.generation) is None
        assert is_program_due(store)
    assert choices(root) == before
    assert make_program_files(root / ".golore")
    with opened(root) as store:
        assert open_program_file(root / ".golore", store.generation) is not None


def test_the_files_are_made_by_a_process_of_its_own_and_not_while_somebody_writes(root: Path) -> None:
    with Store.open(root / ".golore", write=True):
        assert start_program_build(root / ".golore").wait(60) == 1
    assert start_program_build(root / ".golore").wait(60) == 0
    with opened(root) as store:
        assert not is_program_due(store)


def test_a_small_repository_does_not_pay_for_files_that_nobody_asked_for(root: Path) -> None:
    with opened(root) as store:
        assert is_program_due(store)
        assert build_ahead(store, 1_999) is None


def test_after_few_changes_the_graph_is_not_opened_to_find_out_whether_files_are_due(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(return_value=False)
    with opened(root) as store:
        with monkeypatch.context() as patched:
            patched.setattr(program_builder, "is_program_due", asked)
            build_ahead(store, 2_000, 5)
        assert asked.called  # there is no file yet
        assert make_program_files(root / ".golore")
        asked.reset_mock()
        monkeypatch.setattr(program_builder, "is_program_due", asked)
        build_ahead(store, 2_000, 5)
        assert not asked.called
        build_ahead(store, 2_000, 5_000)
        build_ahead(store, 2_000)
        assert asked.call_count == 2
