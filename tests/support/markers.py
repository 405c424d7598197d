"""Marker tests: a txtar archive is a small Go repository whose comments say what its graph must contain.

    s.Save() //@ calls("Store.Save"), !calls("Cache.Save")

A marker applies to its own line. A name matches every id or qualified name that ends with it, from a dot or a slash on.
This module only reads the store; it does not compare the graph with the compiler.

    calls("F"), calls("F", "Caller")   a CALLS edge has a site on this line; the second name is its source
    refs("T")                          like calls, for a REFERENCES edge
    field("write", "T.f")              this line uses the field in that way: read, write, address or literal
    unresolved("Name"[, "reason"])     an unresolved use of that name has a site on this line
    candidate("F")                     F is a candidate of an unresolved use on this line
    implements("I"[, "pointer"])       what this line declares implements I; with "pointer", only its pointer does
    embeds("T"[, "pointer"])           what this line declares embeds T; with "pointer", as `*T`
    converts("T", "I")                 what this line declares converts T to I, an interface, or to `any`; `<any` as
                                       the second: it converts from `any` to T
    invokes("interface{M()}.M")        this line calls that method of an interface that is no symbol
    runs_if("F", "T.f G")              what this line declares uses F only in functions that it stores in T.f or G; with
                                       "", it only stores into F
    sets("V")                          what this line declares may change the package variable V
    tests("F")                         the test that this line declares exercises F
    imports("p")                       this line imports p
    declares("kind", "p.F")            this line declares F
    evidence("interface")              a call on this line has that evidence
    callers("1 resolved, 0 candidates, 2 unresolved")
                                       the counts of the answer about what this line declares; also users and impact

A `!` before a marker negates it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.entities import Edge, External, Symbol, Unresolved
from golore.graph.queries.answers import Answer, Impact, Meaning
from golore.graph.queries.impact import impact
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.questions import callers, users
from golore.learner.audit.comparison import OurCall, OurEdges, OurImplements, OurUnresolved
from golore.learner.audit.use_comparison import OurUse

_FILE: Final = re.compile(r"^-- (\S.*?) --$", re.MULTILINE)
_COMMENT: Final = re.compile(r"//@(.*)$")
_MARKER: Final = re.compile(r'\s*(!?)(\w+)\(((?:"[^"]*"(?:,\s*"[^"]*")*)?)\)\s*(,|$)')
_TWIN: Final = re.compile(r"@[^/]*\.go(#\d+)?$")
_LABELS: Final = (
    "CALLS",
    "REFERENCES",
    "IMPLEMENTS",
    "EMBEDS",
    "CONVERTS",
    "INVOKES",
    "RUNS_IF",
    "SETS",
    "TESTS",
    "IMPORTS",
)
_ARGUMENTS: Final = {
    "calls": (1, 2),
    "refs": (1, 2),
    "field": (2, 2),
    "unresolved": (1, 2),
    "candidate": (1, 1),
    "implements": (1, 2),
    "embeds": (1, 2),
    "converts": (2, 2),
    "invokes": (1, 1),
    "runs_if": (2, 2),
    "sets": (1, 1),
    "tests": (1, 1),
    "imports": (1, 1),
    "declares": (2, 2),
    "evidence": (1, 1),
    "callers": (1, 1),
    "users": (1, 1),
    "impact": (1, 1),
}
"""The fewest and the most arguments of each kind of marker."""


class MarkerError(Exception):
    """An archive without markers, or with a malformed one."""


class Archive(NamedTuple):
    about: str
    files: dict[str, str]

    def write_to(self, root: Path) -> Path:
        for name, text in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root


class Marker(NamedTuple):
    file: str
    line: int
    negated: bool
    kind: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        arguments = ", ".join(f'"{argument}"' for argument in self.arguments)
        return f"{self.file}:{self.line}: {'!' if self.negated else ''}{self.kind}({arguments})"


class Relation(NamedTuple):
    """An edge as markers see it. Its line is that of a site or of the source's declaration."""

    source: str
    target: str
    evidence: str
    pointer: bool
    access: str


Location = tuple[str, int]


def _relations() -> defaultdict[str, defaultdict[Location, list[Relation]]]:
    return defaultdict(lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class Graph:
    """The contents of a store, by file and line."""

    symbols: dict[str, Symbol]
    externals: dict[str, External]
    unresolved: tuple[Unresolved, ...]
    files: frozenset[str]
    edges: dict[str, tuple[Edge, ...]]
    answers: dict[tuple[str, Location], str]
    """Answers to the questions of the markers, by question and location."""
    at: defaultdict[str, defaultdict[Location, list[Relation]]] = field(default_factory=_relations)


def read_archive(text: str) -> Archive:
    """Each file follows a line `-- name --`; the text before the first such line describes the archive."""
    parts = _FILE.split(text)
    files = {name: body.removeprefix("\n") for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Archive(parts[0].strip(), files)


def read_markers(archive: Archive) -> tuple[Marker, ...]:
    """All markers of the Go files. Raises `MarkerError` if one is malformed or there are none."""
    found: list[Marker] = []
    for name, text in sorted(archive.files.items()):
        for number, line in enumerate(text.split("\n"), start=1):
            comment = _COMMENT.search(line)
            if comment is not None and name.endswith(".go"):
                found += _parse(name, number, comment[1])
    if not found:
        raise MarkerError("the archive has no markers, so it tests nothing")
    return tuple(found)


def _parse(file: str, line: int, text: str) -> Iterable[Marker]:
    at = 0
    while True:
        match = _MARKER.match(text, at)
        if match is None:
            raise MarkerError(f"{file}:{line}: not a marker: {text[at:].strip() or 'nothing'!r}")
        negated, kind, arguments, more = match.groups()
        marker = Marker(file, line, bool(negated), kind, tuple(re.findall(r'"([^"]*)"', arguments)))
        fewest, most = _ARGUMENTS.get(kind, (1, 0))
        if not fewest <= len(marker.arguments) <= most:
            raise MarkerError(f"{marker}: there is no such marker with {len(marker.arguments)} arguments")
        yield marker
        if not more:
            return
        at = match.end()


def read_graph(store: Store, markers: Iterable[Marker] = ()) -> Graph:
    """The contents of the store, and the answers to the questions of the markers."""
    symbols = {node.id: node for node in store.nodes("Symbol") if isinstance(node, Symbol)}
    graph = Graph(
        symbols=symbols,
        externals={node.id: node for node in store.nodes("External") if isinstance(node, External)},
        unresolved=tuple(node for node in store.nodes("Unresolved") if isinstance(node, Unresolved)),
        files=frozenset(node.id for node in store.nodes("File")),
        edges={
            label: tuple(edge for kind in EDGE_KINDS if kind.label == label for edge in store.edges(kind))
            for label in _LABELS
        },
        answers=dict(_answers(store, symbols.values(), markers)),
    )
    for label, edges in graph.edges.items():
        for edge in edges:
            symbol = symbols.get(edge.source)
            file = symbol.file if symbol is not None else edge.source
            sites = edge.sites
            if symbol is not None and label in ("IMPLEMENTS", "EMBEDS", "CONVERTS", "RUNS_IF", "SETS", "TESTS"):
                sites = (symbol.line,)
            for line, access in zip_longest(sites, edge.access):
                relation = Relation(edge.source, edge.target, edge.evidence, edge.pointer, access or "")
                graph.at[label][file, line].append(relation)
    return graph


_QUESTIONS: Final[Mapping[str, Callable[[Store, Meaning], Answer | Impact]]] = {
    "callers": callers,
    "users": users,
    "impact": impact,
}


def _answers(
    store: Store, symbols: Iterable[Symbol], markers: Iterable[Marker]
) -> Iterable[tuple[tuple[str, Location], str]]:
    declared = {(symbol.file, symbol.line): symbol.id for symbol in symbols if symbol.kind != "field"}
    names = NameResolver(store)
    for marker in markers:
        location = (marker.file, marker.line)
        ask = _QUESTIONS.get(marker.kind)
        if ask is not None and location in declared:
            answer = ask(store, names.find(declared[location]).meanings[0])
            counts = (len(answer.resolved), len(answer.candidates), answer.unresolved.sites)
            yield (marker.kind, location), "{} resolved, {} candidates, {} unresolved".format(*counts)


def failures(graph: Graph, markers: Iterable[Marker]) -> list[str]:
    """Every marker that the graph does not meet, with what the graph has on that line instead."""
    found: list[str] = []
    for marker in markers:
        actual, holds = _CHECKS[marker.kind](graph, marker)
        if holds == marker.negated:
            found.append(f"{marker}  but there is {', '.join(sorted(actual)) or 'nothing'}")
    return found


def _matches(id: str, name: str) -> bool:
    """Whether an id ends with a name, from a dot or a slash on. A name without a file matches all twins."""
    plain = id if "@" in name else _TWIN.sub("", id)
    return plain == name or plain.endswith((f".{name}", f"/{name}"))


_Check = Callable[[Graph, Marker], tuple[list[str], bool]]


def _edge_check(label: str) -> _Check:
    def check(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
        relations = graph.at[label][marker.file, marker.line]
        name, *more = marker.arguments
        holds = [relation for relation in relations if _matches(relation.target, name)]
        if more and label in ("CALLS", "REFERENCES"):
            holds = [relation for relation in holds if _matches(relation.source, more[0])]
        elif more:
            holds = [relation for relation in holds if relation.pointer == (more[0] == "pointer")]
        return [f"{r.source} -> {r.target}{' (pointer)' if r.pointer else ''}" for r in relations], bool(holds)

    return check


def _converts(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    relations = graph.at["CONVERTS"][marker.file, marker.line]
    source, target = marker.arguments
    holds = any(
        _matches(one.target, source) and any(_matches(id, target) for id in one.evidence.split()) for one in relations
    )
    return [f"{one.target} to {one.evidence}" for one in relations], holds


def _runs_if(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    relations = graph.at["RUNS_IF"][marker.file, marker.line]
    target, places = marker.arguments
    expected = places.split()
    holds = any(
        _matches(one.target, target)
        and len(one.evidence.split()) == len(expected)
        and all(any(_matches(id, place) for id in one.evidence.split()) for place in expected)
        for one in relations
    )
    return [f"{one.target} if {one.evidence}" for one in relations], holds


def _field(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    relations = [one for one in graph.at["REFERENCES"][marker.file, marker.line] if one.access]
    access, name = marker.arguments
    holds = any(one.access == access and _matches(one.target, name) for one in relations)
    return [f"{one.access} {one.target}" for one in relations], holds


def _unresolved(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    uses = _unresolved_at(graph, marker)
    name, *reasons = marker.arguments
    holds = any(node.name == name and all(reason in node.reason for reason in reasons) for node in uses)
    return [f"{node.name}: {node.reason}" for node in uses], holds


def _candidate(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    candidates = [candidate for node in _unresolved_at(graph, marker) for candidate in node.candidates]
    return candidates, any(_matches(candidate, marker.arguments[0]) for candidate in candidates)


def _unresolved_at(graph: Graph, marker: Marker) -> list[Unresolved]:
    return [node for node in graph.unresolved if node.file == marker.file and marker.line in node.sites]


def _declares(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    symbols = [symbol for symbol in graph.symbols.values() if (symbol.file, symbol.line) == (marker.file, marker.line)]
    kind, name = marker.arguments
    holds = any(symbol.kind == kind and _matches(symbol.id, name) for symbol in symbols)
    return [f"{symbol.kind} {symbol.id}" for symbol in symbols], holds


def _evidence(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    evidence = [relation.evidence for relation in graph.at["CALLS"][marker.file, marker.line]]
    return evidence, marker.arguments[0] in evidence


def _answer(graph: Graph, marker: Marker) -> tuple[list[str], bool]:
    answer = graph.answers.get((marker.kind, (marker.file, marker.line)), "no declaration")
    return [answer], answer == marker.arguments[0]


_CHECKS: Final[Mapping[str, _Check]] = {
    "calls": _edge_check("CALLS"),
    "refs": _edge_check("REFERENCES"),
    "implements": _edge_check("IMPLEMENTS"),
    "embeds": _edge_check("EMBEDS"),
    "converts": _converts,
    "invokes": _edge_check("INVOKES"),
    "runs_if": _runs_if,
    "sets": _edge_check("SETS"),
    "tests": _edge_check("TESTS"),
    "imports": _edge_check("IMPORTS"),
    "field": _field,
    "unresolved": _unresolved,
    "candidate": _candidate,
    "declares": _declares,
    "evidence": _evidence,
    "callers": _answer,
    "users": _answer,
    "impact": _answer,
}


def our_edges(graph: Graph) -> OurEdges:
    """The graph in the form that the audit compares with the type checker."""
    return OurEdges(
        graph.files,
        tuple(
            OurCall(*_declared(graph, edge.source), *_declared(graph, edge.target), edge.sites)
            for edge in graph.edges["CALLS"]
        ),
        tuple(
            OurImplements(*_declared(graph, edge.source), *_declared(graph, edge.target), edge.pointer)
            for edge in graph.edges["IMPLEMENTS"]
        ),
        tuple(OurUnresolved(node.file, node.name, node.reason, node.sites) for node in graph.unresolved),
        tuple(
            OurUse(*_declared(graph, edge.source), *_declared(graph, edge.target), kind, edge.sites, edge.access)
            for edge in graph.edges["REFERENCES"]
            if graph.symbols[edge.source].kind in ("func", "method")
            for kind in ((graph.symbols.get(edge.target) or graph.externals[edge.target]).kind,)
        ),
    )


def _declared(graph: Graph, id: str) -> tuple[str, str, int]:
    symbol = graph.symbols.get(id)
    return (id, "", 0) if symbol is None else (symbol.qualified_name, symbol.file, symbol.line)
