"""Finds which types implement which interfaces, by a join of method tables on name and exact signature.

For each interface, only the types that have its rarest method, with the same signature, are compared. Works on plain
tables (see `method_sets`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from golore.learner.go_rules.build_constraints import compatible
from golore.learner.resolution.method_sets import MethodTable


class Implements(NamedTuple):
    """A type that implements an interface. `pointer`: only the pointer to the type does."""

    type: str
    interface: str
    pointer: bool


def implementations(types: Iterable[MethodTable], interfaces: Iterable[MethodTable]) -> list[Implements]:
    """Return every pair of a type and an interface that it implements, sorted."""
    types_by_method: defaultdict[tuple[str, str], list[MethodTable]] = defaultdict(list)
    for table in types:
        for method in table.methods.items():
            types_by_method[method].append(table)
    found: list[Implements] = []
    for interface in interfaces:
        wanted = interface.methods.items()
        found.extend(
            Implements(table.id, interface.id, not table.pointer.isdisjoint(interface.methods))
            for table in min((types_by_method.get(method, []) for method in wanted), key=len)
            if wanted <= table.methods.items() and compatible(table.constraint, interface.constraint)
        )
    found.sort()
    return found
