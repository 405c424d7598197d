"""Finds which types implement which interfaces, by a join of method tables on name and exact signature.

For each interface, only the types that have its rarest method are compared. Works on plain tables (see `method_sets`).
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
    types_by_method: defaultdict[str, list[MethodTable]] = defaultdict(list)
    for table in types:
        for name in table.methods:
            types_by_method[name].append(table)
    found: list[Implements] = []
    for interface in interfaces:
        rarest = min(interface.methods, key=lambda name: (len(types_by_method.get(name, ())), name))
        wanted = interface.methods.items()
        for table in types_by_method.get(rarest, ()):
            methods = table.methods
            if all(methods.get(name) == signature for name, signature in wanted) and compatible(
                table.constraint, interface.constraint
            ):
                found.append(Implements(table.id, interface.id, not table.pointer.isdisjoint(interface.methods)))
    found.sort()
    return found
