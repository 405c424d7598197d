"""Single steps in the stored graph: symbols by id, and their neighbours over one edge.

Each step starts at a primary key, which the engine finds in a tenth of a millisecond. It would plan a join from a list
of keys as a scan of the whole relation (100 ms and more at a million edges), so loops are used instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import EDGE_PROPERTIES
from golore.graph.queries.answers import Link, Ref, UnresolvedUse, UnresolvedUses
from golore.graph.queries.warm_tables import has_unresolved

_SYMBOL_COLUMNS: Final = "{0}.id, {0}.kind, {0}.name, {0}.qualified_name, {0}.package, {0}.file, {0}.line, {0}.owner"
_WIDTH: Final = 8
_EXTERNAL_COLUMNS: Final = "{0}.id, {0}.kind, {0}.name, {0}.package, {0}.source"
_EXAMPLES: Final = 5
_BATCH: Final = 2_000


def symbol_columns(name: str) -> str:
    """The columns that a statement must return for `symbol_from`; `name` is its variable for the symbol."""
    return _SYMBOL_COLUMNS.format(name)


def symbol_from(row: list[Any]) -> Ref:
    return Ref(*row[:_WIDTH])


def symbols(store: Store, ids: Collection[str]) -> list[Ref]:
    """The symbols of the repository with these ids, in the given order. Other ids are skipped."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Ref] = {}
    for start in range(0, len(wanted), _BATCH):
        batch = {"ids": wanted[start : start + _BATCH]}
        statement = f"UNWIND $ids AS i MATCH (s:Symbol {{id: i}}) RETURN {symbol_columns('s')}"
        found.update((row[0], symbol_from(row)) for row in store.rows(statement, batch))
    return [found[id] for id in wanted if id in found]


def symbols_where(store: Store, condition: str, **values: object) -> list[Ref]:
    """The symbols `s` that satisfy a Cypher condition, by location. Scans all symbols."""
    statement = f"MATCH (s:Symbol) WHERE {condition} RETURN {symbol_columns('s')}"
    return sorted((symbol_from(row) for row in store.rows(statement, values)), key=by_location)


def external_from(row: list[Any]) -> Ref:
    id, kind, name, package, source = row
    return Ref(id, kind, name, id, package, source=source)


def externals_where(store: Store, condition: str, **values: object) -> list[Ref]:
    """The external nodes `e` that satisfy a Cypher condition, by id."""
    statement = f"MATCH (e:External) WHERE {condition} RETURN {_EXTERNAL_COLUMNS.format('e')} ORDER BY e.id"
    return [external_from(row) for row in store.rows(statement, values)]


def external(store: Store, id: str) -> Ref | None:
    statement = f"MATCH (e:External {{id: $id}}) RETURN {_EXTERNAL_COLUMNS.format('e')}"
    return next((external_from(row) for row in store.rows(statement, {"id": id})), None)


def inbound(store: Store, end: Ref, labels: Iterable[str]) -> list[Link]:
    """The edges that lead to a symbol. Their sites are in the files of the sources. For `access`, see `_links`."""
    links: list[Link] = []
    for label in labels:
        if end.external and label == "TESTS":
            continue
        statement = (
            f"MATCH (b:{_label(end)} {{id: $id}})<-[e:{label}]-(a:Symbol) "
            f"RETURN {symbol_columns('a')}, {_edge_columns(label)}"
        )
        for row in store.rows(statement, {"id": end.id}):
            symbol = symbol_from(row)
            links += _links(symbol, label, symbol.file, row[_WIDTH:])
    return links


def sources(store: Store, end: Ref, labels: Iterable[str]) -> int:
    """The number of symbols that edges lead from, counted by the engine: a type may have thousands of users."""
    pattern = f"(b:{_label(end)} {{id: $id}})<-[:{'|'.join(labels)}]-(a:Symbol)"
    statement = f"MATCH {pattern} RETURN count(DISTINCT offset(id(a)))"
    return next(iter(store.rows(statement, {"id": end.id})))[0]


def outbound(store: Store, end: Ref, labels: Iterable[str]) -> list[Link]:
    """The edges from a symbol of the repository to symbols and external nodes; none for an external symbol."""
    links: list[Link] = []
    if end.external:
        return links
    for label in labels:
        start = f"MATCH (a:Symbol {{id: $id}})-[e:{label}]->"
        statement = f"{start}(b:Symbol) RETURN {symbol_columns('b')}, {_edge_columns(label)}"
        rows = store.rows(statement, {"id": end.id})
        links += [link for row in rows for link in _links(symbol_from(row), label, end.file, row[_WIDTH:])]
        if label != "TESTS":
            statement = f"{start}(b:External) RETURN {_EXTERNAL_COLUMNS.format('b')}, {_edge_columns(label)}"
            rows = store.rows(statement, {"id": end.id})
            links += [link for row in rows for link in _links(external_from(row[:5]), label, end.file, row[5:])]
    return links


def members(store: Store, owner: str) -> list[Ref]:
    """The methods and fields of a type, by location.

    Always all of them: for a single name, the engine would start with a scan for that name.
    """
    statement = f"MATCH (a:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {symbol_columns('s')}"
    return sorted((symbol_from(row) for row in store.rows(statement, {"id": owner})), key=by_location)


def unresolved_uses(store: Store, *names: str) -> UnresolvedUses:
    """The number of unresolved uses of a name, or of several, with the first few as examples."""
    uses = all_unresolved_uses(store, *names)
    return UnresolvedUses(names[0] if len(names) == 1 else "", len(uses), tuple(uses[:_EXAMPLES]))


def all_unresolved_uses(store: Store, *names: str) -> list[UnresolvedUse]:
    """The unresolved uses of these names, by location."""
    if not has_unresolved(store, names):
        return []
    statement = "MATCH (u:Unresolved) WHERE u.name IN $names RETURN u.file, u.sites, u.source, u.reason"
    uses = [
        UnresolvedUse(file, int(line), source, reason)
        for file, sites, source, reason in store.rows(statement, {"names": list(names)})
        for line in sites.split()
    ]
    return sorted(uses, key=lambda use: (use.file, use.line, use.source))


def by_location(symbol: Ref) -> tuple[str, int, str]:
    """Sort key: file, line, id."""
    return (symbol.file, symbol.line, symbol.id)


def in_order(links: Iterable[Link]) -> tuple[Link, ...]:
    """The links by location, external symbols last."""
    return tuple(
        sorted(
            links, key=lambda link: (link.symbol.external, by_location(link.symbol), link.how, link.access, link.via)
        )
    )


def _label(end: Ref) -> str:
    return "External" if end.external else "Symbol"


def _edge_columns(label: str) -> str:
    properties = EDGE_PROPERTIES[label]
    sites = "e.sites" if "sites" in properties else "''"
    pointer = "e.pointer" if "pointer" in properties else "false"
    access = "e.access" if "access" in properties else "''"
    return f"{sites}, e.evidence, {pointer}, {access}"


def _links(symbol: Ref, label: str, file: str, edge: list[Any]) -> list[Link]:
    """The link of an edge; for a use of a field, one for each kind of access."""
    sites, evidence, pointer, access = edge
    lines = tuple(map(int, sites.split()))
    if not access:
        return [Link(symbol, label.lower(), file, lines, evidence, pointer)]
    by_access: dict[str, list[int]] = {}
    for line, one in zip(lines, access.split(), strict=True):
        by_access.setdefault(one, []).append(line)
    return [
        Link(symbol, label.lower(), file, tuple(used), evidence, pointer, access=one)
        for one, used in sorted(by_access.items())
    ]
