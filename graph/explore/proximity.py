"""Raises declarations that the best ones call, or that call them: the second half of the choice (see `relevance`).

What explains something is often not where its words are: a function that fits well delegates to helpers with other
words. A call through an interface leads to the methods that may run, each with a part of the weight. Functions that
call very much, or are called from everywhere, pass on and receive less. Tests and generated code are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from golore.graph.queries.answers import Ref
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.symbol_steps import Steps

_CALLED, _CALLING, _SECOND = 1.0, 0.3, 0.8
_FAN_EXPONENT: Final = 0.3
_CALLERS_EXPONENT: Final = 0.2
_OTHER_PACKAGE: Final = 0.7
_MAX_SOURCES: Final = 60
_MAX_SECOND: Final = 30
_MAX_CALLERS: Final = 40
"""A function with more callers is a utility: its callers say nothing about it."""
_MAX_RUNNING: Final = 80
"""With more types that satisfy an interface, a call of its method says nothing about any of them."""


class Neighbour(NamedTuple):
    number: int
    share: float
    """1 for a resolved call; a part of it for each method that may run."""


class Calls:
    """The calls between functions of a store, through interfaces too. Create one for each question."""

    def __init__(self, steps: Steps, is_excluded: Callable[[str], bool]) -> None:
        """Files for which `is_excluded` are not followed."""
        self.steps = steps
        self._types = InterfaceDispatch(steps)
        self._is_excluded = is_excluded
        self._out: dict[int, tuple[Neighbour, ...]] = {}
        self._in: dict[int, tuple[Neighbour, ...]] = {}
        self._implementations: dict[int, Sequence[int]] = {}

    def called_by(self, number: int) -> tuple[Neighbour, ...]:
        if number not in self._out:
            found: dict[int, float] = {}
            steps = self.steps
            values = [one for one in steps.outbound(number, "REFERENCES") if steps.kind(one) in ("func", "method")]
            for called in dict.fromkeys((*steps.outbound(number, "CALLS"), *values)):
                if steps.is_external(called):
                    continue
                if steps.kind(called) == "imethod":
                    running = [one for one in self._running(called) if self._is_followed(one)]
                    for one in running:
                        found[one] = max(found.get(one, 0.0), 1 / len(running))
                elif self._is_followed(called):
                    found[called] = 1.0
            found.pop(number, None)
            self._out[number] = tuple(Neighbour(*item) for item in found.items())
        return self._out[number]

    def callers_of(self, number: int) -> tuple[Neighbour, ...]:
        if number not in self._in:
            steps = self.steps
            found = dict.fromkeys(steps.inbound(number, "CALLS"), 1.0)
            for method in self._types.named_interface_methods(number):
                if not steps.is_external(method) and (running := self._running(method)):
                    callers = [one for one in steps.inbound(method, "CALLS") if one not in found]
                    found.update(dict.fromkeys(callers, 1 / (1 + len(running))))
            found.pop(number, None)
            self._in[number] = tuple(Neighbour(*item) for item in found.items() if self._is_followed(item[0]))
        return self._in[number]

    def _running(self, method: int) -> Sequence[int]:
        """The methods that may run when an interface method is called; none if there are very many."""
        if method not in self._implementations:
            owner = self.steps.symbol(self.steps.ref(method).owner)
            is_common = owner is not None and len(self.steps.inbound(owner, "IMPLEMENTS")) > _MAX_RUNNING
            self._implementations[method] = () if is_common else self._types.implementations(method)
        return self._implementations[method]

    def ref(self, number: int) -> Ref:
        return self.steps.ref(number)

    def _is_followed(self, number: int) -> bool:
        ref = self.steps.ref(number)
        return not ref.external and not ref.test and not self._is_excluded(ref.file)


def near_values(calls: Calls, values: Mapping[int, float]) -> dict[int, float]:
    """Number of a symbol → its value, with what it gets from the symbols that it calls or that call it, over two
    calls."""
    best = sorted(values, key=lambda number: (-values[number], calls.ref(number).id))[:_MAX_SOURCES]
    first = _passed_on(calls, {number: values[number] for number in best})
    further = sorted(first, key=lambda number: (-first[number], calls.ref(number).id))[:_MAX_SECOND]
    second = _passed_on(calls, {number: first[number] for number in further})
    total = dict(values)
    for found, weight in ((first, 1.0), (second, _SECOND)):
        for number, value in found.items():
            total[number] = total.get(number, 0.0) + weight * value
    return total


def _passed_on(calls: Calls, values: Mapping[int, float]) -> dict[int, float]:
    called: dict[int, float] = {}
    calling: dict[int, float] = {}
    for number, value in values.items():
        _pass(calls, called, number, calls.called_by(number), value, is_called=True)
        callers = calls.callers_of(number)
        if len(callers) <= _MAX_CALLERS:
            _pass(calls, calling, number, callers, value, is_called=False)
    found = {number: _CALLED * value for number, value in called.items()}
    for number, value in calling.items():
        found[number] = found.get(number, 0.0) + _CALLING * value
    return found


def _pass(
    calls: Calls,
    found: dict[int, float],
    origin: int,
    neighbours: Iterable[Neighbour],
    value: float,
    *,
    is_called: bool,
) -> None:
    near = tuple(neighbours)
    package = calls.ref(origin).package
    passed = value / (1 + len(near)) ** _FAN_EXPONENT
    for number, share in near:
        one = passed * share * (1.0 if calls.ref(number).package == package else _OTHER_PACKAGE)
        if is_called:
            one /= max(1, len(calls.steps.inbound(number, "CALLS"))) ** _CALLERS_EXPONENT
        found[number] = max(found.get(number, 0.0), one)
