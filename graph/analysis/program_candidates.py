"""Restricts the candidates of an answer to one program: to the types that its own code puts into the interface.

A candidate stays if code that the program reaches calls the interface method, and a type with the candidate's method
gets into that interface there. What only reflection or unresolved code reaches counts as reached.
"""

from __future__ import annotations

from golore.graph.analysis.code_graph import OUTSIDE, CodeGraph, read_code_graph
from golore.graph.analysis.reachability import Reachability
from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.queries.answers import Answer, Link
from golore.graph.queries.unnamed_interfaces import is_unnamed
from msgspec.structs import replace


class ProgramDispatch:
    """The calls through interfaces of the programs in a directory. Raises `UsageError` if there is none."""

    def __init__(self, store: Store, directory: str) -> None:
        self.graph = read_code_graph(store)
        mains = [number for number in programs(self.graph) if self._directory(number) == directory]
        if not mains:
            raise UsageError(f"{directory or 'The root'} has no program: no package main with a function main.")
        self.search = Reachability(self.graph)
        self.search.reach(mains)
        self.search.assume()

    def _directory(self, number: int) -> str:
        return self.graph.packages[self.graph.declared[number].package].dir

    def methods(self, interface_method: str) -> set[int]:
        """The methods that may run when an interface method is called, by its id."""
        number = self.graph.number.get(interface_method)
        if is_unnamed(interface_method):
            found = (self.graph.unnamed_method(type, interface_method) for type in self.search.types_at(OUTSIDE))
            return {method for method in found if method is not None}
        if number is None:
            place, name = OUTSIDE, interface_method.rpartition(".")[2]
        else:
            place, name = self.graph.declared[number].owner, self.graph.declared[number].name
        found = (self.graph.method_set(type).get(name) for type in self.search.types_at(place))
        return {method for method in found if method is not None}

    def restrict(self, answer: Answer) -> Answer:
        """Keep the candidates of this program; the others are counted."""
        kept = tuple(link for link in answer.candidates if self._is_possible(answer, link))
        return replace(answer, candidates=kept, by_shape=answer.by_shape + len(answer.candidates) - len(kept))

    def _is_possible(self, answer: Answer, link: Link) -> bool:
        number = self.graph.number
        if answer.question == "callees":
            return number.get(link.symbol.id, -1) in self.methods(link.via)
        is_reached = number.get(link.symbol.id, -1) in self.search.reached
        return is_reached and any(number.get(id, -1) in self.methods(link.via) for id in answer.subject.ids)


def programs(graph: CodeGraph) -> list[int]:
    """The functions `main` of all programs."""
    return [
        number
        for number, one in enumerate(graph.declared)
        if one.kind == "func" and one.name == "main" and not one.test and graph.packages[one.package].name == "main"
    ]
