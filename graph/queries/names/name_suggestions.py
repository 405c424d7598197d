"""Suggests names for one that nothing has: those that differ by a typo or two, the most used first.

The engine compares all names; what it returns is ranked here. A transposition of two letters counts as one typo.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import by_location, symbols_where

_SUGGESTED: Final = 5
_COUNTED: Final = 20
"""Most candidates whose uses are counted, at about a millisecond each."""
_SHORT: Final = 4
"""A name of up to so many letters may have one typo, a longer one two."""


def suggested_symbols(store: Store, plain: str) -> list[Ref]:
    """Symbols with the name but another owner or package; else with a similar name; else with a name that contains
    it."""
    name = plain.rpartition(".")[2]
    if not name:
        return []
    typos = _most_typos(name)
    values = {"name": name.lower(), "short": len(name) - typos, "long": len(name) + typos, "typos": 2 * typos}
    for condition in (
        "lower(s.name) = $name",
        # To the engine, a transposition is two changes.
        "size(s.name) >= $short AND size(s.name) <= $long AND levenshtein(lower(s.name), $name) <= $typos",
        "lower(s.name) CONTAINS $name",
    ):
        used = {key: value for key, value in values.items() if f"${key}" in condition}
        found = [one for one in symbols_where(store, condition, **used) if one.name != "_"]
        if "levenshtein" in condition:
            found = [one for one in found if edit_distance(one.name.lower(), name.lower()) <= typos]
        if found:
            return _ranked(store, plain, found)
    return []


def suggested_files(store: Store, path: str) -> list[str]:
    """Files with the same base name or, if there are none, a similar one."""
    base = path.rpartition("/")[2].lower()
    rows = [found for (found,) in store.rows("MATCH (f:File) RETURN f.path ORDER BY f.path")]
    distances = {found: edit_distance(found.rpartition("/")[2].lower(), base, 2) for found in rows}
    least = min(distances.values(), default=0)
    if least > _most_typos(base.removesuffix(".go")):
        return []
    near = [found for found in rows if distances[found] == least]
    near.sort(key=lambda found: (edit_distance(found, path), found.count("/"), found))
    return near[:_SUGGESTED]


def edit_distance(a: str, b: str, most: int | None = None) -> int:
    """The number of letters to insert, delete, replace or swap with the next one. More than `most` is not counted
    exactly."""
    if most is not None and abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if before and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        if most is not None and min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def _most_typos(name: str) -> int:
    return 1 if len(name) <= _SHORT else 2


def _ranked(store: Store, plain: str, found: Iterable[Ref]) -> list[Ref]:
    """The best few, one for each qualified name: by the number of typos, then by the number of uses."""
    one_each = {symbol.qualified_name: symbol for symbol in sorted(found, key=by_location, reverse=True)}
    plain = plain.replace("/", ".").lower()
    distances = {name: edit_distance(_end_of(name, plain).lower(), plain) for name in one_each}

    def order(name: str) -> tuple[int, bool, bool]:
        return (distances[name], one_each[name].test, one_each[name].kind == "field")

    nearest = sorted(one_each, key=lambda name: (order(name), name))[:_COUNTED]
    uses = {name: _uses(store, one_each[name]) for name in nearest}
    nearest.sort(key=lambda name: (order(name), -uses[name], name))
    return [one_each[name] for name in nearest[:_SUGGESTED]]


def _end_of(qualified_name: str, plain: str) -> str:
    """The end of a qualified name that has as many parts as `plain`."""
    parts = qualified_name.replace("/", ".").split(".")
    return ".".join(parts[-1 - plain.count(".") :])


def _uses(store: Store, symbol: Ref) -> int:
    statement = "MATCH (b:Symbol {id: $id})<-[e:CALLS|REFERENCES|EMBEDS]-(:Symbol) RETURN count(*)"
    return next(iter(store.rows(statement, {"id": symbol.id})))[0]
