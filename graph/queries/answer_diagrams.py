"""Answers as diagrams and as HTML: the symbols are boxes, and each use is an arrow from the user to what it uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from golore.graph.diagrams.diagram import Arrow, Box, Diagram
from golore.graph.diagrams.html import result_html
from golore.graph.phrases import counted
from golore.graph.queries.answers import Answer, Impact, Link, Meaning, Ref, Route, SymbolAnswer, UnresolvedUses

_FROM_SUBJECT: Final = ("callees", "implements")
"""Questions whose links are what the subject uses. In all others, the links use the subject."""
_MAY_RUN: Final = "may run"
_HEADER: Final = ("symbol", "kind", "place", "how", "known")


def html_of(result: object) -> str:
    """An answer of any of the types that `answers` shows in notebooks."""
    match result:
        case Answer():
            return _answer_html(result)
        case Impact():
            return _impact_html(result)
        case Route():
            return _route_html(result)
        case SymbolAnswer():
            return _details_html(result)
        case _:
            raise TypeError(f"{type(result).__name__} has no HTML")


def diagram_of(result: Answer | Impact | Route) -> Diagram:
    match result:
        case Answer():
            return _answer_diagram(result)
        case Impact():
            return _impact_diagram(result)
        case Route():
            return _route_diagram(result)


def _answer_diagram(answer: Answer) -> Diagram:
    """Candidates go through the interface method that is called."""
    drawing = Drawing(_subjects(answer.subject))
    for link, is_certain in _links(answer):
        ends = [end for end in answer.subject.symbols if not link.subject or end.qualified_name == link.subject]
        # Twins have one name and are used together: the first one stands for all.
        own, other = ends[0].id, drawing.box(link.symbol)
        if answer.question in _FROM_SUBJECT:
            start, end = own, other
        else:
            start, end = other, own
        if link.via and link.via not in (start, end):
            drawing.arrow(start, drawing.named(link.via), link.how, is_dashed=False)
            drawing.arrow(link.via, end, _MAY_RUN, is_dashed=True)
        else:
            drawing.arrow(start, end, link.access or link.how, is_dashed=not is_certain)
    return drawing.finished(_remark(answer.unresolved))


def _impact_diagram(found: Impact) -> Diagram:
    drawing = Drawing(_subjects(found.subject))
    for reached in (*found.resolved, *found.candidates, *found.tests):
        source = drawing.box(reached.symbol)
        drawing.arrow(source, drawing.named(reached.through), reached.how, is_dashed=not reached.certain)
    return drawing.finished(_remark(found.unresolved))


def _route_diagram(route: Route) -> Diagram:
    drawing = Drawing(_subjects(route.source))
    previous = ""
    for step in route.steps:
        id = drawing.box(step.symbol)
        if previous:
            drawing.arrow(previous, id, step.how, is_dashed=step.how != "calls")
        previous = id
    return drawing.finished(_remark(route.unresolved))


def _answer_html(answer: Answer) -> str:
    rows = [
        (
            link.symbol.qualified_name,
            link.symbol.kind,
            f"{link.file}:{link.sites[0]}" if link.sites else _place(link.symbol),
            link.access or link.how,
            "resolved" if is_certain else "candidate",
        )
        for link, is_certain in _links(answer)
    ]
    title = f"{answer.question} of {answer.subject.name}{_in_brackets(_remark(answer.unresolved))}"
    return result_html(title, _HEADER, rows, _answer_diagram(answer))


def _impact_html(found: Impact) -> str:
    rows = [
        (
            one.symbol.qualified_name,
            one.symbol.kind,
            _place(one.symbol),
            f"{one.how} in step {one.depth}",
            "resolved" if one.certain else "candidate",
        )
        for one in (*found.resolved, *found.candidates, *found.tests)
    ]
    title = f"impact of {found.subject.name}{_in_brackets(_remark(found.unresolved))}"
    return result_html(title, _HEADER, rows, _impact_diagram(found))


def _route_html(route: Route) -> str:
    rows = [(step.symbol.qualified_name, step.symbol.kind, _place(step.symbol), step.how) for step in route.steps]
    found = "" if route.steps else ": no path is known"
    return result_html(
        f"path from {route.source.name} to {route.target.name}{found}", _HEADER[:4], rows, _route_diagram(route)
    )


def _details_html(shown: SymbolAnswer) -> str:
    rows = [
        (one.symbol.qualified_name, one.symbol.kind, _place(one.symbol), one.signature, one.callers, one.users)
        for one in shown.declarations
    ]
    header = ("symbol", "kind", "place", "signature", "callers", "users")
    return result_html(shown.subject.name, header, rows)


def _links(answer: Answer) -> Iterable[tuple[Link, bool]]:
    yield from ((link, True) for link in answer.resolved)
    yield from ((link, False) for link in answer.candidates)


def _place(symbol: Ref) -> str:
    return f"{symbol.file}:{symbol.line}" if symbol.file else "outside"


def _remark(unresolved: UnresolvedUses) -> str:
    return f"{counted(unresolved.sites, 'unresolved use')} with its name" if unresolved.sites else ""


def _in_brackets(remark: str) -> str:
    return f" ({remark})" if remark else ""


def _subjects(subject: Meaning) -> tuple[Ref, ...]:
    """Twins have one name, and the first one stands for all."""
    return subject.symbols if subject.is_group else subject.symbols[:1]


class Drawing:
    """Collects boxes and arrows, each once and in the order in which they come."""

    def __init__(self, subjects: Iterable[Ref] = ()) -> None:
        self._boxes: dict[str, Box] = {}
        self._arrows: dict[Arrow, None] = {}
        for symbol in subjects:
            self.box(symbol, is_subject=True)

    def box(self, symbol: Ref, *, is_subject: bool = False) -> str:
        known = self._boxes.get(symbol.id)
        if known is None or not known.about:
            name = symbol.qualified_name.rpartition("/")[2]
            about = f"{symbol.kind}, {_place(symbol)}"
            self._boxes[symbol.id] = Box(symbol.id, name, about, is_subject or (known is not None and known.is_subject))
        return symbol.id

    def named(self, id: str) -> str:
        """The box of a symbol of which only the id is known."""
        self._boxes.setdefault(id, Box(id, id.rpartition("/")[2]))
        return id

    def arrow(self, source: str, target: str, label: str, *, is_dashed: bool) -> None:
        self._arrows[Arrow(source, target, label, is_dashed)] = None

    def finished(self, remark: str = "") -> Diagram:
        return Diagram(tuple(self._boxes.values()), tuple(self._arrows), remark)
