"""Knots: declarations that lead to each other, which a run therefore reaches all at once; and what can be left out.

A declaration leads to what it calls, holds, names or may be initialised by. A knot is a strongly connected component of
that, mostly a single declaration. Knots are numbered so that each comes before those that it leads to. On Kubernetes,
the largest one has 8,028 declarations, because variables lead to what may set them.

A declaration is *barren* if neither it nor anything that it leads to puts values into interfaces, calls methods of
interfaces, calls packages outside, stores functions, or reads where they are stored. It belongs to no knot: it only
matters whether it leads to a goal, and that is found by going back from the goals. Half of the declarations that a test
of Kubernetes reaches are barren.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from golore.graph.changes.part import Part, is_fertile, leads_to

NO_KNOT: Final = (1 << 32) - 1


def find_leading(parts: Sequence[Part], initialisers: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """For each node, what leads to it."""
    leading: list[list[int]] = [[] for _ in parts]
    for number, part in enumerate(parts):
        for one in dict.fromkeys((*leads_to(part), *initialisers.get(number, ()))):
            leading[one].append(number)
    return leading


def find_knots(parts: Sequence[Part], leading: Sequence[Iterable[int]], awaited: Iterable[int]) -> list[list[int]]:
    """The members of each knot, in the order of the knots: Tarjan's algorithm, against the direction of uses.
    `awaited`: what is not barren, because something awaits that it is reached."""
    is_barren = _find_barren(parts, leading, awaited)
    order = [0] * len(parts)
    lowest = [0] * len(parts)
    waiting: list[int] = []
    is_waiting = bytearray(len(parts))
    knots: list[list[int]] = []
    visited = 0
    for start in range(len(parts)):
        if is_barren[start] or order[start]:
            continue
        walk = [(start, iter(leading[start]))]
        visited += 1
        order[start] = lowest[start] = visited
        waiting.append(start)
        is_waiting[start] = 1
        while walk:
            number, before = walk[-1]
            for one in before:
                if not order[one]:
                    visited += 1
                    order[one] = lowest[one] = visited
                    waiting.append(one)
                    is_waiting[one] = 1
                    walk.append((one, iter(leading[one])))
                    break
                if is_waiting[one]:
                    lowest[number] = min(lowest[number], order[one])
            else:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[number])
                if lowest[number] == order[number]:
                    knots.append(_take(waiting, number, is_waiting))
    return knots


def _take(waiting: list[int], number: int, is_waiting: bytearray) -> list[int]:
    """The members of a knot, which are the last that wait, from `number` on."""
    members: list[int] = []
    while not members or members[-1] != number:
        members.append(waiting.pop())
        is_waiting[members[-1]] = 0
    return sorted(members)


def _find_barren(parts: Sequence[Part], leading: Sequence[Iterable[int]], awaited: Iterable[int]) -> bytearray:
    is_barren = bytearray(b"\1" * len(parts))
    pending = [*awaited, *(number for number, part in enumerate(parts) if is_fertile(part))]
    while pending:
        number = pending.pop()
        if is_barren[number]:
            is_barren[number] = 0
            pending += leading[number]
    return is_barren
