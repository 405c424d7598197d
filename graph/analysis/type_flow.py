"""Rapid type analysis: which methods run when methods of interfaces are called, as far as code was reached.

Values of types get to places: into an interface, into one outside the repository, or anywhere, if it is not known
which. From a place they get to others. A method that is called at a place is that of every type whose values are there.
Types and calls arrive in any order, one after the other; each answer is only what is new.

What code is reached, and in which order, is decided by those who use this: `reachability` for whole programs, and
`changes.running` for single tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Final, Generic, TypeVar

ANYWHERE: Final = -2
"""The one place of a flow that does not know which interface values are put into."""
Key = TypeVar("Key", bound=Hashable)
"""How a called method is named: by its name, or by the number of the interface's method."""


class TypeFlow(Generic[Key]):
    """`offers`: the methods of a type that may be called at a place. `fits`: whether values of a type that are at a
    place can get on to another one."""

    def __init__(
        self,
        offers: Callable[[int, int], Mapping[Key, int]],
        fits: Callable[[int, int], bool] = lambda _type, _place: True,
    ) -> None:
        self._offers = offers
        self._fits = fits
        self._types: defaultdict[int, set[int]] = defaultdict(set)
        self._onward: defaultdict[int, set[int]] = defaultdict(set)
        self._called: defaultdict[int, set[Key]] = defaultdict(set)
        self._waiting: defaultdict[int, dict[Key, list[int]]] = defaultdict(dict)
        """The methods of the types at a place that nobody has called there yet."""

    def types_at(self, place: int) -> frozenset[int]:
        return frozenset(self._types.get(place, ()))

    def places(self) -> list[int]:
        """The places that values of some type have got to."""
        return list(self._types)

    def call(self, place: int, method: Key) -> list[int]:
        """A method is called at a place. Returns the methods of the types there."""
        called = self._called[place]
        if method in called:
            return []
        called.add(method)
        return self._waiting[place].pop(method, [])

    def connect(self, source: int, target: int) -> list[int]:
        """From now on, values at one place get to another one, too. Returns the types that have to arrive there."""
        onward = self._onward[source]
        if target in onward:
            return []
        onward.add(target)
        return sorted(self._types.get(source, ()))

    def arrive(self, type: int, place: int) -> Iterator[tuple[int, list[int]]]:
        """Values of a type get to a place, and from there to others. Returns each of these places that is new for the
        type, with the methods that are called there."""
        pending = [place]
        while pending:
            at = pending.pop()
            types = self._types[at]
            if type in types:
                continue
            types.add(type)
            yield at, self._run_at(type, at)
            pending += [to for to in sorted(self._onward.get(at, ())) if self._fits(type, to)]

    def _run_at(self, type: int, place: int) -> list[int]:
        called, waiting = self._called[place], self._waiting[place]
        found: list[int] = []
        for key, method in self._offers(type, place).items():
            if key in called:
                found.append(method)
            else:
                waiting.setdefault(key, []).append(method)
        return found
