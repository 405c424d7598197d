"""What code of whole programs can run from some roots, by rapid type analysis (see `type_flow`).

From each declaration that is reached, it follows calls, functions used as values, and references. A call of an
interface method reaches the methods of those types that code reached so far has put into that interface, directly or
through others (`CONVERTS`). A type that gets into an interface outside the repository may have the methods called that
external interfaces require of it.

`reach` stops there. `assume` continues from that with what the graph cannot follow: reflection, which reaches every
exported method of a value outside and the types that it is made of, and uses that could not be resolved. What only
this reaches has the reasons.

Reaching a package runs its `init` functions and initializes its variables. Bodies are not looked into: code after a
`return` counts, and both branches of an `if`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from golore.graph.analysis.code_graph import OUTSIDE, TYPE_KINDS, CodeGraph, Conversion
from golore.graph.analysis.type_flow import TypeFlow

REFLECTION: Final = "reflection"
UNRESOLVED: Final = "unresolved"
_PLACES: Final = frozenset(("interface", "alias", "func", "method"))
"""Kinds that only stand for values of other types: interfaces, and generic functions for their type parameters."""
_NAMES: Final = re.compile(r"\w+")


class Reachability:
    """A search that can be continued: `reach` may be called several times, then `assume`."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self.reached: dict[int, str] = {}
        """The declarations that are reached, each with the reason why that is not certain, or an empty text."""
        self.executed: set[int] = set()
        """Those whose edges were followed: also variables that are initialized and never used."""
        self.packages: set[str] = set()
        """The packages that are linked."""
        self._flow = TypeFlow(self._offers, self._fits)
        """Places are interfaces, `OUTSIDE`, and generic declarations for their type parameters."""
        self._invoked_unnamed: set[str] = set()
        """The methods of unnamed interfaces that are called, by id."""
        self._pending: list[tuple[int, str]] = []
        self._arrivals: list[tuple[int, int, str]] = []
        self._assumes = False
        self._reflected: set[int] = set()

    # -- the search

    def reach(self, roots: Iterable[int]) -> None:
        """Continue from further declarations."""
        for root in roots:
            self._use(root, "")
            self._link(self.graph.declared[root].package)
        self._run()

    def assume(self, hidden: Mapping[int, str] = MappingProxyType({})) -> None:
        """Continue with reflection, unresolved uses, and other uses that are no Go code, each with its reason."""
        self._assumes = True
        for number, reason in sorted(hidden.items()):
            self._use(number, reason)
        for type in sorted(
            {type for place in self._flow.places() if self._is_interface(place) for type in self._flow.types_at(place)}
        ):
            self._reflect(type, REFLECTION)
        for number in sorted(self.executed):
            self._guess(number)
        self._run()

    def types_at(self, place: int) -> frozenset[int]:
        """The types whose values reached code has put into an interface, or into one that is `OUTSIDE`."""
        return self._flow.types_at(place)

    def _run(self) -> None:
        while self._pending or self._arrivals:
            if self._arrivals:
                self._arrive(*self._arrivals.pop())
            else:
                number, reason = self._pending.pop()
                self._execute(number, reason)

    # -- declarations

    def _use(self, number: int, reason: str) -> None:
        if number not in self.reached:
            self.reached[number] = reason
            if number not in self.executed:
                self._pending.append((number, reason))

    def _execute(self, number: int, reason: str) -> None:
        if number in self.executed:
            return
        self.executed.add(number)
        graph = self.graph
        one = graph.declared[number]
        if one.kind == "imethod":
            self._invoke(number, reason)
        if one.owner >= 0:
            self._use(one.owner, reason)
        for called in graph.calls[number]:
            self._use(called, reason)
        for required in graph.invokes.get(number, ()):
            self._invoke_unnamed(required, reason)
        for used in graph.references[number]:
            self._use(used, reason)
        for embedded in graph.embeds[number]:
            self._use(embedded, reason)
            if one.kind == "interface":
                self._convert(Conversion(number, embedded), reason)
        if one.kind == "interface" and number in graph.embeds_outside:
            self._convert(Conversion(number, OUTSIDE), reason)
        for conversion in graph.conversions.get(number, ()):
            self._convert(conversion, reason)
        if self._assumes:
            self._guess(number)

    def _link(self, package: str) -> None:
        """Link a package and those that it imports: their `init` functions run, their variables are initialized."""
        pending = [package]
        while pending:
            path = pending.pop()
            if path in self.packages:
                continue
            self.packages.add(path)
            pending += sorted(self.graph.imports.get(path, ()))
            self._initialize(path, test=False)

    def link_tests(self, package: str) -> None:
        """Link the test files of a package, too."""
        self._link(package)
        for path in sorted(self.graph.test_imports.get(package, ())):
            self._link(path)
        self._initialize(package, test=True)
        self._run()

    def _initialize(self, package: str, *, test: bool) -> None:
        for number in self.graph.by_package.get(package, ()):
            one = self.graph.declared[number]
            if one.test != test:
                continue
            if one.kind == "func" and one.name == "init":
                self._use(number, "")
            elif one.kind == "var" and number not in self.executed:
                self._pending.append((number, ""))

    # -- values in interfaces

    def _invoke(self, method: int, reason: str) -> None:
        one = self.graph.declared[method]
        for called in self._flow.call(one.owner, one.name):
            self._use(called, reason)

    def _invoke_unnamed(self, required: str, reason: str) -> None:
        if required not in self._invoked_unnamed:
            self._invoked_unnamed.add(required)
            for type in sorted(self._flow.types_at(OUTSIDE)):
                self._call_unnamed(type, required, reason)

    def _call_unnamed(self, type: int, required: str, reason: str) -> None:
        method = self.graph.unnamed_method(type, required)
        if method is not None:
            self._use(method, reason)

    def _call(self, type: int, name: str, reason: str) -> None:
        method = self.graph.method_set(type).get(name)
        if method is not None:
            self._use(method, reason)

    def _convert(self, conversion: Conversion, reason: str) -> None:
        source, target = conversion
        if source != OUTSIDE and self.graph.declared[source].kind not in _PLACES:
            self._arrivals.append((source, target, reason))
        # Also from a type: if it is generic, this may be a conversion of its type parameters.
        self._arrivals += [(type, target, reason) for type in self._flow.connect(source, target)]

    def _arrive(self, type: int, place: int, reason: str) -> None:
        """Values of a type get to a place, and from there to others."""
        for at, methods in self._flow.arrive(type, place):
            for method in methods:
                self._use(method, reason)
            if at == OUTSIDE:
                # Code there may call what the interfaces there require.
                for name in sorted(self.graph.called_from_outside.get(type, ())):
                    self._call(type, name, reason)
                for required in sorted(self._invoked_unnamed):
                    self._call_unnamed(type, required, reason)
            if self._assumes and self._is_interface(at):
                self._reflect(type, reason or REFLECTION)

    def _offers(self, type: int, place: int) -> dict[str, int]:
        """The methods of a type that an interface names."""
        if place == OUTSIDE or self.graph.declared[place].kind != "interface":
            return {}
        methods = self.graph.method_set(type)
        return {name: methods[name] for name in sorted(self.graph.members.get(place, ())) if name in methods}

    def _is_interface(self, place: int) -> bool:
        return place == OUTSIDE or self.graph.declared[place].kind in ("interface", "alias")

    def _fits(self, type: int, place: int) -> bool:
        is_known = place != OUTSIDE and self.graph.declared[place].kind == "interface"
        return not is_known or self.graph.satisfies(type, place)

    # -- what the graph cannot follow

    def _reflect(self, type: int, reason: str) -> None:
        """Reflection reaches the exported methods of a value, and the types of its parts and of their signatures."""
        if type in self._reflected:
            return
        self._reflected.add(type)
        graph = self.graph
        is_interface = graph.declared[type].kind == "interface"
        parts = [*graph.references[type], *graph.embeds[type]]
        for method in () if is_interface else graph.method_set(type).values():
            one = graph.declared[method]
            if one.exported:
                self._use(method, reason)
                words = set(_NAMES.findall(one.signature))
                parts += [used for used in graph.references[method] if graph.declared[used].name in words]
        if is_interface:
            self._convert(Conversion(type, OUTSIDE), reason)
        for part in parts:
            kind = graph.declared[part].kind
            if kind == "interface":
                self._reflect(part, reason)
            elif kind in TYPE_KINDS:
                self._arrivals.append((part, OUTSIDE, reason))

    def _guess(self, number: int) -> None:
        """An unresolved use may be a use of anything with its name."""
        for use in self.graph.unresolved.get(number, ()):
            if not use.is_outside:
                for target in self.graph.methods_by_name.get(use.name, ()):
                    self._use(target, UNRESOLVED)
