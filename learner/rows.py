"""A resolved package → the rows of the graph: its nodes and the edges that begin in it.

Everything about one package follows from its facts and its resolved uses alone; edges that need all packages at once
(`IMPLEMENTS`) are made elsewhere. Rows come out sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from golore.graph.model import (
    REPOSITORY_ID,
    Edge,
    EdgeKind,
    External,
    File,
    Node,
    Symbol,
    Unresolved,
)
from golore.graph.model import Package as PackageNode
from golore.graph.slices import Slice
from golore.learner import facts as f
from golore.learner.catalog import CatalogFile, CatalogPackage
from golore.learner.exercise import exercised, is_test_name
from golore.learner.lookup import visible
from golore.learner.record import member_id
from golore.learner.resolve import FileUses
from golore.learner.types import Declaration, FileScope, Package, is_exported

IN_REPOSITORY = EdgeKind("CONTAINS", "Repository", "Package")
IN_PACKAGE = EdgeKind("CONTAINS", "Package", "File")
IN_FILE = EdgeKind("CONTAINS", "File", "Symbol")
IN_TYPE = EdgeKind("CONTAINS", "Symbol", "Symbol")
TESTS = EdgeKind("TESTS", "Symbol", "Symbol")


class ImportTarget(NamedTuple):
    """What an import leads to: a package of the repository by its id, or one outside by its path and source."""

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


def package_rows(
    entry: CatalogPackage,
    package: Package,
    files: list[ResolvedFile],
    import_of: Callable[[str], ImportTarget | None],
    source_of: Callable[[str], str],
) -> Slice:
    """All rows of one package. `import_of` tells where imports lead, `source_of` where outside packages are from."""
    rows = Slice()
    doc = next((file.outline.doc for file in files if file.outline.doc and not file.entry.test), "")
    rows.nodes["Package"].append(
        PackageNode(entry.id, entry.path, entry.name, entry.dir, entry.module, doc, entry.test)
    )
    rows.edges[IN_REPOSITORY].append(Edge(REPOSITORY_ID, entry.id))
    externals: dict[str, External] = {}
    for file in files:
        _file_rows(rows, entry, file)
        _symbol_rows(rows, entry, package, file)
        _import_rows(rows, file, import_of, externals)
        _use_rows(rows, file, source_of, externals)
    rows.nodes["External"] += [externals[id] for id in sorted(externals)]
    rows.edges[TESTS] += _tests(package, files)
    return rows


def _file_rows(rows: Slice, entry: CatalogPackage, file: ResolvedFile) -> None:
    outline = file.outline
    problems = [f"line {complaint.line}: {complaint.message}" for complaint in outline.complaints]
    path = file.entry.path
    rows.nodes["File"].append(
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
            tuple(problems + file.uses.complaints),
        )
    )
    rows.edges[IN_PACKAGE].append(Edge(entry.id, path))


def _identified(file: ResolvedFile) -> Iterator[tuple[str, str, f.Declared, Declaration]]:
    """Each symbol with its id, its owner's name and the declaration it is, or is a member of."""
    decls = iter(file.scope.decls)
    decl: Declaration | None = None
    seen: dict[str, int] = {}
    for symbol in file.outline.symbols:
        if symbol.kind in ("field", "imethod"):
            if decl is None:
                continue
            id = member_id(decl, symbol.name)
            if id not in seen and symbol.name in decl.file.package.methods.get(decl.name, {}):
                seen[id] = 1  # broken code: a method has the field's name, and its id
            seen[id] = seen.get(id, 0) + 1
            yield id if seen[id] == 1 else f"{id}#{seen[id]}", decl.name, symbol, decl
        else:
            decl = next(decls)
            yield decl.id, decl.owner, symbol, decl


def _symbol_rows(rows: Slice, entry: CatalogPackage, package: Package, file: ResolvedFile) -> None:
    symbols: list[Node] = rows.nodes["Symbol"]
    for id, owner, shown, decl in _identified(file):
        is_member = shown.kind in ("field", "imethod")
        owner_id = decl.id if is_member else _owner_id(package, decl)
        qualified = f"{entry.path}.{owner}.{shown.name}" if owner else f"{entry.path}.{shown.name}"
        symbols.append(
            Symbol(
                id,
                shown.kind,
                shown.name,
                qualified,
                entry.id,
                file.entry.path,
                shown.line,
                shown.end_line,
                shown.start,
                shown.end,
                owner_id,
                shown.signature,
                shown.doc,
                shown.tag,
                is_exported(shown.name),
                shown.deprecated,
                shown.embedded,
            )
        )
        if not is_member:
            rows.edges[IN_FILE].append(Edge(file.entry.path, id))
        if owner_id:
            rows.edges[IN_TYPE].append(Edge(owner_id, id))


def _owner_id(package: Package, method: Declaration) -> str:
    """The type a method belongs to: its own file's or build's, if there are twins."""
    if not method.owner:
        return ""
    owners = package.members.get(method.owner)
    return visible(owners, method.file)[0].id if owners else ""


def _import_rows(
    rows: Slice,
    file: ResolvedFile,
    import_of: Callable[[str], ImportTarget | None],
    externals: dict[str, External],
) -> None:
    lines: dict[str, list[int]] = {}
    for imported, line in zip(file.outline.imports, file.outline.import_lines, strict=True):
        lines.setdefault(imported.path, []).append(line)
    for path in sorted(lines):
        target = import_of(path)
        if target is None:
            continue
        label = "External" if target.external else "Package"
        edge = Edge(file.entry.path, target.id, tuple(lines[path]))
        rows.edges[EdgeKind("IMPORTS", "File", label)].append(edge)
        if target.external:
            name = target.id.rpartition("/")[2]
            externals[target.id] = External(target.id, "package", name, target.id, target.source)


def _use_rows(rows: Slice, file: ResolvedFile, source_of: Callable[[str], str], externals: dict[str, External]) -> None:
    outside = file.uses.externals
    for id, (kind, name, path) in outside.items():
        known = externals.get(id)
        if known is None or known.kind == "unknown":
            externals[id] = External(id, kind, name, path, source_of(path))
    dynamic = file.uses.dynamic
    for uses in file.uses.uses:
        for target in sorted(uses.calls):
            evidence = "interface" if target in dynamic else "static"
            edge = Edge(uses.source, target, _sites(uses.calls[target]), evidence)
            rows.edges[EdgeKind("CALLS", "Symbol", _label(target, outside))].append(edge)
        for target in sorted(uses.references):
            if target != uses.source:
                edge = Edge(uses.source, target, _sites(uses.references[target]), "static")
                rows.edges[EdgeKind("REFERENCES", "Symbol", _label(target, outside))].append(edge)
        for target, pointer in sorted(uses.embeds):
            edge = Edge(uses.source, target, (), "declaration", pointer)
            rows.edges[EdgeKind("EMBEDS", "Symbol", _label(target, outside))].append(edge)
        rows.nodes["Unresolved"] += _unresolved(uses.source, file.entry.path, uses.unresolved)


def _label(target: str, outside: Mapping[str, object]) -> str:
    return "External" if target in outside else "Symbol"


def _sites(lines: list[int]) -> tuple[int, ...]:
    return tuple(sorted(set(lines))) if len(lines) > 1 else tuple(lines)


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
        nodes.append(Unresolved(id, source, name, path, reason, _sites(lines), tuple(candidates)))
    return nodes


def _tests(package: Package, files: list[ResolvedFile]) -> list[Edge]:
    """TESTS edges of the package's test files."""
    calls = {uses.source: uses.calls for file in files if file.entry.test for uses in file.uses.uses}
    if not calls:
        return []
    tests = {
        decl.id: decl.name
        for file in files
        if file.entry.test
        for decl in file.scope.decls
        if decl.kind == f.FUNC and is_test_name(decl.name)
    }
    under_test = package.tested if package.tested is not None else package
    subjects = {decl.id for scope in under_test.files if not scope.test for decl in scope.decls}
    helpers = set(calls) | {decl.id for scope in under_test.files if scope.test for decl in scope.decls}
    outside = {id for file in files if file.entry.test for id in file.uses.externals}
    dynamic = {id for file in files if file.entry.test for id in file.uses.dynamic}
    inside = {target for found in calls.values() for target in found} - outside - helpers
    return exercised(tests, calls, helpers, subjects, inside - dynamic)
