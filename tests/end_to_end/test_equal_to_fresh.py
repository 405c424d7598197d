"""Whatever happens to a tree, step by step: the updated store equals one that is learned anew.

The tree is made of declarations that know what they use, so that a step can be what an editor or git does: change a
body or a signature, rename a symbol with or without its uses, move a method to another file, break a file and restore
it, add and remove modules, switch branches. `test_incremental` has single changes by name, and what they may cost.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from golore.learner.pipeline.incremental import IncrementalLearner
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from support.learned_tree import Tree

DIRECTORIES = ("a", "b", "a/c")
FILES = tuple(f"{directory}/{name}" for directory in DIRECTORIES for name in ("x.go", "y.go", "x_test.go"))
MODULE = "module example.com/m\n\ngo 1.22\n"
TAGS = ("", "//go:build linux\n\n", "//go:build windows\n\n", "//go:build ignore\n\n")
SIGNATURES = ("()", "(n int)", "() error", "(w io.Writer) (int, error)")
RESULTS = ("", "", "return nil", "return 0, nil")
STANDARD = ("_ = errors.New", "_ = io.EOF", "var e error; _ = e.Error()", "absent.Do()", "dep.Do(dep.Thing{})")


@dataclass(frozen=True, slots=True)
class Use:
    """A use in a body: of a function or a method of a directory's package, or one of `STANDARD`."""

    directory: str
    kind: int
    number: int

    def text(self, here: str) -> str:
        package = "" if self.directory == here else f"{name_of(self.directory)}."
        match self.kind:
            case 0:
                return f"{package}F{self.number}()"
            case 1:
                return f"{{ var t {package}T{self.number % 2}; t.M{self.number}() }}"
            case 2:
                return f"{{ var i {package}I{self.number % 2}; i.M{self.number}() }}"
            case _:
                return STANDARD[self.number]


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration. `kind` is func, type, interface, method or var; `number` makes its name."""

    kind: str
    number: int
    signature: int
    pointer: bool
    uses: tuple[Use, ...]

    def text(self, here: str) -> str:
        body = "; ".join(filter(None, (*(use.text(here) for use in self.uses), RESULTS[self.signature])))
        signature, number = SIGNATURES[self.signature], self.number
        star = "*" if self.pointer else ""
        other = next((use.directory for use in self.uses), here)
        package = "" if other == here else f"{name_of(other)}."
        match self.kind:
            case "func":
                return f"func F{number}{signature} {{ {body} }}"
            case "type":
                inner = f"f func{signature}; g struct {{ x{number} int; h struct {{ y func{signature} }} }}"
                return f"type T{number % 2} struct {{ {star}{package}T{(number + 1) % 2}; {inner} }}"
            case "interface":
                embedded = f"{package}I{(number + 1) % 2}; " if self.pointer and package else ""
                return f"type I{number % 2} interface {{ {embedded}M{number}{signature} }}"
            case "method":
                return f"func (t {star}T{number % 2}) M{number}{signature} {{ {body} }}"
            case _:
                unnamed = f"func(v interface{{ M{number}{signature} }}) {{ _ = v.M{number} }}"
                return f"var V{number} = func{signature} {{ _ = {unnamed}; {body} }}"


@dataclass(frozen=True, slots=True)
class Source:
    """A file as the machine knows it. A broken one is written without its last brace."""

    decls: tuple[Declared, ...]
    tag: int = 0
    is_broken: bool = False
    is_external: bool = False

    def text(self, path: str) -> str:
        here = path.rpartition("/")[0]
        package = name_of(here) + ("_test" if self.is_external and path.endswith("_test.go") else "")
        inside = "" if package.endswith("_test") else here
        body = "\n\n".join(decl.text(inside) for decl in self.decls)
        paths = {f"example.com/m/{directory}": name_of(directory) for directory in DIRECTORIES}
        paths |= {"example.com/dep": "dep", "errors": "errors", "io": "io"}
        imports = "".join(f'import "{path}"\n' for path, name in paths.items() if f"{name}." in body)
        text = f"{TAGS[self.tag]}package {package}\n\n{imports}\n{body}\n"
        return text.rstrip()[:-1] if self.is_broken else text


def name_of(directory: str) -> str:
    return directory.rpartition("/")[2]


USES = st.builds(Use, st.sampled_from(DIRECTORIES), st.integers(0, 3), st.integers(0, 3))
DECLARED = st.builds(
    Declared,
    st.sampled_from(["func", "func", "type", "interface", "method", "method", "var"]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
    st.lists(USES, max_size=2).map(tuple),
)
SOURCES = st.builds(Source, st.lists(DECLARED, min_size=1, max_size=4).map(tuple), is_external=st.booleans())
PATHS = st.sampled_from(FILES)
ANY = st.integers(0, 99)
PHASES = tuple(Phase[name] for name in os.environ.get("GOLORE_PHASES", "generate,shrink").split(","))
"""Shrinking a difference takes minutes; without it the first one is shown as it was found."""


class Working(RuleBasedStateMachine):
    """A repository at work. What a rule cannot do in a state, it leaves."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.room = Path(tempfile.mkdtemp(prefix="golore-"))
        self.tree = Tree(self.room)
        self.files: dict[str, Source] = {}
        self.modules: dict[str, str] = {"go.mod": MODULE}
        self.branches: list[tuple[dict[str, Source], dict[str, str]]] = []
        self.before: list[tuple[str, Source]] = []
        self.learner: IncrementalLearner | None = None

    @initialize(sources=st.lists(SOURCES, min_size=3, max_size=5), stays=st.booleans())
    def begin(self, sources: list[Source], stays: bool) -> None:
        """Each learn by a process of its own, or by one that stays and is told of the edits."""
        if stays:
            self.learner = IncrementalLearner(self.tree.root, self.tree.directory / "store", workers=0)
        self.files = dict(zip(FILES[::2], sources, strict=False))

    @rule(path=PATHS, source=SOURCES)
    def add(self, path: str, source: Source) -> None:
        self.put(path, source)

    @rule(at=ANY, number=ANY, uses=st.lists(USES, max_size=3).map(tuple))
    def edit_body(self, at: int, number: int, uses: tuple[Use, ...]) -> None:
        self.change(at, number, uses=uses)

    @rule(at=ANY, number=ANY, signature=st.integers(0, 3))
    def edit_signature(self, at: int, number: int, signature: int) -> None:
        self.change(at, number, signature=signature)

    @rule(at=ANY, number=ANY, new=st.integers(0, 3), with_uses=st.booleans())
    def rename_symbol(self, at: int, number: int, new: int, with_uses: bool) -> None:
        path, decl = self.pick(at, number)
        if decl is None:
            return
        kinds = {"func": (0,), "method": (1, 2)}.get(decl.kind, ())
        self.change(at, number, number=new)
        if with_uses:
            for other, source in list(self.files.items()):
                decls = tuple(
                    replace(one, uses=tuple(renamed(use, decl.number, new, kinds, path) for use in one.uses))
                    for one in source.decls
                )
                self.files[other] = replace(source, decls=decls)

    @rule(at=ANY, number=ANY, to=PATHS)
    def move_declaration(self, at: int, number: int, to: str) -> None:
        path, decl = self.pick(at, number)
        target = self.files.get(to)
        if decl is None or target is None or to == path:
            return
        source = self.files[path]
        self.put(path, replace(source, decls=tuple(one for one in source.decls if one is not decl)))
        self.put(to, replace(target, decls=(*target.decls, decl)))

    @rule(at=ANY)
    def delete(self, at: int) -> None:
        if len(self.files) > 1:
            path = self.nth(at)
            self.before.append((path, self.files.pop(path)))

    @rule(at=ANY, to=PATHS)
    def rename_file(self, at: int, to: str) -> None:
        if self.files:
            self.files[to] = self.files.pop(self.nth(at))

    @rule(at=ANY)
    def break_syntax(self, at: int) -> None:
        if self.files:
            path = self.nth(at)
            self.put(path, replace(self.files[path], is_broken=True))

    @rule(at=ANY)
    def restore(self, at: int) -> None:
        """Put back what a file was before one of the changes so far."""
        if self.before:
            path, source = self.before[at % len(self.before)]
            self.put(path, source)

    @rule(at=ANY, tag=st.integers(0, len(TAGS) - 1))
    def change_build_tag(self, at: int, tag: int) -> None:
        if self.files:
            path = self.nth(at)
            self.put(path, replace(self.files[path], tag=tag))

    @rule(
        name=st.sampled_from(["example.com/m/a/c", "example.com/other"]), uses=st.sampled_from(["", "replace", "work"])
    )
    def add_module(self, name: str, uses: str) -> None:
        """Cut a directory off into a module of its own, which the others find in one of two ways, or do not."""
        self.modules = {"go.mod": MODULE, "a/c/go.mod": f"module {name}\n\ngo 1.22\n"}
        if uses == "replace":
            self.modules["go.mod"] += f"\nrequire {name} v0.0.0\n\nreplace {name} => ./a/c\n"
        elif uses == "work":
            self.modules["go.work"] = "go 1.22\n\nuse (\n\t.\n\t./a/c\n)\n"

    @rule()
    def remove_module(self) -> None:
        self.modules = {"go.mod": MODULE}

    @rule(is_there=st.booleans(), thing=st.sampled_from(["struct{}", "interface{ M0() }", "func()"]))
    def change_dependency(self, is_there: bool, thing: str) -> None:
        """A module that is vendored, changed there, and taken away again."""
        for path in ("vendor/modules.txt", "vendor/example.com/dep/dep.go"):
            self.modules.pop(path, None)
        self.modules["go.mod"] = self.modules["go.mod"].partition("\nrequire example.com/dep")[0]
        if is_there:
            self.modules["go.mod"] += "\nrequire example.com/dep v1.0.0\n"
            self.modules["vendor/modules.txt"] = "# example.com/dep v1.0.0\n## explicit; go 1.22\nexample.com/dep\n"
            text = f"package dep\n\ntype Thing {thing}\n\nfunc Do(t Thing) {{}}\n"
            self.modules["vendor/example.com/dep/dep.go"] = text

    @rule()
    def begin_branch(self) -> None:
        self.branches.append((dict(self.files), dict(self.modules)))

    @rule(at=ANY)
    def switch_branch(self, at: int) -> None:
        if self.branches:
            number = at % len(self.branches)
            left = (self.files, self.modules)
            files, modules = self.branches[number]
            self.files, self.modules = dict(files), dict(modules)
            self.branches[number] = left

    @rule()
    def learn_by_command(self) -> None:
        """Another process learns what this one has not been told of."""
        if self.files:
            self.check_out()
            self.tree.learn()

    @invariant()
    def equals_a_fresh_learn(self) -> None:
        if not self.files:
            return
        type(self).steps += 1
        changed = self.check_out()
        if self.learner is None:
            IncrementalLearner(self.tree.root, self.tree.directory / "store", workers=0).resume()
        elif all(path.endswith(".go") for path in changed):
            self.learner.update(changed)
        else:
            self.learner.learn()
        assert self.tree.staleness() == []

    def teardown(self) -> None:
        shutil.rmtree(self.room)

    def nth(self, at: int) -> str:
        return sorted(self.files)[at % len(self.files)]

    def pick(self, at: int, number: int) -> tuple[str, Declared | None]:
        if not self.files:
            return "", None
        path = self.nth(at)
        decls = self.files[path].decls
        return path, decls[number % len(decls)] if decls else None

    def put(self, path: str, source: Source) -> None:
        if path in self.files:
            self.before.append((path, self.files[path]))
        self.files[path] = source

    def change(self, at: int, nth: int, **values: object) -> None:
        path, decl = self.pick(at, nth)
        if decl is not None:
            source = self.files[path]
            changed = tuple(replace(one, **values) if one is decl else one for one in source.decls)
            self.put(path, replace(source, decls=changed))

    def check_out(self) -> set[str]:
        """Make the tree as it is to be, touching only what differs; the answer is what that was."""
        wanted = {path: source.text(path) for path, source in self.files.items()} | self.modules
        root = self.tree.root
        there = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
        changed = there.keys() - wanted.keys()
        for name in changed:
            there[name].unlink()
        for name, text in wanted.items():
            if name not in there or there[name].read_text(encoding="utf-8") != text:
                self.tree.write(name, text)
                changed.add(name)
        return changed


def renamed(use: Use, old: int, new: int, kinds: tuple[int, ...], path: str) -> Use:
    is_meant = use.kind in kinds and use.number == old and use.directory == path.rpartition("/")[0]
    return replace(use, number=new) if is_meant else use


VENDORED = {
    "go.mod": "module example.com/a\n\ngo 1.22\n\nrequire example.com/dep v1.0.0\n",
    "vendor/modules.txt": "# example.com/dep v1.0.0\n## explicit; go 1.22\nexample.com/dep\n",
    "vendor/example.com/dep/dep.go": "package dep\n\ntype Shape interface{ Area() int }\n\nfunc Do() {}\n",
}
OUTSIDE_STATES: tuple[dict[str, str], ...] = (
    {"go.mod": "module example.com/a\n\ngo 1.22\n", "a.go": "package a\n"},
    {**VENDORED, "a.go": 'package a\n\nimport "example.com/dep"\n\nfunc F() { dep.Do() }\n'},
    {**VENDORED, "a.go": 'package a\n\nimport "example.com/dep"\n\nfunc F() { var s dep.Shape; s.Area() }\n'},
    {**VENDORED, "a.go": 'package a\n\nimport "example.com/dep"\n\nvar V dep.Shape\n'},
)


def test_a_dependency_that_one_module_sees_and_another_does_not_is_kept_as_it_is(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("b/go.mod", "module example.com/b\n\ngo 1.22\n")
    for number in (0, 1, 2, 1, 3, 0):
        shutil.rmtree(tree.root / "vendor", ignore_errors=True)
        for name, text in OUTSIDE_STATES[number].items():
            tree.write(name, text)
        tree.learn()
        assert tree.staleness() == []
        tree.write("b/b.go", f'package b\n\nimport "example.com/dep"\n\nvar S{number} dep.Shape\n')
        tree.learn()
        assert tree.staleness() == []


def test_a_learner_that_stays_follows_edits_and_deletes_of_vendored_code(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for name, text in OUTSIDE_STATES[1].items():
        tree.write(name, text)
    learner = IncrementalLearner(tree.root, tree.directory / "store", workers=0)
    learner.learn()
    vendored = "vendor/example.com/dep/more.go"
    for text in ("package dep\n\nfunc More() {}\n", "package dep\n\nvar More int\n", ""):
        if text:
            tree.write(vendored, text)
        else:
            (tree.root / vendored).unlink()
        tree.write("a.go", 'package a\n\nimport "example.com/dep"\n\nvar V = dep.More\n')
        learner.update({vendored})
        learner.update({"a.go"})
        assert tree.staleness() == []


def test_an_interface_outside_stays_one_when_a_body_that_names_it_is_edited(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("go.mod", MODULE)
    method = "func (T) Close() error { return nil }"
    tree.write("a.go", f'package a\n\nimport "io"\n\ntype T struct{{}}\n\n{method}\n\nfunc F(c io.Closer) {{}}\n')
    tree.learn()
    tree.edit("a.go", "Closer) {", "Closer) { c.Close()")
    tree.learn()
    assert tree.staleness() == []


def run_steps(examples: int, steps: int) -> int:
    """How many states were compared."""
    machine = type("Counted", (Working,), {"steps": 0})
    options = settings(max_examples=examples, stateful_step_count=steps, database=None, phases=PHASES)
    run_state_machine_as_test(machine, settings=options)
    return machine.steps


def test_a_hundred_steps_of_work_leave_what_a_fresh_learn_makes() -> None:
    assert run_steps(4, 25) >= 100


@pytest.mark.slow
def test_two_thousand_steps_of_work_leave_what_a_fresh_learn_makes() -> None:
    assert run_steps(80, 30) >= 2000
