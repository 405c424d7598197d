"""The graph, or a part of it, as a networkx graph: ids as nodes, one edge between two nodes, with labels and weight.

An edge that ends at a node which is left out ends at what contains it: a field at its type, a symbol at its file, or a
file at its package. So the same edges give a graph of symbols, of files or of packages.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.gc_pause import gc_disabled
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_LABELS, EDGE_PROPERTIES, EdgeKind
from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.model.tables import NODE_COLUMNS
from golore.graph.transfer.graph_part import package_ids

_LONG: Final = frozenset(("doc", "text", "digest", "shape", "inputs", "sites", "start", "end"))
"""Columns that are no attributes: long texts, and what only golore needs. Lists are none either."""
_SYMBOL: Final = "Symbol"


class _Nodes(NamedTuple):
    """The nodes of a label, in the order of the table: their ids, the nodes that stand for them, empty if none, and the
    attributes of those that were chosen."""

    stand_ins: dict[int, str]
    attributes: dict[str, dict[str, Any]]


def networkx_graph(store: Store, kinds: Iterable[str], edges: Iterable[str], packages: Iterable[str] = ()) -> Any:
    """A `networkx.DiGraph` of the nodes of these kinds and the edges with these labels. Raises `UsageError` for a kind,
    a label or a package that does not exist."""
    nx: Any = importlib.import_module("networkx")
    labels, symbol_kinds = _chosen(kinds)
    wanted = tuple(edges)
    if unknown := [label for label in wanted if label not in EDGE_LABELS]:
        raise UsageError(f"There is no label {unknown[0]!r}. Use some of {', '.join(EDGE_LABELS)}.")
    patterns = tuple(packages)
    ids = package_ids(store, patterns) if patterns else None
    graph = nx.DiGraph()
    with gc_disabled():
        read = _NodeReader(store, labels, symbol_kinds, ids)
        for label in labels:
            nodes = read.nodes(label)
            if shared := [id for id in nodes.attributes if id in graph]:
                raise UsageError(f"A {label} and another node have the id {shared[0]}. Ask for them separately.")
            graph.add_nodes_from(nodes.attributes.items())
        for (source, target), (weight, found) in _edges(store, read, wanted).items():
            graph.add_edge(source, target, weight=weight, labels=tuple(sorted(found)))
    return graph


def _chosen(kinds: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The labels of nodes and the kinds of symbols that were chosen."""
    labels = {label.lower(): label for label in NODE_COLUMNS}
    chosen: list[str] = []
    symbol_kinds: set[str] = set()
    for kind in kinds:
        if kind == _SYMBOL.lower():
            symbol_kinds.update(SYMBOL_KINDS)
        elif kind in SYMBOL_KINDS:
            symbol_kinds.add(kind)
        elif kind in labels:
            chosen.append(labels[kind])
        else:
            raise UsageError(f"There is no kind {kind!r}. Use some of {', '.join((*labels, *SYMBOL_KINDS))}.")
    if symbol_kinds:
        chosen.append(_SYMBOL)
    return tuple(dict.fromkeys(chosen)), frozenset(symbol_kinds)


class _NodeReader:
    """Reads the nodes of each label once."""

    def __init__(
        self, store: Store, labels: tuple[str, ...], symbol_kinds: frozenset[str], packages: frozenset[str] | None
    ) -> None:
        self._store = store
        self._labels = labels
        self._symbol_kinds = symbol_kinds
        self._packages = packages
        self._known: dict[str, _Nodes] = {}

    def nodes(self, label: str) -> _Nodes:
        if label not in self._known:
            self._known[label] = self._read(label)
        return self._known[label]

    def _read(self, label: str) -> _Nodes:
        names = [column.name for column in NODE_COLUMNS[label] if column.type != "STRING[]"]
        names = [name for name in names if name not in _LONG]
        values = ", ".join(f"n.`{name}`" for name in names)
        offsets, *columns = self._store.columns(f"MATCH (n:{label}) RETURN offset(id(n)), {values}")
        at = dict(zip(names, columns, strict=True))
        ids: list[str] = at["id"]
        is_chosen = self._choices(label, at)
        attributes = {
            id: {"label": label, **dict(zip(names[1:], row, strict=True))}
            for id, chosen, *row in zip(ids, is_chosen, *columns[1:], strict=True)
            if chosen
        }
        containers = self._containers(label, at, attributes)
        return _Nodes(
            {
                offset: id if id in attributes else container
                for offset, id, container in zip(offsets, ids, containers, strict=True)
            },
            attributes,
        )

    def _choices(self, label: str, at: dict[str, list[Any]]) -> list[bool]:
        if label not in self._labels:
            return [False] * len(at["id"])
        packages = {"Package": at["id"], "File": at.get("package"), _SYMBOL: at.get("package")}.get(label)
        inside = [True] * len(at["id"])
        if self._packages is not None and packages is not None:
            inside = [package in self._packages for package in packages]
        if label != _SYMBOL:
            return inside
        return [here and kind in self._symbol_kinds for here, kind in zip(inside, at["kind"], strict=True)]

    def _containers(self, label: str, at: dict[str, list[Any]], attributes: dict[str, dict[str, Any]]) -> list[str]:
        """For each node, the nearest node that contains it and was chosen; empty if there is none."""
        nothing = [""] * len(at["id"])
        packages = self.nodes("Package").attributes if label in ("File", _SYMBOL) else {}
        if label == "File":
            return [package if package in packages else "" for package in at["package"]]
        if label != _SYMBOL:
            return nothing
        files = self.nodes("File").attributes
        owners = dict(zip(at["id"], at["owner"], strict=True))
        found: list[str] = []
        for owner, file, package in zip(at["owner"], at["file"], at["package"], strict=True):
            while owner and owner not in attributes:
                owner = owners.get(owner, "")
            found.append(owner or (file if file in files else package if package in packages else ""))
        return found


def _edges(
    store: Store, read: _NodeReader, labels: tuple[str, ...]
) -> dict[tuple[str, str], tuple[int, frozenset[str]]]:
    """Both ends of each edge → the number of its places and its labels."""
    found: dict[tuple[str, str], tuple[int, frozenset[str]]] = {}
    for kind in EDGE_KINDS:
        if kind.label not in labels:
            continue
        names = frozenset((kind.label,))
        for source, target, places in _ends(store, read, kind):
            if source and target and source != target:
                weight, known = found.get((source, target), (0, names))
                found[source, target] = (weight + places, known if known is names else known | names)
    return found


def _ends(store: Store, read: _NodeReader, kind: EdgeKind) -> Iterable[tuple[str, str, int]]:
    sources, targets = read.nodes(kind.source).stand_ins, read.nodes(kind.target).stand_ins
    if not any(sources.values()) or not any(targets.values()):
        return
    sites = "e.sites" if "sites" in EDGE_PROPERTIES[kind.label] else "''"
    statement = (
        f"MATCH (a:{kind.source})-[e:{kind.label}]->(b:{kind.target}) RETURN offset(id(a)), offset(id(b)), {sites}"
    )
    for source, target, lines in zip(*store.columns(statement), strict=True):
        yield sources[source], targets[target], lines.count(" ") + 1
