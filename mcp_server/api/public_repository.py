"""`golore.open` and `golore.learn`, and the repository object that answers questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from golore.graph.errors import UsageError
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_LABELS
from golore.graph.model.entities import Edge, File, Package, Symbol
from golore.graph.queries.answers import Answer, Impact, Meaning, Ref, Route, StoreCounts, SymbolAnswer
from golore.graph.queries.impact import DEPTH
from golore.graph.transfer.graph_part import package_ids
from golore.mcp_server.api.shared_store import SharedStore
from golore.mcp_server.services.name_questions import ask, ask_details, ask_impact, ask_path, meaning_of
from golore.mcp_server.services.repository import LearnedRepository, find_repository, store_of

if TYPE_CHECKING:
    from golore.graph.changes.affected import Affected
    from golore.graph.explore.explore import Exploration
    from golore.graph.knowledge.notes import PinnedNote
    from golore.graph.search.results.hits import Hits
    from golore.learner.pipeline.graph_step import Report
    from golore.mcp_server.services.knowledge.vectors import Similar
    from golore.mcp_server.services.query_process import QueryProcess
    from golore.mcp_server.services.target_context import ContextAnswer

Name = str | Ref | Symbol
"""A symbol by its name, as on the command line, or as one of the results names it."""


def open(path: str | Path = ".") -> Repository:
    """Open the learned repository that contains `path`. Raises `StoreMissing` if there is none.

    A graph that an older golore made is learned again first, with a message on standard error.
    """
    start = Path(path)
    return Repository(find_repository(start), start.resolve())


def learn(path: str | Path = ".", *, full: bool = False, workers: int | None = None) -> Report:
    """Learn the repository at `path`, or bring what was learned up to date. `full`: read and resolve everything again.

    `workers` is the number of processes. They import the program that calls this, so a script has the call below
    `if __name__ == "__main__":`.
    """
    from golore.mcp_server.services.shown_learn import learn_and_embed

    root = Path(path)
    if not root.is_dir():
        raise UsageError(f"There is no directory {root}. Check the path.")
    return learn_and_embed(LearnedRepository(root, store_of(root)), full=full, workers=workers)


class Repository:
    """A learned repository. Use it as a context manager, or call `close`, and use it in one thread at a time.

    The graph is opened by the first question and closed while a learn waits, so a repository may be kept for long; a
    question after a learn sees what it learned. Answers have three values: resolved uses are facts, candidates are
    possible through an interface, and unresolved uses have the same name, but what they name is unknown.

    Questions raise `UnclearName` if a name has no or several meanings.
    """

    def __init__(self, learned: LearnedRepository, base: Path) -> None:
        self._learned = learned
        self._shared = SharedStore(learned, base)
        self._queries: QueryProcess | None = None

    @property
    def root(self) -> Path:
        """The root directory of the repository."""
        return self._learned.root

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"golore.open({str(self.root)!r})"

    def _repr_html_(self) -> str:
        from golore.graph.diagrams.html import result_html

        counts = self.counts()
        rows = [("packages", counts.packages), ("files", counts.files), *counts.symbols.items(), *counts.edges.items()]
        return result_html(str(self.root), ("of", "number"), rows)

    def close(self) -> None:
        """Close the graph and end the process that runs Cypher."""
        self._shared.close()
        if self._queries is not None:
            self._queries.close()

    def counts(self) -> StoreCounts:
        """How many packages, files, symbols and edges there are."""
        from golore.graph.queries.store_counts import count_store

        with self._shared.opened() as opened:
            return count_store(opened.store)

    def stale_files(self) -> tuple[str, ...] | None:
        """The files that changed since the last learn. None if that is unknown."""
        from golore.learner.checkout.freshness import changes_since

        with self._shared.opened() as opened:
            changes = changes_since(self.root, opened.store)
        return None if changes is None else changes.paths

    def packages(self, *patterns: str) -> Iterator[Package]:
        """The packages, by import path. Patterns are import paths or directories, as the go command has them:
        `./store/...` is everything below a directory. Rows are read as the loop needs them, here and in `files`,
        `symbols` and `edges`."""
        with self._shared.opened() as opened:
            ids = package_ids(opened.store, patterns) if patterns else None
            for node in opened.store.nodes("Package"):
                if ids is None or node[0] in ids:
                    yield cast(Package, node)

    def files(self, *packages: str) -> Iterator[File]:
        """The Go files, by path; with patterns, only those of these packages."""
        return cast("Iterator[File]", self._of_packages("File", packages))

    def symbols(self, *packages: str, kind: str = "") -> Iterator[Symbol]:
        """The declarations, by id; with patterns, only those of these packages. `kind` is one of `func`, `method`,
        `struct`, `interface`, `type`, `alias`, `const`, `var`, `field` and `imethod`."""
        found = cast("Iterator[Symbol]", self._of_packages("Symbol", packages))
        return (symbol for symbol in found if not kind or symbol.kind == kind)

    def _of_packages(self, label: str, patterns: tuple[str, ...]) -> Iterator[File | Symbol]:
        with self._shared.opened() as opened:
            ids = package_ids(opened.store, patterns) if patterns else None
            for node in cast("Iterator[File | Symbol]", opened.store.nodes(label)):
                if ids is None or node.package in ids:
                    yield node

    def edges(self, label: str) -> Iterator[Edge]:
        """The edges with a label such as `CALLS` (see the graph schema), by source and target."""
        if label not in EDGE_LABELS:
            raise UsageError(f"There is no label {label!r}. Use one of {', '.join(EDGE_LABELS)}.")
        return self._edges(label)

    def _edges(self, label: str) -> Iterator[Edge]:
        with self._shared.opened() as opened:
            for kind in EDGE_KINDS:
                if kind.label == label:
                    yield from opened.store.edges(kind)

    def symbol(self, name: Name) -> SymbolAnswer:
        """The declarations of a name: signature, documentation, members, and the numbers of users."""
        with self._shared.opened() as opened:
            return ask_details(opened, _name(name))

    def callers(self, name: Name) -> Answer:
        """Who calls a function or method. Candidates call an interface method through which it may be called."""
        return self._ask("callers", name)

    def callees(self, name: Name) -> Answer:
        """What a function or method calls. Candidates may run when it calls an interface method."""
        return self._ask("callees", name)

    def implementers(self, name: Name) -> Answer:
        """The types that satisfy an interface, the methods that may run for one of its methods, or, for any other
        type, the interfaces that it satisfies."""
        return self._ask("implementers", name)

    def users(self, name: Name, *, access: str = "") -> Answer:
        """Who calls, refers to or embeds a symbol. For a field, `access` may be `read` or `write`."""
        if access not in ("", "read", "write"):
            raise UsageError(f"There is no access {access!r}. Use read or write.")
        return self._ask(f"{access}s" if access else "users", name)

    def tests(self, name: Name) -> Answer:
        """The tests, benchmarks and examples that reach a symbol. Candidates may, through an interface."""
        return self._ask("tests", name)

    def impact(self, name: Name, *, depth: int = DEPTH) -> Impact:
        """What a change of a symbol may reach within `depth` steps: its users, their users and so on."""
        with self._shared.opened() as opened:
            return ask_impact(opened, _name(name), depth=depth)

    def path(self, source: Name, target: Name) -> Route:
        """A shortest chain of calls from one function to another. Without steps if none is known."""
        with self._shared.opened() as opened:
            return ask_path(opened, _name(source), _name(target))

    def affected(self, revisions: str = "", *, base: str = "", staged: bool = False, depth: int = 3) -> Affected:
        """What a change affects: users of what changed, tests to run, breaking changes. Compares the working tree with
        HEAD, or with `base`; `staged`: what is staged; `revisions`: two commits, as `main..HEAD`."""
        from golore.graph.changes.affected import AffectedLimits
        from golore.learner.changes.compared_files import Request
        from golore.mcp_server.services.change_effects import affected

        with self._shared.opened() as opened:
            return affected(self.root, opened.store, Request(base, revisions, staged=staged), AffectedLimits(depth))

    def search(
        self,
        text: str,
        *,
        kind: str = "",
        limit: int = 20,
        path: str = "",
        tests: bool | None = None,
        generated: bool = False,
    ) -> Hits:
        """Files, symbols, packages, notes and documents by name, part of a name, or words, best first.

        `kind` restricts the results, as on the command line; `path` is a directory, an import path or a glob. `tests`:
        True for only tests, False for none.
        """
        from golore.graph.search.results.hits import SearchRequest
        from golore.graph.search.search import search
        from golore.mcp_server.services.search_sources import sources_of

        request = SearchRequest(text, kind=kind, limit=limit, path=path, tests=tests, generated=generated)
        with self._shared.opened() as opened, sources_of(opened.repository, opened.store) as sources:
            return search(sources, request)

    def similar(self, name: Name, *, limit: int = 10) -> tuple[Similar, ...]:
        """The functions, methods and types that are most like one of them, by their vectors (see `golore embed`)."""
        from golore.mcp_server.services.knowledge.vectors import similar_symbols

        with self._shared.opened() as opened:
            return similar_symbols(opened, meaning_of(opened, _name(name)).first, limit)

    def explore(self, question: str, *, budget: int = 3_000) -> Exploration:
        """The source that explains something, within a budget of tokens. The question may be words, symbols, places
        such as `store.go:10-40`, or a stack trace."""
        from golore.graph.explore.explore import explore
        from golore.graph.queries.symbol_steps import open_steps
        from golore.mcp_server.services.search_sources import sources_of

        with self._shared.opened() as opened, sources_of(opened.repository, opened.store) as sources:
            return explore(sources, opened.names, open_steps(opened.store), self.root, question, budget)

    def context(self, target: str = "", *, budget: int | None = None) -> ContextAnswer:
        """The card of a file, a package or a symbol, which agents are shown, and the related files. Without a target,
        that of the repository. `budget` is a number of characters."""
        from golore.mcp_server.services.target_context import context_of

        with self._shared.opened() as opened:
            return context_of(opened, target, budget)

    def notes(self, target: str = "", *, kind: str = "", tag: str = "") -> tuple[PinnedNote, ...]:
        """The active notes about a target and what it contains, or all active notes."""
        from golore.mcp_server.services.knowledge.note_actions import list_notes

        with self._shared.opened() as opened:
            return tuple(list_notes(opened, target, kind=kind, tag=tag))

    def cypher(
        self, statement: str, *, near: str = "", seconds: float = 60, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The rows of a read-only Cypher statement, each with the names of its columns. Values that JSON does not have
        are strings. Runs in another process, which is ended after `seconds`.

        `$near` in the statement is the vector of the text `near`, to be compared with the property `vector` that nodes
        have after `golore embed`: `ORDER BY array_cosine_similarity(s.vector, $near) DESC`.
        """
        from golore.mcp_server.services.graph_query import query_graph
        from golore.mcp_server.services.query_process import QueryProcess

        if self._queries is None:
            self._queries = QueryProcess()
        return query_graph(self._queries, self._learned.store, statement, near=near, seconds=seconds, most=limit)

    def to_networkx(
        self,
        *,
        kinds: Iterable[str] = ("symbol",),
        edges: Iterable[str] = ("CALLS", "REFERENCES", "IMPLEMENTS", "EMBEDS"),
        packages: Iterable[str] = (),
    ) -> Any:
        """The graph, or a part of it, as a `networkx.DiGraph`.

        `kinds` are the nodes: `symbol` or kinds of symbols such as `func`, and `file`, `package`, `external`,
        `unresolved`, `note`, `summary`, `doc`, `repository`. `packages` are patterns as in `packages()`. An edge
        that ends at a node of no chosen kind ends at what contains it instead: with `kinds=["package"]`, calls
        become edges between packages. Edges that would then lead from a node to itself are left out.

        Nodes are ids, with the columns of the graph as attributes, except long texts. Edges have `labels`, and
        `weight`, the number of places.
        """
        from golore.graph.transfer.networkx_graph import networkx_graph

        with self._shared.opened() as opened:
            return networkx_graph(opened.store, kinds, edges, packages)

    def to_arrow(self, label: str) -> Any:
        """All nodes or edges with a label, such as `Symbol` or `CALLS`, as a `pyarrow.Table`, which pandas, polars and
        DuckDB read. Tables of edges have `source`, `source_label`, `target` and `target_label`."""
        from golore.graph.transfer.arrow_tables import arrow_table

        with self._shared.opened() as opened:
            return arrow_table(opened.store, label)

    def _ask(self, question: str, name: Name) -> Answer:
        with self._shared.opened() as opened:
            return ask(opened, question, _name(name))


def _name(name: Name) -> str | Meaning:
    """A declaration of an earlier result stands for itself alone: its twins for other builds are others."""
    if isinstance(name, str):
        return name
    if isinstance(name, Symbol):
        name = Ref(name.id, name.kind, name.name, name.qualified_name, name.package, name.file, name.line, name.owner)
    return Meaning(name.qualified_name, (name,))
