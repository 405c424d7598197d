"""Checks a model's text against the graph: everything that it names must exist, and it must be a summary.

A name exists if the graph has a symbol, package or file of that name, in the repository or external, or if it occurs in
the code that the text is about, as parameters and local variables do. A dotted name must exist as a whole. The check
cannot determine whether a statement about an existing name is true.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import external, members, outbound, symbols_where
from golore.summarizers.grounding.code_mentions import CodeMention, mentions
from golore.summarizers.grounding.lexicon import GO_WORDS
from golore.summarizers.grounding.text_form import form_problems

_WORD: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LONGEST_RECEIVER: Final = 2
"""Names up to this length are taken for receivers."""
_TYPES: Final = frozenset(("struct", "interface", "type", "alias"))


class GroundingProblem(NamedTuple):
    """`sort` is `unknown` (a name that does not exist), `instruction`, `form` or `repeated` (see `repetition`).
    `sentence` describes the problem to the writer, and is part of the prompt for a second answer."""

    sort: str
    sentence: str


def grounding_problems(store: Store, root: Path, text: str, context: str) -> tuple[GroundingProblem, ...]:
    """The problems of a text. `context`: the code that it was written from."""
    found = [GroundingProblem(sort, sentence) for sort, sentence in form_problems(text)]
    for missing in unknown_mentions(store, root, mentions(text), context):
        what = "name" if missing.kind == "opener" else missing.kind
        found.append(GroundingProblem("unknown", f"There is no {what} `{missing.text}` in this code."))
    return tuple(found)


def unknown_mentions(store: Store, root: Path, named: Iterable[CodeMention], context: str) -> list[CodeMention]:
    """Those of the mentions that exist neither in the graph nor in the context."""
    context_names = _names_in(context)
    left = [mention for mention in named if mention.text not in context_names]
    openers = {mention.text.lower(): mention.text for mention in left if mention.kind == "opener"}
    names = [mention.text for mention in left if mention.kind in ("name", "opener")]
    found = _known_names(store, [*names, *openers], context_names)
    found |= {written for lower, written in openers.items() if lower in found or lower in context_names}
    found |= _known_packages(store, [mention.text for mention in left if mention.kind != "path"])
    found |= {mention.text for mention in left if mention.kind == "path" and _is_path(store, root, mention.text)}
    return [mention for mention in left if mention.text not in found]


def _names_in(context: str) -> set[str]:
    """The names in a piece of code, with the parts of dotted names, and Go's keywords and predeclared names."""
    whole = set(_WORD.findall(context))
    return whole | {part for name in whole for part in name.split(".")} | GO_WORDS


def _known_names(store: Store, names: Collection[str], context_names: Collection[str]) -> set[str]:
    if not names:
        return set()
    parts = sorted({name.rpartition(".")[2] for name in names} | {part for name in names for part in name.split(".")})
    symbols = symbols_where(store, "s.name IN $names", names=parts)
    packages = {id: (path, name) for id, path, name in store.rows("MATCH (p:Package) RETURN p.id, p.path, p.name")}
    qualified: set[str] = set()
    for symbol in symbols:
        path, name = packages.get(symbol.package, ("", ""))
        qualified |= {f".{symbol.qualified_name}", f".{name}{symbol.qualified_name.removeprefix(path)}"}
    rows = store.rows("MATCH (e:External) WHERE e.name IN $names RETURN e.id, e.package, e.name", {"names": parts})
    for id, package, _ in rows:
        qualified |= {f".{id}", f".{_package_name(package)}{id.removeprefix(package)}"}
    suffixes = {suffix for name in qualified for suffix in _suffixes(name)}
    found = {name for name in names if name in suffixes}
    types = {symbol.name: symbol for symbol in symbols if symbol.kind in _TYPES}
    for name in set(names) - found:
        owner, _, member = name.rpartition(".")
        owner_type = types.get(owner.rpartition(".")[2])
        is_promoted = owner_type is not None and _is_promoted(store, owner_type, member)
        # A variable of the code, or a short receiver name, with a field or method that exists: `m.items`.
        is_variable = owner[:1].islower() and (owner in context_names or len(owner) <= _LONGEST_RECEIVER)
        is_local = is_variable and any(symbol.name == member and symbol.owner for symbol in symbols)
        if owner and (is_promoted or is_local):
            found.add(name)
    return found


def _is_promoted(store: Store, owner_type: Ref, name: str) -> bool:
    """Whether a type has a member, its own or promoted from an embedded type."""
    level, seen = [owner_type], {owner_type.id}
    while level:
        for one in level:
            known = external(store, f"{one.id}.{name}") if one.external else None
            if known is not None or (not one.external and any(own.name == name for own in members(store, one.id))):
                return True
        level = [
            link.symbol for one in level for link in outbound(store, one, ("EMBEDS",)) if link.symbol.id not in seen
        ]
        seen.update(one.id for one in level)
    return False


def _suffixes(qualified: str) -> Iterable[str]:
    """All suffixes of a qualified name that start after a dot or a slash. The name must start with a dot."""
    start = 0
    while start >= 0:
        yield qualified[start + 1 :]
        positions = [found for sign in "./" if (found := qualified.find(sign, start + 1)) >= 0]
        start = min(positions, default=-1)


def _known_packages(store: Store, names: Collection[str]) -> set[str]:
    wanted = {name for name in names if "." not in name}
    if not wanted:
        return set()
    found: set[str] = set()
    for name, directory, path in store.rows("MATCH (p:Package) RETURN p.name, p.dir, p.path"):
        found |= {name, directory.rpartition("/")[2], path.rpartition("/")[2]}
    for id, name in store.rows("MATCH (e:External) WHERE e.kind = 'package' RETURN e.id, e.name"):
        found |= {name, id.rpartition("/")[2]}
    return wanted & found


def _package_name(path: str) -> str:
    """The name of a package by its path, as code uses it: `math/rand/v2` → `rand`, `gopkg.in/yaml.v3` → `yaml`."""
    return re.sub(r"/v\d+$|\.v\d+$", "", path).rpartition("/")[2]


def _is_path(store: Store, root: Path, path: str) -> bool:
    bare = path.strip("/").partition("/*")[0]
    if bare.endswith(".go"):
        statement = "MATCH (f:File) WHERE f.id = $path OR f.id ENDS WITH $tail RETURN f.id LIMIT 1"
        return any(True for _ in store.rows(statement, {"path": bare, "tail": f"/{bare}"}))
    statement = (
        "MATCH (p:Package) WHERE p.dir = $path OR p.dir ENDS WITH $tail OR p.path = $path OR p.path ENDS WITH $tail "
        "OR p.dir STARTS WITH $head OR p.path STARTS WITH $head RETURN p.id LIMIT 1"
    )
    parameters = {"path": bare, "tail": f"/{bare}", "head": f"{bare}/"}
    if any(True for _ in store.rows(statement, parameters)):
        return True
    statement = "MATCH (e:External) WHERE e.package = $path OR e.package ENDS WITH $tail RETURN e.id LIMIT 1"
    if any(True for _ in store.rows(statement, {"path": bare, "tail": f"/{bare}"})):
        return True
    # Either a qualified name such as `example.com/m/store.Put`, or a file that is not Go.
    package, _, name = bare.rpartition(".")
    if "/" in package and name.isidentifier() and symbols_where(store, "s.qualified_name = $name", name=bare):
        return True
    return ".." not in bare.split("/") and (root / bare).is_file()
