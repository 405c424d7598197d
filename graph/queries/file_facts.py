"""What the graph knows about one file, for its card: who uses it, what it satisfies, which tests reach it.

`WholeGraph` reads the graph once, column by column, for the cards of all files; `single_file` queries the neighbourhood
of one file. Both return the same facts. Uses inside the file do not count: they can be read there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from golore.graph.database.graph_tables import GraphTables
from golore.graph.model.edge_kinds import USES, EdgeKind
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.names.written_names import assumed_package_name

MEMBERS: Final = ("method", "imethod", "field")
_NO_COUNTS: Final[Mapping[str, int]] = {}
Row = list[Any]
FileRow = tuple[str, str, bool, bool, str]
SYMBOL_COLUMNS: Final = "{0}.kind, {0}.name, {0}.qualified_name, {0}.file, {0}.line, {0}.exported, {0}.package"
FILE_COLUMNS: Final = "f.digest, f.package, f.test, f.generated, f.origin"
UNNAMED_CALLS: Final = "MATCH (a:Symbol)-[e:INVOKES]->(b:External) RETURN a.file, b.name, e.sites"
EXTERNAL_COLUMNS: Final = "{0}.kind, {0}.name, {0}.id, {0}.package"


class CardSymbol(NamedTuple):
    """A declaration as cards name it: `local` as in its own package (Memory.Save), `short` as in other packages
    (store.Memory.Save). An external one has no file."""

    kind: str
    name: str
    qualified_name: str
    file: str
    line: int
    exported: bool
    local: str
    short: str

    @property
    def test(self) -> bool:
        return self.file.endswith("_test.go")


class CardSymbolFactory:
    """Creates `CardSymbol`s from rows. Reads the packages' names, which may differ from the last part of their path."""

    def __init__(self, tables: GraphTables) -> None:
        rows = _rows(tables.node_columns("Package", ("id", "path", "name")))
        self._known: dict[str, tuple[int, str]] = {id: (len(path) + 1, name) for _, id, path, name in rows}

    def named(
        self, kind: str, name: str, qualified_name: str, file: str, line: int, exported: bool, package: str
    ) -> CardSymbol:
        start, short = self._known[package]
        local = qualified_name[start:]
        return CardSymbol(kind, name, qualified_name, file, line, exported, local, f"{short}.{local}")

    def outside(self, kind: str, name: str, id: str, package: str) -> CardSymbol:
        local = id.removeprefix(package).lstrip(".")
        short = f"{assumed_package_name(package)}.{local}" if package and local else local or id
        return CardSymbol(kind, name, id, "", 0, True, local, short)


class Use(NamedTuple):
    """A use of a declaration of the file in another file. `sites` are lines of the other file, as in "12 40"."""

    label: str
    target: CardSymbol
    source: CardSymbol
    sites: str

    @property
    def line(self) -> int:
        """The first site; if there is none, the line where the user is declared."""
        return int(self.sites.partition(" ")[0]) if self.sites else self.source.line


class Reach(NamedTuple):
    """A method of the file that may run when the interface method `through`, which has `callers` callers, is called.
    `tests` are the tests among these."""

    method: CardSymbol
    through: CardSymbol
    callers: int
    tests: tuple[CardSymbol, ...] = ()


class FileFacts(NamedTuple):
    path: str
    digest: str
    package: str
    test: bool
    generated: bool
    origin: str
    """what generated the file, from what, as its header says"""
    symbols: tuple[CardSymbol, ...]
    uses: tuple[Use, ...]
    tests: tuple[tuple[CardSymbol, CardSymbol], ...]
    """tests in other files, with the declarations of this file that they reach"""
    tested: tuple[tuple[CardSymbol, CardSymbol], ...]
    """tests in this file, with the declarations of other files that they reach"""
    satisfies: tuple[tuple[CardSymbol, CardSymbol], ...]
    """types of this file, with the interfaces that they satisfy"""
    satisfied: tuple[tuple[CardSymbol, CardSymbol], ...]
    """interfaces of this file, with the types that satisfy them, also those of this file"""
    candidate_calls: tuple[Reach, ...]
    outside_calls: tuple[tuple[CardSymbol, CardSymbol], ...]
    """methods of this file, with the external interfaces that require them and that their types satisfy"""
    calls: Mapping[str, int]
    """other file → number of `CALLS` edges from this file"""
    same_named_unresolved: tuple[tuple[str, int], ...]
    """name of a method or field → number of unresolved uses of that name in other files, without candidates"""
    unnamed_calls: tuple[tuple[str, int], ...] = ()
    """name of a method → number of calls of a method of that name in other files, through unnamed interfaces"""
    plain_interfaces: frozenset[str] = frozenset()
    """qualified names of the interfaces above that types satisfy by coincidence (see `is_plain`)"""
    generated_files: frozenset[str] = frozenset()
    """all generated files of the repository"""
    test_users: tuple[CardSymbol, ...] = ()
    """all tests in other files that use a declaration of this file, directly or through helpers in test files; none for
    a test file"""


class FactsBuilder:
    """Collects the facts of one file."""

    __slots__ = (
        "calls",
        "exercised",
        "outside",
        "plain",
        "reached",
        "satisfied",
        "satisfies",
        "symbols",
        "test_users",
        "tests",
        "uses",
    )

    def __init__(self) -> None:
        self.symbols: list[CardSymbol] = []
        self.uses: list[Use] = []
        self.tests: list[tuple[CardSymbol, CardSymbol]] = []
        self.test_users: set[CardSymbol] = set()
        self.exercised: list[tuple[CardSymbol, CardSymbol]] = []
        self.satisfies: list[tuple[CardSymbol, CardSymbol]] = []
        self.satisfied: list[tuple[CardSymbol, CardSymbol]] = []
        self.reached: list[Reach] = []
        self.outside: list[tuple[CardSymbol, CardSymbol]] = []
        self.plain: set[str] = set()
        self.calls: Counter[str] = Counter()

    def build(
        self,
        path: str,
        file_row: FileRow,
        doubts: Mapping[str, Mapping[str, int]],
        unnamed: Mapping[str, Mapping[str, int]],
        generated_files: frozenset[str],
    ) -> FileFacts:
        """`doubts` and `unnamed`: for each name, the number of uses by file (see `FileFacts`)."""
        digest, package, test, generated, origin = file_row
        members = {symbol.name for symbol in self.symbols if symbol.kind in MEMBERS}
        methods = {symbol.name for symbol in self.symbols if symbol.kind == "method"}
        return FileFacts(
            path,
            digest,
            package,
            test,
            generated,
            origin,
            tuple(sorted(self.symbols, key=lambda symbol: (symbol.line, symbol.name))),
            tuple(self.uses),
            tuple(sorted(set(self.tests))),
            tuple(sorted(set(self.exercised))),
            tuple(sorted(set(self.satisfies))),
            tuple(sorted(set(self.satisfied))),
            tuple(sorted(set(self.reached))),
            tuple(sorted(set(self.outside))),
            self.calls,
            _elsewhere(members, doubts, path),
            _elsewhere(methods, unnamed, path),
            frozenset(self.plain),
            generated_files,
            tuple(sorted(self.test_users)),
        )

    def add_edge(self, label: str, source: CardSymbol, target: CardSymbol, sites: str | None, path: str) -> None:
        """Add an edge between the file `path` and another file."""
        if target.file == path:
            if label in USES:
                self.uses.append(Use(label, target, source, sites or ""))
            elif label == "TESTS":
                self.tests.append((source, target))
            elif label == "IMPLEMENTS":
                self.satisfied.append((target, source))
        elif source.file == path:
            if label == "CALLS":
                self.calls[target.file] += 1
            elif label == "TESTS":
                self.exercised.append((source, target))


def _elsewhere(names: Iterable[str], uses: Mapping[str, Mapping[str, int]], path: str) -> tuple[tuple[str, int], ...]:
    """The number of uses of each name in other files, without names that have none."""
    found = [(name, sum(n for file, n in uses.get(name, _NO_COUNTS).items() if file != path)) for name in sorted(names)]
    return tuple([(name, number) for name, number in found if number])


class TestUses:
    """The uses in test files, by the numbers of the symbols. `declared`: all declarations of test files. One that is no
    test itself is a helper."""

    __test__ = False  # for pytest

    def __init__(self, symbols: Mapping[int, CardSymbol]) -> None:
        self._symbols = symbols
        self.declared = frozenset([at for at, symbol in symbols.items() if symbol.test])
        self._users_of_file: defaultdict[str, set[int]] = defaultdict(set)
        self._users_of_helper: defaultdict[int, list[int]] = defaultdict(list)
        self._tests: dict[int, list[int]] = {}

    def add(self, user: int, used: int) -> None:
        if used in self.declared:
            self._users_of_helper[used].append(user)
        else:
            self._users_of_file[self._symbols[used].file].add(user)

    def tests_by_file(self) -> Iterable[tuple[str, set[CardSymbol]]]:
        """Each file that is no test file, with the tests that use it, directly or through helpers."""
        for path, users in self._users_of_file.items():
            tests = {test for user in users for test in self._tests_of(user)}
            yield path, {self._symbols[test] for test in tests}

    def _tests_of(self, user: int) -> list[int]:
        """The user itself if it is a test, else the tests that use it."""
        if user not in self._tests:
            tests: list[int] = []
            pending = [user]
            seen = {user}
            while pending:
                at = pending.pop()
                if is_test_function(self._symbols[at]):
                    tests.append(at)
                    continue
                for further in self._users_of_helper.get(at, ()):
                    if further not in seen:
                        seen.add(further)
                        pending.append(further)
            self._tests[user] = tests
        return self._tests[user]


class WholeGraph:
    """The whole graph in memory. `files` maps a path to the digest, package, test, generated and origin of the file."""

    def __init__(self, tables: GraphTables) -> None:
        rows = tables.node_columns("File", ("id", "digest", "package", "test", "generated", "origin"))
        self.files: dict[str, FileRow] = {
            path: (digest, package, test, generated, origin)
            for _, path, digest, package, test, generated, origin in _rows(rows)
        }
        self._generated = frozenset(path for path, row in self.files.items() if row[3])
        packages = CardSymbolFactory(tables)
        self._symbols = _all_symbols(tables, packages)
        test_uses = TestUses(self._symbols)
        self._builders: defaultdict[str, FactsBuilder] = defaultdict(FactsBuilder)
        self.uses: dict[tuple[str, str], int] = {}
        """(user, used) → number of uses of one file by another"""
        for symbol in self._symbols.values():
            self._builders[symbol.file].symbols.append(symbol)
        callers: Counter[int] = Counter()
        testers: defaultdict[int, list[CardSymbol]] = defaultdict(list)
        for label in USES:
            self._add_uses(tables, label, callers, testers, test_uses)
        self._count_uses()
        for path, tests in test_uses.tests_by_file():
            self._builders[path].test_users = tests
        self._add_tests(tables)
        self._add_interfaces(tables, callers, testers, packages)
        columns = tables.node_columns("Unresolved", ("file", "name", "sites", "candidates"))
        self._doubts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for _, file, name, sites, candidates in _rows(columns):
            if not candidates:
                self._doubts[name][file] += len(sites.split())
        self._unnamed: defaultdict[str, Counter[str]] = defaultdict(Counter)
        methods: dict[int, str] = dict(_rows(tables.node_columns("External", ("name",))))
        invokes = EdgeKind("INVOKES", "Symbol", "External")
        for at, method_at, sites in _rows(tables.edge_columns(invokes, ("sites",))):
            self._unnamed[methods[method_at]][self._symbols[at].file] += len(sites.split())

    def take_facts(self, path: str) -> FileFacts:
        """The facts of a file. What they were made from is freed, so a file can be asked for once."""
        builder = self._builders.pop(path, None) or FactsBuilder()
        return builder.build(path, self.files[path], self._doubts, self._unnamed, self._generated)

    def _add_uses(
        self,
        tables: GraphTables,
        label: str,
        callers: Counter[int],
        testers: defaultdict[int, list[CardSymbol]],
        test_uses: TestUses,
    ) -> None:
        symbols, builders, is_call = self._symbols, self._builders, label == "CALLS"
        in_tests = test_uses.declared
        for source_at, target_at, sites in _edges(tables, label):
            source, target = symbols[source_at], symbols[target_at]
            if is_call and target.kind == "imethod":
                callers[target_at] += 1
                if is_test_function(source):
                    testers[target_at].append(source)
            if source.file != target.file:
                builders[target.file].uses.append(Use(label, target, source, sites))
            if source_at in in_tests:
                test_uses.add(source_at, target_at)

    def _count_uses(self) -> None:
        """Count by file, which is quicker than by edge."""
        for used, builder in list(self._builders.items()):
            for user, number in Counter([use.source.file for use in builder.uses]).items():
                self.uses[user, used] = number
            for user, number in Counter([use.source.file for use in builder.uses if use.label == "CALLS"]).items():
                self._builders[user].calls[used] = number

    def _add_tests(self, tables: GraphTables) -> None:
        for source_at, target_at, _ in _edges(tables, "TESTS"):
            test, target = self._symbols[source_at], self._symbols[target_at]
            if test.file != target.file:
                self._builders[target.file].tests.append((test, target))
                self._builders[test.file].exercised.append((test, target))

    def _add_interfaces(
        self,
        tables: GraphTables,
        callers: Counter[int],
        testers: Mapping[int, list[CardSymbol]],
        packages: CardSymbolFactory,
    ) -> None:
        symbols, plain = self._symbols, _plain_interfaces(tables, self._symbols)
        tests = {at: tuple(sorted(found)) for at, found in testers.items()}
        outside = tables.edge_columns(EdgeKind("IMPLEMENTS", "Symbol", "External"), ("evidence",))
        externals = {
            row[0]: row[1:] for row in _rows(tables.node_columns("External", ("kind", "name", "id", "package")))
        }
        required: list[tuple[CardSymbol, str, CardSymbol]] = []
        for at, external_at, evidence in _rows(outside):
            interface = packages.outside(*externals[external_at])
            self._builders[symbols[at].file].satisfies.append((symbols[at], interface))
            required += [(symbols[at], name, interface) for name in evidence.split()[1:]]
        inside = tables.edge_columns(EdgeKind("IMPLEMENTS", "Symbol", "Symbol"))
        methods: defaultdict[str, list[int]] = defaultdict(list)
        by_name: defaultdict[str, list[CardSymbol]] = defaultdict(list)
        for at, symbol in symbols.items():
            if symbol.kind == "imethod" and callers[at]:
                methods[symbol.qualified_name.rpartition(".")[0]].append(at)
            elif symbol.kind == "method":
                by_name[symbol.qualified_name].append(symbol)
        for type_at, interface_at in _rows(inside):
            kind, interface = symbols[type_at], symbols[interface_at]
            self._builders[kind.file].satisfies.append((kind, interface))
            self._builders[interface.file].satisfied.append((interface, kind))
            if interface_at in plain:
                self._builders[kind.file].plain.add(interface.qualified_name)
                self._builders[interface.file].plain.add(interface.qualified_name)
            for at in methods.get(interface.qualified_name, ()):
                for method in _methods_named(by_name, kind, symbols[at].name):
                    builder = self._builders[method.file]
                    builder.reached.append(Reach(method, symbols[at], callers[at], tests.get(at, ())))
                    if interface_at in plain:
                        builder.plain.add(interface.qualified_name)
        for kind, name, interface in required:
            for method in _methods_named(by_name, kind, name):
                self._builders[method.file].outside.append((method, interface))


def is_test_function(symbol: CardSymbol) -> bool:
    return symbol.test and symbol.kind == "func" and is_test_name(symbol.name) and symbol.name != "TestMain"


def _plain_interfaces(tables: GraphTables, symbols: Mapping[int, CardSymbol]) -> set[int]:
    """The numbers of all plain interfaces (see `is_plain`)."""
    signature_of: dict[int, str] = dict(_rows(tables.node_columns("Symbol", ("signature",))))
    signatures: defaultdict[int, list[str]] = defaultdict(list)
    for at, member_at in _rows(tables.edge_columns(EdgeKind("CONTAINS", "Symbol", "Symbol"))):
        if symbols[member_at].kind == "imethod":
            signatures[at].append(signature_of[member_at])
    plain = {at for at, found in signatures.items() if is_plain(found)}
    for label in ("Symbol", "External"):
        plain.difference_update(tables.edge_columns(EdgeKind("EMBEDS", "Symbol", label))[0])
    return plain


def is_plain(signatures: Collection[str]) -> bool:
    """Whether an interface with these methods is so plain that types satisfy it by coincidence: it has one method, in
    whose signature all types are predeclared, like `Name() string`. Types of packages begin with a capital letter."""
    if len(signatures) != 1:
        return False
    (signature,) = signatures
    return not any(letter.isupper() for letter in signature[signature.find("(") :])


def _methods_named(by_name: Mapping[str, list[CardSymbol]], kind: CardSymbol, name: str) -> list[CardSymbol]:
    """A type's own methods of that name: of twins those in the type's file, if there are any."""
    twins = by_name.get(f"{kind.qualified_name}.{name}", [])
    return [twin for twin in twins if twin.file == kind.file] or twins


def _all_symbols(tables: GraphTables, packages: CardSymbolFactory) -> dict[int, CardSymbol]:
    columns = tables.node_columns("Symbol", ("kind", "name", "qualified_name", "file", "line", "exported", "package"))
    return {row[0]: packages.named(*row[1:]) for row in _rows(columns)}


def _edges(tables: GraphTables, label: str) -> Iterable[tuple[Any, ...]]:
    """The numbers of both symbols, and the sites."""
    return _rows(tables.edge_columns(EdgeKind(label, "Symbol", "Symbol"), ("sites",)))


def _rows(columns: list[list[Any]]) -> Iterable[tuple[Any, ...]]:
    return zip(*columns, strict=True)
