"""What the graph knows about one file, for its card: who uses it, what it satisfies, which tests reach it.

`WholeGraph` reads the graph once, column by column, for the cards of all files; `single_file` queries the neighbourhood
of one file. Both return the same facts. Uses inside the file do not count: they can be read there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, final

from golore.graph.database.graph_tables import GraphTables
from golore.graph.model.edge_kinds import USES, EdgeKind
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.names.written_names import assumed_package_name

MEMBERS: Final = ("method", "imethod", "field")
Row = list[Any]
FileRow = tuple[str, str, bool, bool, str]
SYMBOL_COLUMNS: Final = "{0}.kind, {0}.name, {0}.qualified_name, {0}.file, {0}.line, {0}.exported, {0}.package"
FILE_COLUMNS: Final = "f.digest, f.package, f.test, f.generated, f.origin"
UNNAMED_CALLS: Final = "MATCH (a:Symbol)-[e:INVOKES]->(b:External) RETURN a.file, b.name, e.sites"
EXTERNAL_COLUMNS: Final = "{0}.kind, {0}.name, {0}.id, {0}.package"


@final
class CardSymbol:
    """A declaration as cards name it: `local` as in its own package (Memory.Save), `short` as in other packages
    (store.Memory.Save). An external one has no file. `test`: it is declared in a test file.

    Compared field by field, like a named tuple. A named tuple takes four times as long to make, to read and to hash.
    """

    __slots__ = ("exported", "file", "kind", "line", "local", "name", "qualified_name", "short", "test")

    def __init__(
        self, kind: str, name: str, qualified_name: str, file: str, line: int, exported: bool, local: str, short: str
    ) -> None:
        self.kind = kind
        self.name = name
        self.qualified_name = qualified_name
        self.file = file
        self.line = line
        self.exported = exported
        self.local = local
        self.short = short
        self.test = file.endswith("_test.go")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CardSymbol) and self.fields() == other.fields())

    def __lt__(self, other: CardSymbol) -> bool:
        return self is not other and self.fields() < other.fields()

    def __hash__(self) -> int:
        # Only twins have both of these in common.
        return hash(self.qualified_name) ^ self.line

    def __repr__(self) -> str:
        return f"CardSymbol{self.fields()!r}"

    def fields(self) -> tuple[str, str, str, str, int, bool, str, str]:
        """The key to sort many by: quicker than to compare them."""
        return (
            self.kind,
            self.name,
            self.qualified_name,
            self.file,
            self.line,
            self.exported,
            self.local,
            self.short,
        )


_NO_SYMBOL: Final = CardSymbol("", "", "", "", 0, False, "", "")


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


@final
class Use:
    """A use of a declaration of the file in another file. `sites` are lines of the other file, as in "12 40".

    Compared field by field, like a named tuple (see `CardSymbol`).
    """

    __slots__ = ("label", "sites", "source", "target")

    def __init__(self, label: str, target: CardSymbol, source: CardSymbol, sites: str) -> None:
        self.label = label
        self.target = target
        self.source = source
        self.sites = sites

    @property
    def line(self) -> int:
        """The first site; if there is none, the line where the user is declared."""
        return int(self.sites.partition(" ")[0]) if self.sites else self.source.line

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Use) and self._fields() == other._fields()

    def __lt__(self, other: Use) -> bool:
        return self._fields() < other._fields()

    def __hash__(self) -> int:
        return hash((self.label, self.target, self.source, self.sites))

    def __repr__(self) -> str:
        return f"Use{self._fields()!r}"

    def _fields(self) -> tuple[str, CardSymbol, CardSymbol, str]:
        return (self.label, self.target, self.source, self.sites)


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
        "called",
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
        self.called: list[str] = []
        """the file of each target of a `CALLS` edge to another file"""

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
            _sorted_pairs(self.tests),
            _sorted_pairs(self.exercised),
            _sorted_pairs(self.satisfies),
            _sorted_pairs(self.satisfied),
            _sorted_reaches(self.reached),
            _sorted_pairs(self.outside),
            Counter(self.called),
            _elsewhere(members, doubts, path),
            _elsewhere(methods, unnamed, path),
            frozenset(self.plain),
            generated_files,
            tuple(sorted(self.test_users, key=_symbol_key)),
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
                self.called.append(target.file)
            elif label == "TESTS":
                self.exercised.append((source, target))


def _sorted_pairs(pairs: list[tuple[CardSymbol, CardSymbol]]) -> tuple[tuple[CardSymbol, CardSymbol], ...]:
    """The pairs in order, each once."""
    found: list[tuple[CardSymbol, CardSymbol]] = []
    for pair in sorted(pairs, key=_pair_key):
        if not found or pair != found[-1]:
            found.append(pair)
    return tuple(found)


def _sorted_reaches(reaches: list[Reach]) -> tuple[Reach, ...]:
    """In order, each once."""
    found: list[Reach] = []
    for reach in sorted(reaches, key=_reach_key):
        if not found or reach != found[-1]:
            found.append(reach)
    return tuple(found)


def _pair_key(pair: tuple[CardSymbol, CardSymbol]) -> tuple[object, ...]:
    return pair[0].fields(), pair[1].fields()


def _symbol_key(symbol: CardSymbol) -> tuple[str, str, str, str, int, bool, str, str]:
    return symbol.fields()


def _reach_key(reach: Reach) -> tuple[object, ...]:
    return reach.method.fields(), reach.through.fields(), reach.callers, reach.tests


def _elsewhere(names: Iterable[str], uses: Mapping[str, Mapping[str, int]], path: str) -> tuple[tuple[str, int], ...]:
    """The number of uses of each name in other files, without names that have none."""
    found: list[tuple[str, int]] = []
    for name in names:
        counts = uses.get(name)
        if counts:
            number = sum([number for file, number in counts.items() if file != path])
            if number:
                found.append((name, number))
    found.sort()
    return tuple(found)


class TestUses:
    """The uses in test files, by the numbers of the symbols. A declaration of a test file that is no test itself is a
    helper."""

    __test__ = False  # for pytest

    def __init__(self, symbols: list[CardSymbol]) -> None:
        self._symbols = symbols
        self._users_of_file: defaultdict[str, set[int]] = defaultdict(set)
        self._users_of_helper: defaultdict[int, list[int]] = defaultdict(list)
        self._tests: dict[int, list[int]] = {}

    def add(self, user: int, used: int) -> None:
        """Add a use by a declaration of a test file."""
        target = self._symbols[used]
        if target.test:
            self._users_of_helper[used].append(user)
        else:
            self._users_of_file[target.file].add(user)

    def tests_of_file(self, path: str) -> set[CardSymbol]:
        """The tests that use a file, directly or through helpers. Empty for a test file."""
        tests = {test for user in self._users_of_file.get(path, ()) for test in self._tests_of(user)}
        return {self._symbols[test] for test in tests}

    def _tests_of(self, user: int) -> list[int]:
        """The user itself if it is a test, else the tests that use it."""
        known = self._tests.get(user)
        if known is not None:
            return known
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
        return tests


class WholeGraph:
    """The whole graph in memory. `files` maps a path to the digest, package, test, generated and origin of the file.

    With `share`, the paths of all files of some directories, facts can be asked for only of these: then much less is
    collected. `plain` are the `plain_interfaces` of these tables, if they are known.
    """

    def __init__(
        self, tables: GraphTables, share: Collection[str] | None = None, plain: Collection[int] | None = None
    ) -> None:
        self.files = file_rows_of(tables)
        self._generated = frozenset(path for path, row in self.files.items() if row[3])
        packages = CardSymbolFactory(tables)
        self._symbols = _all_symbols(tables, packages)
        self._test_uses = TestUses(self._symbols)
        self._builders: dict[str, FactsBuilder] = {
            path: FactsBuilder() for path in (self.files if share is None else share)
        }
        for symbol in self._symbols:
            builder = self._builders.get(symbol.file)
            if builder is not None:
                builder.symbols.append(symbol)
        callers: dict[int, int] = {}
        testers: defaultdict[int, list[CardSymbol]] = defaultdict(list)
        for label in USES:
            self._add_uses(tables, label, callers, testers)
        self._add_tests(tables)
        plain = plain_interfaces(tables) if plain is None else plain
        self._add_interfaces(tables, callers, testers, packages, frozenset(plain))
        columns = tables.node_columns("Unresolved", ("file", "name", "sites", "candidates"))
        self._doubts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for _, file, name, sites, candidates in _rows(columns):
            if not candidates:
                self._doubts[name][file] += len(sites.split())
        self._unnamed: defaultdict[str, Counter[str]] = defaultdict(Counter)
        methods: dict[int, str] = dict(_rows(tables.node_columns("External", ("name",))))
        invokes = EdgeKind("INVOKES", "Symbol", "External")
        callers_at, methods_at, lines = tables.edge_columns(invokes, ("sites",))
        for index in range(len(callers_at)):
            at: int = callers_at[index]
            caller = self._symbols[at]
            self._unnamed[methods[methods_at[index]]][caller.file] += len(lines[index].split())

    def take_facts(self, path: str) -> FileFacts:
        """The facts of a file. What they were made from is freed, so a file can be asked for once."""
        builder = self._builders.pop(path)
        builder.test_users = self._test_uses.tests_of_file(path)
        return builder.build(path, self.files[path], self._doubts, self._unnamed, self._generated)

    def _add_uses(
        self,
        tables: GraphTables,
        label: str,
        callers: dict[int, int],
        testers: defaultdict[int, list[CardSymbol]],
    ) -> None:
        symbols, builders, test_uses, is_call = self._symbols, self._builders, self._test_uses, label == "CALLS"
        sources, targets, sites = tables.edge_columns(EdgeKind(label, "Symbol", "Symbol"), ("sites",))
        for index in range(len(sources)):
            source_at: int = sources[index]
            target_at: int = targets[index]
            source, target = symbols[source_at], symbols[target_at]
            if is_call and target.kind == "imethod":
                callers[target_at] = callers.get(target_at, 0) + 1
                if is_test_function(source):
                    testers[target_at].append(source)
            if source.file != target.file:
                builder = builders.get(target.file)
                if builder is not None:
                    builder.uses.append(Use(label, target, source, sites[index]))
                if is_call:
                    builder = builders.get(source.file)
                    if builder is not None:
                        builder.called.append(target.file)
            if source.test:
                test_uses.add(source_at, target_at)

    def _add_tests(self, tables: GraphTables) -> None:
        sources, targets = tables.edge_columns(EdgeKind("TESTS", "Symbol", "Symbol"))
        for index in range(len(sources)):
            source_at: int = sources[index]
            target_at: int = targets[index]
            test, target = self._symbols[source_at], self._symbols[target_at]
            if test.file != target.file:
                pair = (test, target)
                builder = self._builders.get(target.file)
                if builder is not None:
                    builder.tests.append(pair)
                builder = self._builders.get(test.file)
                if builder is not None:
                    builder.exercised.append(pair)

    def _add_interfaces(
        self,
        tables: GraphTables,
        callers: dict[int, int],
        testers: Mapping[int, list[CardSymbol]],
        packages: CardSymbolFactory,
        plain: frozenset[int],
    ) -> None:
        symbols, builders = self._symbols, self._builders
        tests = {at: tuple(sorted(found)) for at, found in testers.items()}
        # A type's methods are in its package, and so are among the same share of the files.
        by_name: defaultdict[str, list[CardSymbol]] = defaultdict(list)
        for builder in builders.values():
            for symbol in builder.symbols:
                if symbol.kind == "method":
                    by_name[symbol.qualified_name].append(symbol)
        self._add_outside_interfaces(tables, packages, by_name)
        methods: defaultdict[str, list[int]] = defaultdict(list)
        for at in callers:
            methods[symbols[at].qualified_name.rpartition(".")[0]].append(at)
        sources, targets = tables.edge_columns(EdgeKind("IMPLEMENTS", "Symbol", "Symbol"))
        for index in range(len(sources)):
            type_at: int = sources[index]
            interface_at: int = targets[index]
            kind, interface = symbols[type_at], symbols[interface_at]
            is_plain = interface_at in plain
            of_interface = builders.get(interface.file)
            if of_interface is not None:
                of_interface.satisfied.append((interface, kind))
                if is_plain:
                    of_interface.plain.add(interface.qualified_name)
            of_type = builders.get(kind.file)
            if of_type is None:
                continue
            of_type.satisfies.append((kind, interface))
            if is_plain:
                of_type.plain.add(interface.qualified_name)
            for at in methods.get(interface.qualified_name, ()):
                for method in _methods_named(by_name, kind, symbols[at].name):
                    builder = builders[method.file]
                    builder.reached.append(Reach(method, symbols[at], callers[at], tests.get(at, ())))
                    if is_plain:
                        builder.plain.add(interface.qualified_name)

    def _add_outside_interfaces(
        self, tables: GraphTables, packages: CardSymbolFactory, by_name: Mapping[str, list[CardSymbol]]
    ) -> None:
        externals: dict[int, tuple[str, str, str, str]] = {
            at: (kind, name, id, package)
            for at, kind, name, id, package in _rows(tables.node_columns("External", ("kind", "name", "id", "package")))
        }
        interfaces: dict[int, CardSymbol] = {}
        outside = EdgeKind("IMPLEMENTS", "Symbol", "External")
        sources, targets, texts = tables.edge_columns(outside, ("evidence",))
        for index in range(len(sources)):
            at: int = sources[index]
            external_at: int = targets[index]
            evidence: str = texts[index]
            kind = self._symbols[at]
            builder = self._builders.get(kind.file)
            if builder is None:
                continue
            if external_at not in interfaces:
                interfaces[external_at] = packages.outside(*externals[external_at])
            interface = interfaces[external_at]
            builder.satisfies.append((kind, interface))
            for name in evidence.split()[1:]:
                for method in _methods_named(by_name, kind, name):
                    self._builders[method.file].outside.append((method, interface))


def file_rows_of(tables: GraphTables) -> dict[str, FileRow]:
    """All files of the graph with their columns."""
    columns = tables.node_columns("File", ("id", "digest", "package", "test", "generated", "origin"))
    return {
        path: (digest, package, test, generated, origin)
        for _, path, digest, package, test, generated, origin in _rows(columns)
    }


def is_test_function(symbol: CardSymbol) -> bool:
    return symbol.test and symbol.kind == "func" and is_test_name(symbol.name) and symbol.name != "TestMain"


def plain_interfaces(tables: GraphTables) -> set[int]:
    """The numbers of all plain interfaces (see `is_plain`)."""
    numbers, kinds, texts = tables.node_columns("Symbol", ("kind", "signature"))
    signature_of: dict[int, str] = {
        at: text for at, kind, text in zip(numbers, kinds, texts, strict=True) if kind == "imethod"
    }
    signatures: defaultdict[int, list[str]] = defaultdict(list)
    for at, member_at in _rows(tables.edge_columns(EdgeKind("CONTAINS", "Symbol", "Symbol"))):
        signature = signature_of.get(member_at)
        if signature is not None:
            signatures[at].append(signature)
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


def _all_symbols(tables: GraphTables, packages: CardSymbolFactory) -> list[CardSymbol]:
    """The symbols, each at the position of its number. Numbers without a symbol have one without a name."""
    columns = tables.node_columns("Symbol", ("kind", "name", "qualified_name", "file", "line", "exported", "package"))
    numbers: list[int] = columns[0]
    symbols = [_NO_SYMBOL] * (max(numbers, default=-1) + 1)
    for at, kind, name, qualified_name, file, line, exported, package in _rows(columns):
        symbols[at] = packages.named(kind, name, qualified_name, file, line, exported, package)
    return symbols


def _rows(columns: list[list[Any]]) -> Iterable[tuple[Any, ...]]:
    return zip(*columns, strict=True)
