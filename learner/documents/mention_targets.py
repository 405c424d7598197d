"""Finds the nodes of the graph that mentions in documents may mean, and the examples of packages.

A row is a key (see `mentions.keys`) and a node. The whole graph is read once; after an edit only the changed files are
read, and the files with twins of their declarations.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from golore.graph.database.graph_tables import GraphTables
from golore.graph.database.store import Store
from golore.graph.knowledge.documents import Example
from golore.learner.documents.mentions import MentionTarget, is_camel_case

Row = tuple[str, ...]
"""A key, followed by the fields of a `MentionTarget`."""
_SYMBOL: Final = "{0}.id, {0}.kind, {0}.name, {0}.qualified_name, {0}.package, {0}.file, {0}.line"
_EXAMPLE: Final = "Example"


class FoundTargets(NamedTuple):
    """`appearances` are by file (see `appearance_of`); `targets_in` leaves them empty."""

    rows: set[Row]
    examples: list[Example]
    appearances: dict[str, str]


class _NamedPackage(NamedTuple):
    path: str
    name: str
    dir: str
    test: bool


class _NamedSymbol(NamedTuple):
    id: str
    kind: str
    name: str
    qualified_name: str
    package: str
    file: str
    line: int


def all_targets(tables: GraphTables, keys: Collection[str]) -> FoundTargets:
    """All nodes with one of these keys, and all examples."""
    packages = _packages(tables)
    rows = set(_package_rows(packages, keys))
    _, paths, owners, shapes = tables.node_columns("File", ("id", "package", "shape"))
    rows.update(_file_rows(zip(paths, owners, strict=True), packages, keys))
    names = {key.rpartition(" ")[2].rpartition(".")[2] for key in keys if key.startswith("Symbol ")}
    columns = tables.matching_nodes("Symbol", _NamedSymbol._fields, "name", names, _EXAMPLE)
    named_symbols = [_NamedSymbol(*row) for row in zip(*columns, strict=True)]
    for symbol in named_symbols:
        rows.update(_symbol_rows(symbol, packages, keys))
    example_symbols = [symbol for symbol in named_symbols if is_example(symbol.kind, symbol.name, symbol.file)]
    example_lines: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for symbol in example_symbols:
        example_lines[symbol.file].append((symbol.name, symbol.line))
    appearances = {
        path: appearance_of(shape, example_lines.get(path, ())) for path, shape in zip(paths, shapes, strict=True)
    }
    examples = list(_examples(example_symbols, packages))
    wanted = _subjects(examples)
    ids, of_ids = tables.matching_nodes("Symbol", ("id", "file"), "id", wanted) if wanted else ([], [])
    files: dict[str, str] = dict(zip(ids, of_ids, strict=True))
    return FoundTargets(rows, [_with_card_path(example, files) for example in examples], appearances)


def appearance_of(shape: str, examples: Iterable[tuple[str, int]]) -> str:
    """A text that changes if the file's declarations, imports, or the names or lines of its examples change."""
    return " ".join((shape, *(f"{name}:{line}" for name, line in sorted(examples))))


def targets_in(store: Store, files: Iterable[str], keys: Collection[str]) -> FoundTargets:
    """Like `all_targets`, for the declarations in these files and their packages. Examples are not resolved."""
    rows: set[Row] = set()
    examples: list[Example] = []
    packages: dict[str, _NamedPackage] = {}
    for file in sorted(files):
        symbols = [_NamedSymbol(*row) for row in _declared_symbols(store, file)]
        of_file = list(store.rows("MATCH (f:File {id: $id}) RETURN f.id, f.package", {"id": file}))
        for id in {symbol.package for symbol in symbols} | {row[1] for row in of_file}:
            if id not in packages:
                statement = "MATCH (p:Package {id: $id}) RETURN p.path, p.name, p.dir, p.test"
                packages.update((id, _NamedPackage(*row)) for row in store.rows(statement, {"id": id}))
        rows.update(_file_rows(of_file, packages, keys))
        for symbol in symbols:
            rows.update(_symbol_rows(symbol, packages, keys))
        example_symbols = [symbol for symbol in symbols if is_example(symbol.kind, symbol.name, symbol.file)]
        examples += _examples(example_symbols, packages)
    rows.update(_package_rows(packages, keys))
    return FoundTargets(rows, examples, {})


def existing_packages(store: Store, ids: Iterable[str]) -> set[str]:
    statement = "UNWIND $ids AS i MATCH (p:Package {id: i}) RETURN p.id"
    wanted = sorted(set(ids))
    return {row[0] for row in store.rows(statement, {"ids": wanted})} if wanted else set()


def all_outside_packages(tables: GraphTables) -> list[str]:
    """Like `outside_packages`, from whole tables."""
    columns = tables.node_columns("External", ("id", "kind", "source"))[1:]
    return sorted(id for id, kind, source in zip(*columns, strict=True) if kind == "package" and source != "std")


def outside_packages(store: Store) -> list[str]:
    """The import paths of external packages, without the standard library."""
    statement = "MATCH (e:External) WHERE e.kind = 'package' AND e.source <> 'std' RETURN e.id ORDER BY e.id"
    return [row[0] for row in store.rows(statement)]


def resolved_examples(store: Store, examples: Iterable[Example]) -> list[Example]:
    """The examples with the card path of their subject: the file of the first symbol in `subject` that exists."""
    examples = list(examples)
    files: dict[str, str] = {}
    if wanted := sorted(_subjects(examples)):
        statement = "UNWIND $ids AS i MATCH (s:Symbol {id: i}) RETURN s.id, s.file"
        files = {row[0]: row[1] for row in store.rows(statement, {"ids": wanted})}
    return [_with_card_path(example, files) for example in examples]


def _subjects(examples: Iterable[Example]) -> set[str]:
    """The ids of symbols that these examples may show."""
    return {id for example in examples for id in example.subject.split("\n") if "." in posixpath.basename(id)}


def _with_card_path(example: Example, files: dict[str, str]) -> Example:
    """`files`: the files of the symbols that exist."""
    for id in example.subject.split("\n"):
        if id in files:
            return example._replace(card_path=files[id])
    is_about_package = _example_subjects(example.name) == ()
    return example._replace(card_path=(f"{example.dir}/" if example.dir else "./") if is_about_package else "")


def _examples(symbols: Iterable[_NamedSymbol], packages: dict[str, _NamedPackage]) -> Iterator[Example]:
    for symbol in symbols:
        package = packages[symbol.package]
        path = package.path.removesuffix("_test") if package.test else package.path
        ids = "\n".join(f"{path}.{subject}" for subject in _example_subjects(symbol.name))
        yield Example(symbol.file, symbol.name, symbol.line, package.dir, ids or path, "")


def _example_subjects(name: str) -> tuple[str, ...]:
    """What an example shows by Go's naming convention, best first: `ExampleT_M` shows T.M or T, `ExampleT_suffix` T.

    Empty for an example of the package.
    """
    parts = name.removeprefix(_EXAMPLE).split("_")
    if not parts[0]:
        return ()
    is_member = len(parts) > 1 and parts[1][:1].isupper()
    return (f"{parts[0]}.{parts[1]}", parts[0]) if is_member else (parts[0],)


def is_example(kind: str, name: str, file: str) -> bool:
    is_named = name.startswith(_EXAMPLE) and not name.removeprefix(_EXAMPLE)[:1].islower()
    return is_named and kind == "func" and file.endswith("_test.go")


def _packages(tables: GraphTables) -> dict[str, _NamedPackage]:
    columns = tables.node_columns("Package", ("id", *_NamedPackage._fields))[1:]
    return {row[0]: _NamedPackage(*row[1:]) for row in zip(*columns, strict=True)}


def _package_rows(packages: dict[str, _NamedPackage], keys: Collection[str]) -> Iterator[Row]:
    for id, package in packages.items():
        if package.test:
            continue
        target = MentionTarget("Package", id, package.path, "package", "", package.dir, package.path, package.name)
        for name in {posixpath.basename(package.path), posixpath.basename(package.dir)}:
            if f"Package {name}" in keys:
                yield (f"Package {name}", *target)


def _file_rows(
    files: Iterable[Sequence[Any]], packages: dict[str, _NamedPackage], keys: Collection[str]
) -> Iterator[Row]:
    for path, package in files:
        key = f"File {posixpath.basename(path)}"
        if key in keys:
            owner = packages[package]
            yield (key, *MentionTarget("File", path, path, "file", path, owner.dir, owner.path, owner.name))


def _symbol_rows(symbol: _NamedSymbol, packages: dict[str, _NamedPackage], keys: Collection[str]) -> Iterator[Row]:
    package = packages[symbol.package]
    name_in_package = symbol.qualified_name[len(package.path) + 1 :]
    is_member = "." in name_in_package
    name_key = f"Symbol {symbol.name}"
    qualified_key = f"Symbol {name_in_package}" if is_member else f"Symbol {package.name}.{symbol.name}"
    target = MentionTarget(
        "Symbol", symbol.id, symbol.qualified_name, symbol.kind, symbol.file, package.dir, package.path, package.name
    )
    if qualified_key in keys:
        yield (qualified_key, *target)
    # A plain word may be the name of thousands of fields; a mention of it means none of them.
    if name_key in keys and (symbol.kind != "field" or is_camel_case(symbol.name)):
        yield (name_key, *target)


def _declared_symbols(store: Store, file: str) -> Iterator[list[Any]]:
    seen: set[str] = set()
    for pattern in ("-[:CONTAINS]->(s:Symbol)", "-[:CONTAINS]->(:Symbol)-[:CONTAINS]->(s:Symbol)"):
        statement = f"MATCH (f:File {{id: $id}}){pattern} RETURN {_SYMBOL.format('s')}"
        for row in store.rows(statement, {"id": file}):
            if row[5] == file and row[0] not in seen:
                seen.add(row[0])
                yield row


def by_key(rows: Iterable[Row]) -> dict[str, tuple[MentionTarget, ...]]:
    found: defaultdict[str, list[MentionTarget]] = defaultdict(list)
    for key, *target in rows:
        found[key].append(MentionTarget(*target))
    return {key: tuple(sorted(targets)) for key, targets in found.items()}
