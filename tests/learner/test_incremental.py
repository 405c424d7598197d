"""After any change the updated store equals one that is learned anew, and the work done follows the change."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.learner.checkout.freshness import changes_since
from golore.learner.pipeline.graph_step import Report, learn_graph
from golore.learner.pipeline.incremental import IncrementalLearner
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.learned_tree import Tree, differences, exported

SHAPE = """package shape

import "example.com/m/unit"

type Shape interface {
	Area() unit.Meters
}

type Square struct{ side unit.Meters }

func (s Square) Area() unit.Meters { return s.side.Times(s.side) }
"""
UNIT = """package unit

type Meters int

func (m Meters) Times(other Meters) Meters { return m * other }

func Zero() Meters { return 0 }
"""
MAIN = """package main

import (
	"fmt"

	"example.com/m/shape"
)

func main() {
	var s shape.Shape = shape.Square{}
	fmt.Println(s.Area().Times(2))
	report(s)
}

func report(s shape.Shape) { fmt.Println(s.Area()) }
"""
TEST = """package shape

import "testing"

func TestArea(t *testing.T) {
	if (Square{}).Area() != 0 {
		t.Fatal("area")
	}
}
"""
HELPED_TEST = """package shape

import "testing"

func TestHelped(t *testing.T) { mustMeasure(t, Square{}) }
"""
HELPER = """package shape

import "testing"

func mustMeasure(t *testing.T, s Square) {
	t.Helper()
	measure(s)
}

func measure(s Square) {}
"""
OTHER = """package other

func Alone() {}

type Nested struct{ a struct{ b struct{ c int } } }

func stop(v any) { v.(interface{ Stop() }).Stop() }
"""
FILES = {
    "go.mod": "module example.com/m\n\ngo 1.22\n",
    "main.go": MAIN,
    "shape/shape.go": SHAPE,
    "shape/shape_test.go": TEST,
    "shape/helped_test.go": HELPED_TEST,
    "shape/helper_test.go": HELPER,
    "unit/unit.go": UNIT,
    "other/other.go": OTHER,
}


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("learned"))
    for name, text in FILES.items():
        made.write(name, text)
    made.learn()
    return made


@pytest.fixture
def tree(learned: Tree, tmp_path: Path) -> Tree:
    """The learned repository, to be changed."""
    shutil.copytree(learned.directory, tmp_path, dirs_exist_ok=True)
    return Tree(tmp_path)


def move(tree: Tree, old: str, new: str) -> None:
    (tree.root / new).parent.mkdir(parents=True, exist_ok=True)
    (tree.root / old).rename(tree.root / new)


CHANGES: dict[str, Callable[[Tree], object]] = {
    "a body is edited": lambda t: t.edit("shape/shape.go", "s.side.Times(s.side)", "unit.Zero()"),
    "a body of a leaf package is edited": lambda t: t.edit("unit/unit.go", "m * other", "Zero() + m"),
    "a helper of tests is edited": lambda t: t.edit(
        "shape/helper_test.go", "measure(s Square) {}", "measure(s Square) { s.Area() }"
    ),
    "a helper of tests is called no more": lambda t: t.edit("shape/helped_test.go", "mustMeasure(t, Square{})", ""),
    "documentation of a package appears": lambda t: t.edit(
        "unit/unit.go", "package unit", "// Package unit.\npackage unit"
    ),
    "something outside is used for the first time": lambda t: t.edit(
        "main.go", "fmt.Println(s.Area())", 'fmt.Printf("%d", s.Area())'
    ),
    "something outside is used no more": lambda t: t.edit("main.go", "fmt.Println", "println"),
    "lines move": lambda t: t.edit("shape/shape.go", "type Shape", "\n\n// Shape has an area.\ntype Shape"),
    "a comment is added": lambda t: t.edit("unit/unit.go", "func Zero", "// Zero is nothing.\nfunc Zero"),
    "a result type changes": lambda t: t.edit("unit/unit.go", "Times(other Meters) Meters", "Times(other Meters) int"),
    "a method is renamed": lambda t: t.edit("unit/unit.go", ") Times(", ") Multiply("),
    "an interface grows": lambda t: t.edit(
        "shape/shape.go", "Area() unit.Meters\n}", "Area() unit.Meters\n\tName() string\n}"
    ),
    "a type begins to implement error": lambda t: t.edit(
        "unit/unit.go", "func Zero", 'func (m Meters) Error() string { return "" }\n\nfunc Zero'
    ),
    "a receiver becomes a pointer": lambda t: t.edit("shape/shape.go", "(s Square) Area", "(s *Square) Area"),
    "a file is added": lambda t: t.write("shape/circle.go", "package shape\n\ntype Circle struct{ Square }\n"),
    "a twin is added": lambda t: t.write("unit/unit_windows.go", "package unit\n\nfunc Zero() Meters { return 1 }\n"),
    "a package is added": lambda t: t.write(
        "deep/er/er.go", 'package er\n\nimport "example.com/m/unit"\n\nvar Z = unit.Zero()\n'
    ),
    "an import becomes missing": lambda t: shutil.rmtree(t.root / "unit"),
    "a test is deleted": lambda t: (t.root / "shape/shape_test.go").unlink(),
    "the last file is deleted": lambda t: (t.root / "main.go").unlink(),
    "a file is renamed": lambda t: move(t, "shape/shape.go", "shape/form.go"),
    "a file moves to another package": lambda t: move(t, "other/other.go", "another/other.go"),
    "a package is renamed": lambda t: t.edit("unit/unit.go", "package unit", "package units"),
    "syntax breaks": lambda t: t.edit("shape/shape.go", "func (s Square)", "func (s Square"),
    "a build tag appears": lambda t: t.edit("unit/unit.go", "package unit", "//go:build windows\n\npackage unit"),
    "the module is renamed": lambda t: t.edit("go.mod", "example.com/m", "example.com/renamed"),
    "a nested module cuts a package off": lambda t: t.write("unit/go.mod", "module example.com/unit\n\ngo 1.22\n"),
    "a new module is added": lambda t: (
        t.write("tools/go.mod", "module example.com/tools\n\ngo 1.22\n"),
        t.write("tools/t.go", "package tools\n\nfunc T() { T() }\n"),
    ),
    "a vendored dependency appears": lambda t: (
        t.write("go.mod", FILES["go.mod"] + "\nrequire example.com/dep v1.0.0\n"),
        t.write("vendor/modules.txt", "# example.com/dep v1.0.0\n## explicit; go 1.22\nexample.com/dep\n"),
        t.write("vendor/example.com/dep/dep.go", "package dep\n\ntype Shape interface{ Area() int }\n\nfunc Do() {}\n"),
        t.write("other/other.go", 'package other\n\nimport "example.com/dep"\n\nfunc Alone() { dep.Do() }\n'),
    ),
    "a file becomes no Go at all": lambda t: (t.root / "other/other.go").write_bytes(b"\x00\xff\xfe not go"),
    "a file becomes empty": lambda t: t.write("other/other.go", ""),
    "everything outside is dropped": lambda t: t.write("main.go", "package main\n\nfunc main() {}\n"),
    "a declaration is added beside nested fields": lambda t: t.edit(
        "other/other.go", "func Alone", "func More() {}\n\nfunc Alone"
    ),
    "a nested field is renamed": lambda t: t.edit("other/other.go", "c int", "d int"),
    "a method of an unnamed interface is called no more": lambda t: t.edit("other/other.go", ".Stop() }", "}"),
    "two things change": lambda t: (
        t.edit("unit/unit.go", "Zero", "Nought"),
        t.edit("shape/shape.go", "s.side.Times(s.side)", "unit.Nought()"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_updated_store_equals_a_fresh_one_after(change: str, tree: Tree) -> None:
    before = tree.kept()
    CHANGES[change](tree)
    tree.learn()
    assert tree.staleness() == []
    assert tree.kept() != before
    shutil.rmtree(tree.root)
    for name, text in FILES.items():
        tree.write(name, text)
    tree.learn()
    assert differences(tree.kept(), before) == []


def test_code_outside_the_repository_counts_as_it_changes(tree: Tree) -> None:
    CHANGES["a vendored dependency appears"](tree)
    tree.learn()
    dependency = "vendor/example.com/dep/dep.go"
    for old, new in (
        ("func Do() {}", "func Do() Result { return 0 }\n\ntype Result int\n\nfunc (Result) Times(Result) {}"),
        ("Area() int", "Times(Result)"),
        ("func Do()", "func Done()"),
        ("package dep", "package changed"),
    ):
        tree.edit(dependency, old, new)
        tree.write(
            "other/other.go", (tree.root / "other/other.go").read_text().replace("dep.Do()", "dep.Do().Times(1)")
        )
        tree.learn()
        assert tree.staleness() == []
    shutil.rmtree(tree.root / "vendor")
    tree.learn()
    assert tree.staleness() == []


def test_a_change_of_most_packages_ends_in_the_same_graph(tree: Tree) -> None:
    for number in range(30):
        text = f'package p{number}\n\nimport "example.com/m/unit"\n\nvar V = unit.Zero().Times({number})\n'
        tree.write(f"many/p{number}/p.go", text)
    tree.learn()
    assert tree.staleness() == []
    tree.edit("unit/unit.go", "Times(other Meters) Meters", "Times(other Meters) *Meters")
    report = tree.learn()
    assert report.files_parsed == 1
    assert 30 < report.packages_resolved < report.packages, "the packages that see the edit"
    assert report.rows_written < 100, "the difference alone"
    assert tree.staleness() == []
    for number in range(30):
        tree.edit(f"many/p{number}/p.go", "var V", "var W")
    tree.edit("unit/unit.go", "Times(other Meters) *Meters", "Times(other Meters) Meters")
    report = tree.learn()
    assert (report.files_parsed, report.packages_resolved) == (31, report.packages), "the whole graph"
    assert tree.staleness() == []
    shutil.rmtree(tree.root / "many")
    tree.learn()
    assert tree.staleness() == []


def test_learning_in_full_equals_what_was_kept(tree: Tree) -> None:
    tree.edit("shape/shape.go", "s.side.Times(s.side)", "unit.Zero()")
    tree.learn()
    kept = tree.kept()
    report = learn_graph(tree.root, store_directory=tree.directory / "store", full=True, workers=0)
    assert report.packages_resolved == report.packages
    assert differences(tree.kept(), kept) == []


def test_worker_processes_update_as_one_process_does(tree: Tree) -> None:
    tree.edit("unit/unit.go", "Times(other Meters) Meters", "Times(other Meters) *Meters")
    learn_graph(tree.root, store_directory=tree.directory / "store", workers=2)
    assert tree.staleness() == []


def test_a_second_learn_parses_nothing_and_writes_nothing(tree: Tree) -> None:
    report = tree.learn()
    assert (report.files_parsed, report.outside_parsed, report.packages_resolved, report.rows_written) == (0, 0, 0, 0)


def test_a_touched_file_is_read_but_not_parsed(tree: Tree) -> None:
    (tree.root / "main.go").touch()
    report = tree.learn()
    assert (report.files_parsed, report.packages_resolved, report.rows_written) == (0, 0, 0)


def work(report: Report) -> tuple[int, int, int, int]:
    """Files parsed, packages and files resolved, edges written."""
    return report.files_parsed, report.packages_resolved, report.files_resolved, report.edges_written


def test_an_edited_body_parses_and_resolves_one_file_and_writes_what_differs(tree: Tree) -> None:
    tree.edit("shape/shape.go", "s.side.Times(s.side)", "unit.Zero()")
    report = tree.learn()
    # Square.Area calls Zero, Times and the field no more; it has become shorter, and its file is another.
    assert work(report) == (1, 1, 1, 3)
    assert report.rows_written == 3 + 2


def test_an_edited_test_resolves_one_file_also_where_other_tests_run_through_it(tree: Tree) -> None:
    tree.edit("shape/helper_test.go", "measure(s Square) {}", "measure(s Square) { s.Area() }")
    report = tree.learn()
    # measure calls Area, and so TestHelped in another file exercises it.
    assert work(report) == (1, 1, 1, 2)


def test_an_edited_comment_writes_no_edges(tree: Tree) -> None:
    tree.edit("unit/unit.go", "return 0", "return 0 // nothing")
    assert work(tree.learn()) == (1, 1, 1, 0)


def test_a_changed_shape_resolves_those_that_can_see_it(tree: Tree) -> None:
    tree.edit("unit/unit.go", "func Zero() Meters", "func Zero() *Meters")
    assert work(tree.learn()) == (1, 3, 6, 0)


def test_a_new_file_resolves_its_package_and_those_that_can_see_it(tree: Tree) -> None:
    tree.write("shape/circle.go", "package shape\n\nfunc Circle() {}\n")
    report = tree.learn()
    assert (report.files_parsed, report.packages_resolved, report.files_resolved) == (1, 2, 6)


def test_a_changed_signature_writes_no_edges_of_types_that_it_does_not_concern(tree: Tree) -> None:
    tree.edit("shape/shape.go", "(s Square) Area() unit.Meters", "(s *Square) Area() unit.Meters")
    report = tree.learn()
    # Only by its pointer does Square implement Shape from now on: one edge, changed.
    assert report.edges_written == 1


def test_an_edit_taken_back_before_the_next_learn_costs_nothing(tree: Tree) -> None:
    tree.edit("unit/unit.go", "m * other", "m")
    tree.edit("unit/unit.go", "return m }", "return m * other }")
    report = tree.learn()
    assert (report.files_parsed, report.packages_resolved, report.rows_written) == (0, 0, 0)


def test_a_lost_cache_costs_time_and_nothing_else(tree: Tree) -> None:
    before = tree.kept()
    for path in (tree.directory / "store").glob("cache.db*"):
        path.unlink()
    report = tree.learn()
    assert (report.files_parsed, report.rows_written) == (7, 0)
    assert tree.kept() == before
    tree.edit("shape/shape.go", "s.side.Times(s.side)", "unit.Zero()")
    tree.learn()
    assert tree.staleness() == []


QUICKLY_UPDATED = (
    "a body is edited",
    "a body of a leaf package is edited",
    "a helper of tests is edited",
    "a helper of tests is called no more",
    "documentation of a package appears",
    "something outside is used for the first time",
    "lines move",
    "a result type changes",
    "a method is renamed",
    "a type begins to implement error",
    "two things change",
)


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def live_through(tree: Tree, changes: Iterable[str], is_expected_warm: bool) -> None:
    """Let one learner that stays be told of each change, and of its being taken back."""
    warm = IncrementalLearner(tree.root, tree.directory / "store", workers=0)
    warm.learn()
    first = contents(tree.root)
    for change in changes:
        CHANGES[change](tree)
        now = contents(tree.root)
        touched = {path for path in first.keys() | now.keys() if first.get(path) != now.get(path)}
        is_telling = all(path.endswith(".go") for path in touched)
        update = warm.update(touched) if is_telling else warm.learn()
        assert tree.staleness() == [], change
        assert update.paths is not None
        assert set(update.paths) == {path for path in touched if path.endswith(".go") and "vendor" not in path}
        assert update.is_incremental or not is_expected_warm, change
        shutil.rmtree(tree.root)
        for name, data in first.items():
            tree.write(name, data.decode())
        warm.update(touched) if is_telling else warm.learn()
    assert tree.staleness() == []


def test_a_learner_that_stays_keeps_up_with_edits(tree: Tree) -> None:
    live_through(tree, QUICKLY_UPDATED, True)


@pytest.mark.slow
def test_a_learner_that_stays_keeps_up_with_every_change(tree: Tree) -> None:
    live_through(tree, CHANGES, False)


def test_a_learner_that_stays_resolves_the_edited_file_alone(tree: Tree) -> None:
    warm = IncrementalLearner(tree.root, tree.directory / "store", workers=0)
    warm.learn()
    for new in ("unit.Zero()", "s.side.Times(s.side)"):
        old = "s.side.Times(s.side)" if new == "unit.Zero()" else "unit.Zero()"
        tree.edit("shape/shape.go", old, new)
        update = warm.update({"shape/shape.go"})
        assert update.is_incremental
        assert update.paths == ("shape/shape.go",)
        assert work(update.report)[1:] == (1, 1, 3)
        assert update.report.rows_written == 5
    update = warm.update({"shape/shape.go"})
    assert (update.is_incremental, update.paths, update.report.rows_written) == (True, (), 0)


def test_a_learner_that_stays_notices_that_another_has_written(tree: Tree) -> None:
    warm = IncrementalLearner(tree.root, tree.directory / "store", workers=0)
    warm.learn()
    tree.edit("unit/unit.go", "m * other", "m")
    tree.learn()
    tree.edit("shape/shape.go", "s.side.Times(s.side)", "unit.Zero()")
    assert not warm.update({"shape/shape.go"}).is_incremental
    assert tree.staleness() == []


def test_an_update_leaves_the_store_fresh_in_the_eyes_of_readers(tree: Tree) -> None:
    warm = IncrementalLearner(tree.root, tree.directory / "store", workers=0)
    warm.learn()
    for number in range(2):
        tree.edit("unit/unit.go", "m * other", f"m * other * {number}")
        assert behind(tree) == ("unit/unit.go",)
        assert warm.update({"unit/unit.go"}).is_incremental
        assert behind(tree) == ()
        tree.edit("unit/unit.go", f"m * other * {number}", "m * other")
        assert behind(tree) == ("unit/unit.go",)
        warm.update({"unit/unit.go"})
    tree.edit("main.go", "report(s)", "report(nil)")
    assert behind(tree) == ("main.go",)


def behind(tree: Tree) -> tuple[str, ...]:
    with Store.open(tree.directory / "store", write=False) as store:
        changes = changes_since(tree.root, store)
    assert changes is not None
    return changes.paths


PATHS = tuple(
    f"{directory}/{name}" for directory in ("a", "b", "a/c") for name in ("x.go", "y.go", "x_test.go", "x_windows.go")
)


def source(package: str, draw: tuple[int, ...]) -> str:
    """A small file whose declarations and uses follow from a few numbers."""
    first, second, third, fourth = draw
    other = ("a", "b", "a/c")[first]
    name = other.rpartition("/")[2]
    imports = f'import "example.com/m/{other}"\n' if name != package else ""
    qualified = f"{name}." if imports else ""
    declarations = (
        f"type T struct{{ {qualified}U }}\n\nfunc (t T) M{second}() {{ t.N() }}\n",
        f"type U interface{{ N(); M{second}() }}\n",
        f"type U struct{{}}\n\nfunc (*U) N() {{}}\n\nfunc (U) M{second}() *{qualified}T {{ return nil }}\n",
        f"func F() {{ var u {qualified}U; u.M{third}(); {qualified}F{third}() }}\n",
        f"var V, W = F{second}(), {qualified}V\n\nfunc F{second}() int {{ return {qualified}F{third}() }}\n",
        f"func Test{second}() {{ {qualified}F{second}(); absent.Do() }}\n",
        "func broken( {\n",
        "",
    )
    return f"package {package}\n\n{imports}\n{declarations[fourth]}"


NUMBERS = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1), st.integers(0, 7))


class Editing(RuleBasedStateMachine):
    """Any sequence of adds, edits, renames, deletes and broken states, learned after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="golore-"))
        self.tree = Tree(self.directory)

        self.warm = IncrementalLearner(self.tree.root, self.directory / "warm", workers=0)
        self.touched: set[str] | None = None

    def touch(self, *paths: str) -> None:
        if self.touched is not None:
            self.touched.update(paths)

    @initialize(draws=st.lists(NUMBERS, min_size=3, max_size=5))
    def begin(self, draws: list[tuple[int, ...]]) -> None:
        self.tree.write("go.mod", FILES["go.mod"])
        self.tree.write("kept/kept.go", "package kept\n")  # a tree without any Go file is no repository
        for path, draw in zip(PATHS[::3], draws, strict=False):
            self.tree.write(path, source(path.split("/")[-2], draw))
        self.branch = contents(self.tree.root)

    @rule(path=st.sampled_from(PATHS), draw=NUMBERS, external=st.booleans())
    def write(self, path: str, draw: tuple[int, ...], external: bool) -> None:
        package = path.split("/")[-2]
        suffix = "_test" if external and path.endswith("_test.go") else ""
        self.touch(path)
        self.tree.write(path, source(package, draw).replace("\n", f"{suffix}\n", 1))

    @rule(path=st.sampled_from(PATHS))
    def delete(self, path: str) -> None:
        self.touch(path)
        (self.tree.root / path).unlink(missing_ok=True)

    @rule(old=st.sampled_from(PATHS), new=st.sampled_from(PATHS))
    def rename(self, old: str, new: str) -> None:
        if (self.tree.root / old).exists():
            self.touch(old, new)
            move(self.tree, old, new)

    @rule(path=st.sampled_from(PATHS), tag=st.sampled_from(["linux", "windows", "ignore"]))
    def constrain(self, path: str, tag: str) -> None:
        if (self.tree.root / path).exists():
            self.touch(path)
            text = (self.tree.root / path).read_text(encoding="utf-8")
            self.tree.write(
                path, f"//go:build {tag}\n\n{text}" if "go:build" not in text else text.partition("\n\n")[2]
            )

    @rule(module=st.sampled_from(["example.com/m", "example.com/other"]), nested=st.booleans())
    def name_module(self, module: str, nested: bool) -> None:
        self.touched = None
        self.tree.write("a/c/go.mod" if nested else "go.mod", f"module {module}\n\ngo 1.22\n")

    @rule(path=st.sampled_from(PATHS), old=st.sampled_from(["u.N()", "F0()", "F1()", "t.N()", "{ return"]))
    def edit_body(self, path: str, old: str) -> None:
        if (self.tree.root / path).exists():
            self.touch(path)
            text = (self.tree.root / path).read_text(encoding="utf-8")
            self.tree.write(path, text.replace(old, "{ F0(); return" if "return" in old else f"F1(); {old}"))

    @rule(old=st.sampled_from(["M0", "F1", "T"]), new=st.sampled_from(["M1", "F0", "Renamed"]))
    def rename_symbol(self, old: str, new: str) -> None:
        for path in PATHS:
            if (self.tree.root / path).exists():
                self.touch(path)
                text = (self.tree.root / path).read_text(encoding="utf-8")
                self.tree.write(path, re.sub(rf"\b{old}\b", new, text))

    @rule(old=st.sampled_from(PATHS), new=st.sampled_from(PATHS))
    def move_method(self, old: str, new: str) -> None:
        source, target = self.tree.root / old, self.tree.root / new
        if old != new and source.exists() and target.exists() and source.parent == target.parent:
            rest, method, moved = source.read_text(encoding="utf-8").partition("\nfunc (")
            self.touch(old, new)
            self.tree.write(old, rest)
            self.tree.write(new, target.read_text(encoding="utf-8") + method + moved)

    @rule()
    def remove_module(self) -> None:
        self.touched = None
        (self.tree.root / "a/c/go.mod").unlink(missing_ok=True)

    @rule()
    def switch_branch(self) -> None:
        """Leave this state of the tree for the one that was left last."""
        now = contents(self.tree.root)
        for path in now:
            (self.tree.root / path).unlink()
        for path, data in self.branch.items():
            self.tree.write(path, data.decode())
        differing = {path for path in now.keys() | self.branch.keys() if now.get(path) != self.branch.get(path)}
        self.touch(*differing)
        if any(path.endswith("go.mod") for path in differing):
            self.touched = None
        self.branch = now

    @invariant()
    def equals_a_fresh_learn(self) -> None:
        self.tree.learn()
        fresh = self.tree.fresh()
        assert differences(self.tree.kept(), fresh) == []
        self.warm.learn() if self.touched is None else self.warm.update(self.touched)
        self.touched = set()
        assert differences(exported(self.directory / "warm"), fresh) == []

    def teardown(self) -> None:
        shutil.rmtree(self.directory)


class TestAFewEdits(Editing.TestCase):
    settings = settings(max_examples=1, stateful_step_count=12)


@pytest.mark.slow
class TestManyEdits(Editing.TestCase):
    settings = settings(max_examples=100, stateful_step_count=20)
