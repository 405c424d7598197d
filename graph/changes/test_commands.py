"""Command lines that run chosen tests: `go test`, one for each package, module and set of build tags."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from golore.graph.changes.test_selection import is_benchmark
from golore.graph.database.store import Store
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.answers import Ref

_TAG: Final = re.compile(r"[\w.]+(?: && [\w.]+)*")
_SET_BY_GO: Final = re.compile(
    r"aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|unix|wasip1|windows|cgo|gc"
    r"|race|386|amd64|arm|arm64|loong64|mips\w*|ppc64\w*|riscv64|s390x|wasm|go1\.\d+|goexperiment\.\w+"
)
_TESTS_OF_PACKAGES: Final = (
    "MATCH (p:Package)-[:CONTAINS]->(f:File)-[:CONTAINS]->(s:Symbol) WHERE {}f.test AND s.kind = 'func' RETURN s.name"
)
_MANY_FILES: Final = 200
"""Test files from which on it is quicker to read those of all packages."""
_PLAIN: Final = re.compile(r"[\w./@%+,:=-]+")


class _Command(NamedTuple):
    """What one command line runs: a package of a module, with build tags."""

    module: str
    directory: str
    tags: str


def test_commands(store: Store, tests: Iterable[Ref]) -> tuple[str, ...]:
    """The command lines for these tests, in the order in which their packages come first."""
    chosen: defaultdict[_Command, list[Ref]] = defaultdict(list)
    modules = _Modules(store)
    tests = list(tests)
    if len({test.file for test in tests}) > _MANY_FILES:
        modules.read_all()
    for test in tests:
        directory = test.file.rpartition("/")[0]
        chosen[_Command(modules.directory_of(directory), directory, _tags(modules.constraint(test.file)))].append(test)
    return tuple(line for command, those in chosen.items() for line in _lines(modules, command, those))


def _lines(modules: _Modules, command: _Command, tests: list[Ref]) -> Iterable[str]:
    plain = {test.name for test in tests if not is_benchmark(test)}
    measured = {test.name for test in tests if is_benchmark(test)}
    inner = command.directory.removeprefix(command.module).strip("/")
    words = ["go", *(["-C", _quoted(command.module)] if command.module else []), "test"]
    words += [f"-tags={command.tags}"] if command.tags else []
    words.append(_quoted(f"./{inner}") if inner else ".")
    if plain:
        is_all = plain >= modules.tests_of(command.directory)
        yield " ".join([*words, *([] if is_all else ["-run", _pattern(plain)])])
    if measured:
        yield " ".join([*words, "-run", "'^$'", "-bench", _pattern(measured)])


def _pattern(names: set[str]) -> str:
    ordered = sorted(names)
    return f"'^({'|'.join(ordered)})$'" if len(ordered) > 1 else f"'^{ordered[0]}$'"


def _quoted(word: str) -> str:
    """A word as a shell reads it."""
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def _is_run_by_default(name: str) -> bool:
    return is_test_name(name) and name != "TestMain" and not name.startswith("Benchmark")


def _tags(constraint: str) -> str:
    """The build tags that a file needs and that nobody sets by default, if that is all that its constraint says."""
    if not _TAG.fullmatch(constraint):
        return ""
    return ",".join(tag for tag in constraint.split(" && ") if not _SET_BY_GO.fullmatch(tag))


class _Modules:
    """The directories of modules, the build constraints of files, and the tests of packages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tests: dict[str, set[str]] | None = None
        """The names of the tests of all directories, if they were read at once."""
        self._directories: Mapping[str, str] | None = None
        self._constraints: dict[str, str] = {}

    def directory_of(self, directory: str) -> str:
        """The directory of the module of a package: the packages of a module have paths that start with its own."""
        if self._directories is None:
            rows = self._store.rows("MATCH (p:Package) WHERE NOT p.test RETURN p.dir, p.path, p.module")
            self._directories = {dir: _module_directory(dir, path, module) for dir, path, module in rows}
        known = self._directories.get(directory)
        if known is None:
            parents = (directory.rsplit("/", depth)[0] for depth in range(1, directory.count("/") + 1))
            known = next((self._directories[one] for one in parents if one in self._directories), "")
        return known

    def read_all(self) -> None:
        """Read the constraints and tests of all files at once, which is quicker for many."""
        rows = self._store.rows("MATCH (f:File) WHERE f.test RETURN f.id, f.constraint")
        self._constraints = {row[0]: row[1] for row in rows}
        self._tests = {}
        for name, directory in self._store.rows(_TESTS_OF_PACKAGES.format("") + ", p.dir"):
            if _is_run_by_default(name):
                self._tests.setdefault(directory, set()).add(name)

    def tests_of(self, directory: str) -> set[str]:
        """The names of the tests of a directory, without benchmarks."""
        if self._tests is not None:
            return self._tests.get(directory, set())
        rows = self._store.rows(_TESTS_OF_PACKAGES.format("p.dir = $dir AND "), {"dir": directory})
        return {name for (name,) in rows if _is_run_by_default(name)}

    def constraint(self, file: str) -> str:
        if file not in self._constraints:
            rows = self._store.rows("MATCH (f:File {id: $id}) RETURN f.constraint", {"id": file})
            self._constraints[file] = next((constraint for (constraint,) in rows), "")
        return self._constraints[file]


def _module_directory(directory: str, path: str, module: str) -> str:
    inner = path.removeprefix(module).strip("/")
    return directory.removesuffix(inner).rstrip("/") if module and path.startswith(module) else ""
