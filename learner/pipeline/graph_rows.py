"""Turns resolved packages and files into rows of the graph: their nodes, and the edges that start at them.

The rows of a package depend only on its facts and its resolved uses. `IMPLEMENTS` edges need all packages at once and
are made in `implements_edges`. If a file changed but its shape did not, only its `file_rows` can have changed, apart
from the package's documentation and the `TESTS` edges (see `Testing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, final

from golore.graph.database.subgraph import Subgraph
from golore.graph.model.edge_columns import EdgeColumns, EdgeTables, text_of_line, text_of_lines
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import REPOSITORY_ID, External, File, Node, Symbol, Unresolved
from golore.graph.model.entities import Package as PackageNode
from golore.graph.model.test_names import is_test_name
from golore.learner.extraction import facts as f
from golore.learner.pipeline.test_edges import test_edges
from golore.learner.project.catalog import CatalogFile, CatalogPackage
from golore.learner.resolution.members import visible
from golore.learner.resolution.resolve_file import FileUses
from golore.learner.resolution.types import Declaration, FileScope, PackageScope, is_exported
from golore.learner.resolution.use_recorder import ACCESSES, member_id

IN_REPOSITORY = EdgeKind("CONTAINS", "Repository", "Package")
IN_PACKAGE = EdgeKind("CONTAINS", "Package", "File")
IN_FILE = EdgeKind("CONTAINS", "File", "Symbol")
IN_TYPE = EdgeKind("CONTAINS", "Symbol", "Symbol")
TESTS = EdgeKind("TESTS", "Symbol", "Symbol")
CONVERTS = EdgeKind("CONVERTS", "Symbol", "Symbol")
INVOKES = EdgeKind("INVOKES", "Symbol", "External")
RUNS_IF = EdgeKind("RUNS_IF", "Symbol", "Symbol")
SETS = EdgeKind("SETS", "Symbol", "Symbol")
CALLS, REFERENCES, EMBEDS = (
    (EdgeKind(label, "Symbol", "Symbol"), EdgeKind(label, "Symbol", "External"))
    for label in ("CALLS", "REFERENCES", "EMBEDS")
)
"""For each label, the kind of edge to a symbol of the repository and the kind of edge to an external symbol."""


class ImportTarget(NamedTuple):
    """The target of an import: the id of a package of the repository, or the path and source of an external package."""

    id: str
    external: bool
    source: str


class ResolvedFile(NamedTuple):
    entry: CatalogFile
    scope: FileScope
    outline: f.Outline
    digest: str
    size: int
    uses: FileUses


class Testing(NamedTuple):
    """What the `TESTS` edges of one package are made from.

    `tests`: id → name of its test functions. `own`: declarations in its test files. `helpers`: `own`, and the
    declarations in the test files of the package under test. `subjects`: declarations of the package under test outside
    test files. `calls`: the calls in its test files, or in those of them that were resolved. `beyond`: those of `calls`
    whose target is external or an interface method.
    """

    tests: dict[str, str]
    test_declarations: frozenset[str]
    helpers: frozenset[str]
    subjects: frozenset[str]
    calls: dict[str, dict[str, list[int]]]
    external_calls: frozenset[tuple[str, str]]


ImportOf = Callable[[str], ImportTarget | None]
"""Import path → target; None if there is none."""
SourceOf = Callable[[str], str]
"""Path of an external package → its source (see `ResolutionWorker.source_of`)."""


@final
class Rows:
    """Nodes and edges of packages. `edges` may be those of a load, to which these are added."""

    def __init__(self, edges: EdgeTables) -> None:
        self.nodes: Final[dict[str, list[Node]]] = {}
        self.edges: Final = edges

    def nodes_of(self, label: str) -> list[Node]:
        return self.nodes.setdefault(label, [])

    def subgraph(self) -> Subgraph:
        found = Subgraph()
        for label, nodes in self.nodes.items():
            found.nodes[label] += nodes
        for kind, edges in self.edges.by_kind.items():
            found.edges[kind] += edges.rows()
        return found


def package_rows(
    edges: EdgeTables,
    entry: CatalogPackage,
    package: PackageScope,
    files: list[ResolvedFile],
    import_of: ImportOf,
    source_of: SourceOf,
) -> Rows:
    """All rows of one package, except `IMPLEMENTS` edges. The edges are added to `edges`."""
    rows = Rows(edges)
    doc = next((file.outline.doc for file in files if file.outline.doc and not file.entry.test), "")
    rows.nodes_of("Package").append(package_node(entry, doc))
    edges.of(IN_REPOSITORY).add(REPOSITORY_ID, entry.id)
    in_package = edges.of(IN_PACKAGE)
    externals: dict[str, External] = {}
    for file in files:
        in_package.add(entry.id, file.entry.path)
        _add_file(rows, entry, package, file, import_of, source_of, externals)
    rows.nodes_of("External").extend([externals[id] for id in sorted(externals)])
    testing = testing_of(package, files)
    if testing.calls:
        found = test_edges(
            testing.tests,
            testing.calls,
            testing.helpers,
            testing.subjects,
            lambda caller, target: (caller, target) not in testing.external_calls,
        )
        tests = edges.of(TESTS)
        for edge in found:
            tests.add_row(edge)
    return rows


def file_rows(
    entry: CatalogPackage, package: PackageScope, files: list[ResolvedFile], import_of: ImportOf, source_of: SourceOf
) -> Rows:
    """The rows that depend only on the text of these files.

    Leaves out the package node, `TESTS` edges, and the `CONTAINS` edges to files and to the members of types.
    """
    rows = Rows(EdgeTables())
    externals: dict[str, External] = {}
    for file in files:
        _add_file(rows, entry, package, file, import_of, source_of, externals)
    rows.nodes_of("External").extend([externals[id] for id in sorted(externals)])
    rows.edges.by_kind.pop(IN_TYPE, None)
    return rows


def package_node(entry: CatalogPackage, doc: str) -> PackageNode:
    return PackageNode(entry.id, entry.path, entry.name, entry.dir, entry.module, doc, entry.test)


def testing_of(package: PackageScope, files: list[ResolvedFile]) -> Testing:
    """The tests of a package, with the calls in those of `files` that are test files. Empty if those use nothing."""
    calls = {uses.source: uses.calls for file in files if file.entry.test for uses in file.uses.uses}
    if not calls:
        return Testing({}, frozenset(), frozenset(), frozenset(), {}, frozenset())
    declared = [decl for scope in package.files if scope.test for decl in scope.decls]
    tests = {decl.id: decl.name for decl in declared if decl.kind == f.FUNC and is_test_name(decl.name)}
    own = frozenset(decl.id for decl in declared)
    under_test = package.package_under_test if package.package_under_test is not None else package
    subjects = frozenset(decl.id for scope in under_test.files if not scope.test for decl in scope.decls)
    helpers = own.union(decl.id for scope in under_test.files if scope.test for decl in scope.decls)
    beyond = frozenset(
        (uses.source, target)
        for file in files
        if file.entry.test
        for uses in file.uses.uses
        for target in uses.calls
        if target in file.uses.externals or target in file.uses.interface_calls
    )
    return Testing(tests, own, helpers, subjects, calls, beyond)


def _add_file(
    rows: Rows,
    entry: CatalogPackage,
    package: PackageScope,
    file: ResolvedFile,
    import_of: ImportOf,
    source_of: SourceOf,
    externals: dict[str, External],
) -> None:
    _file_row(rows, entry, file)
    _symbol_rows(rows, entry, package, file)
    _import_rows(rows, file, import_of, externals)
    _use_rows(rows, file, source_of, externals)


def _file_row(rows: Rows, entry: CatalogPackage, file: ResolvedFile) -> None:
    outline = file.outline
    problems = [f"line {problem.line}: {problem.message}" for problem in outline.problems]
    path = file.entry.path
    rows.nodes_of("File").append(
        File(
            path,
            path,
            entry.id,
            file.digest,
            outline.shape,
            outline.lines,
            file.size,
            file.entry.constraint,
            file.entry.test,
            outline.generated,
            outline.cgo,
            tuple(problems + file.uses.problems),
            outline.origin,
        )
    )


def _symbols_with_ids(file: ResolvedFile) -> Iterator[tuple[str, str, f.DeclaredSymbol, Declaration]]:
    """Yields each symbol with its id, the name of its owner, and its declaration, or for a field or interface method
    the declaration of the type or variable."""
    decls = iter(file.scope.decls)
    decl: Declaration | None = None
    seen: dict[str, int] = {}
    for symbol in file.outline.symbols:
        if symbol.kind in ("field", "imethod"):
            if decl is None:
                continue
            path = _path_in(decl, f"{symbol.owner}.{symbol.name}")
            id = member_id(decl, path)
            methods = decl.file.package.methods.get(decl.name, {}).get(path, ())
            if id not in seen and any(method.id == id for method in methods):
                seen[id] = 1  # invalid code: a method has the same name, hence the same id, as the field
            seen[id] = seen.get(id, 0) + 1
            yield id if seen[id] == 1 else f"{id}#{seen[id]}", symbol.owner, symbol, decl
        else:
            decl = next(decls)
            yield decl.id, decl.owner, symbol, decl


def _symbol_rows(rows: Rows, entry: CatalogPackage, package: PackageScope, file: ResolvedFile) -> None:
    symbols = rows.nodes_of("Symbol")
    in_file, in_type = rows.edges.of(IN_FILE), rows.edges.of(IN_TYPE)
    for id, owner, symbol, decl in _symbols_with_ids(file):
        is_member = symbol.kind in ("field", "imethod")
        owner_id = _member_owner_id(decl, owner) if is_member else _owner_id(package, decl)
        qualified = f"{entry.path}.{owner}.{symbol.name}" if owner else f"{entry.path}.{symbol.name}"
        symbols.append(
            Symbol(
                id,
                symbol.kind,
                symbol.name,
                qualified,
                entry.id,
                file.entry.path,
                symbol.line,
                symbol.end_line,
                symbol.start,
                symbol.end,
                owner_id,
                symbol.signature,
                symbol.doc,
                symbol.tag,
                is_exported(symbol.name),
                symbol.deprecated,
                symbol.embedded,
            )
        )
        if not is_member:
            in_file.add(file.entry.path, id)
        if owner_id:
            in_type.add(owner_id, id)


def _path_in(decl: Declaration, name: str) -> str:
    """The part of a member's name that follows the name of the declaration it belongs to."""
    return name[len(decl.name) + 1 :]


def _member_owner_id(decl: Declaration, owner: str) -> str:
    """The id of the declaration that has a member, or of the field that the member is nested in."""
    return decl.id if owner == decl.name else member_id(decl, _path_in(decl, owner))


def _owner_id(package: PackageScope, method: Declaration) -> str:
    """The id of a method's type. If the type has twins, the one in the same file or in a compatible build."""
    if not method.owner:
        return ""
    owners = package.members.get(method.owner)
    return visible(owners, method.file)[0].id if owners else ""


def _import_rows(
    rows: Rows,
    file: ResolvedFile,
    import_of: ImportOf,
    externals: dict[str, External],
) -> None:
    lines: dict[str, list[int]] = {}
    names: dict[str, set[str]] = {}
    for imported, line in zip(file.outline.imports, file.outline.import_lines, strict=True):
        lines.setdefault(imported.path, []).append(line)
        names.setdefault(imported.path, set()).add(imported.alias)
    for path in sorted(lines):
        target = import_of(path)
        if target is None:
            continue
        label = "External" if target.external else "Package"
        aliases = " ".join(sorted(names[path] - {""}))
        rows.edges.of(EdgeKind("IMPORTS", "File", label)).add(
            file.entry.path, target.id, text_of_lines(tuple(lines[path])), aliases
        )
        if target.external:
            name = target.id.rpartition("/")[2]
            externals[target.id] = External(target.id, "package", name, target.id, target.source)


def _use_rows(rows: Rows, file: ResolvedFile, source_of: SourceOf, externals: dict[str, External]) -> None:
    outside = file.uses.externals
    for id, (kind, name, path) in outside.items():
        known = externals.get(id)
        if known is None or known.kind == "unknown":
            externals[id] = External(id, kind, name, path, source_of(path))
    dynamic = file.uses.interface_calls
    tables = rows.edges
    calls, outside_calls = tables.of(CALLS[0]), tables.of(CALLS[1])
    references, outside_references = tables.of(REFERENCES[0]), tables.of(REFERENCES[1])
    embeds, outside_embeds = tables.of(EMBEDS[0]), tables.of(EMBEDS[1])
    invokes, converts, runs_if, sets = tables.of(INVOKES), tables.of(CONVERTS), tables.of(RUNS_IF), tables.of(SETS)
    unresolved = rows.nodes_of("Unresolved")
    for uses in file.uses.uses:
        source = uses.source
        for target, lines in uses.calls.items():
            evidence = "interface" if target in dynamic else "static"
            table = outside_calls if target in outside else calls
            table.add(source, target, _sites(lines), evidence)
        for target, lines in uses.references.items():
            if target != source:
                table = outside_references if target in outside else references
                table.add(source, target, _sites(lines), "static")
        for target, accesses in uses.fields.items():
            _add_field_use(outside_references if target in outside else references, source, target, accesses)
        for target, lines in uses.invoked.items():
            invokes.add(source, target, _sites(lines), "interface")
        for target, pointer in sorted(uses.embeds):
            table = outside_embeds if target in outside else embeds
            table.add(source, target, "", "declaration", pointer)
        for target in sorted(uses.conversions):
            converts.add(source, target, "", " ".join(sorted(uses.conversions[target])))
        for target in sorted(uses.conditions):
            if target not in outside and target != source:
                runs_if.add(source, target, "", " ".join(sorted(uses.conditions[target])))
        for target in sorted(uses.sets):
            if target != source:
                sets.add(source, target, "", "static")
        if uses.unresolved:
            unresolved.extend(_unresolved(source, file.entry.path, uses.unresolved))


def _add_field_use(references: EdgeColumns, source: str, target: str, uses: list[int]) -> None:
    """`uses`: lines times the number of accesses, plus the access (see `UseRecorder`)."""
    if len(uses) == 1:
        use = uses[0]
        references.add(
            source, target, text_of_line(use // len(ACCESSES)), "static", False, ACCESSES[use % len(ACCESSES)]
        )
        return
    ordered = sorted(set(uses))
    sites = " ".join([text_of_line(use // len(ACCESSES)) for use in ordered])
    accesses = " ".join([ACCESSES[use % len(ACCESSES)] for use in ordered])
    references.add(source, target, sites, "static", False, accesses)


def _sites(lines: list[int]) -> str:
    if len(lines) == 1:
        return text_of_line(lines[0])
    return " ".join([text_of_line(line) for line in sorted(set(lines))])


def _unresolved(source: str, path: str, found: dict[tuple[str, str, str], list[int]]) -> list[Node]:
    nodes: list[Node] = []
    grouped: dict[tuple[str, str], tuple[list[int], list[str]]] = {}
    for name, reason, candidate in sorted(found):
        lines, candidates = grouped.setdefault((name, reason), ([], []))
        lines += found[name, reason, candidate]
        if candidate:
            candidates.append(candidate)
    seen: dict[str, int] = {}
    for (name, reason), (lines, candidates) in grouped.items():
        seen[name] = seen.get(name, 0) + 1
        id = f"{source}?{name}" if seen[name] == 1 else f"{source}?{name}#{seen[name]}"
        nodes.append(Unresolved(id, source, name, path, reason, tuple(sorted(set(lines))), tuple(candidates)))
    return nodes
