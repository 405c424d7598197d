"""The check of a model's text against the graph: everything it names must exist, and it must be a summary.

A name exists when the graph has a symbol, package or file of that name, here or outside, or when it stands in the code
that the text is about, as parameters and local variables do. A dotted name must exist as a whole. That a name exists
does not make the sentence about it true: that cannot be checked here.
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
_SHORT: Final = 2
_TYPES: Final = frozenset(("struct", "interface", "type", "alias"))


class GroundingProblem(NamedTuple):
    """`sort` is `unknown` (names what does not exist), `instruction` or `form`; `sentence` tells the writer."""

    sort: str
    sentence: str


def grounding_problems(store: Store, root: Path, text: str, context: str) -> tuple[GroundingProblem, ...]:
    """What is wrong with a text; `context` is the code that it was written from."""
    found = [GroundingProblem(sort, sentence) for sort, sentence in form_problems(text)]
    for missing in unknown(store, root, mentions(text), context):
        what = "name" if missing.kind == "opener" else missing.kind
        found.append(GroundingProblem("unknown", f"There is no {what} `{missing.text}` in this code."))
    return tuple(found)


def unknown(store: Store, root: Path, named: Iterable[CodeMention], context: str) -> list[CodeMention]:
    """Those mentions that nothing in the graph and nothing in the context answers to."""
    told = _told(context)
    left = [mention for mention in named if mention.text not in told]
    openers = {mention.text.lower(): mention.text for mention in left if mention.kind == "opener"}
    names = [mention.text for mention in left if mention.kind in ("name", "opener")]
    found = _known_names(store, [*names, *openers], told)
    found |= {written for lower, written in openers.items() if lower in found or lower in told}
    found |= _known_packages(store, [mention.text for mention in left if mention.kind != "path"])
    found |= {mention.text for mention in left if mention.kind == "path" and _is_path(store, root, mention.text)}
    return [mention for mention in left if mention.text not in found]


def _told(context: str) -> set[str]:
    """The names in a piece of code, whole and by their parts; and what Go itself knows."""
    whole = set(_WORD.findall(context))
    return whole | {part for name in whole for part in name.split(".")} | GO_WORDS


def _known_names(store: Store, names: Collection[str], told: Collection[str]) -> set[str]:
    if not names:
        return set()
    last = sorted({name.rpartition(".")[2] for name in names} | {part for name in names for part in name.split(".")})
    inside = symbols_where(store, "s.name IN $names", names=last)
    packages = {id: (path, name) for id, path, name in store.rows("MATCH (p:Package) RETURN p.id, p.path, p.name")}
    qualified: set[str] = set()
    for symbol in inside:
        path, name = packages.get(symbol.package, ("", ""))
        qualified |= {f".{symbol.qualified_name}", f".{name}{symbol.qualified_name.removeprefix(path)}"}
    rows = store.rows("MATCH (e:External) WHERE e.name IN $names RETURN e.id, e.package, e.name", {"names": last})
    for id, package, _ in rows:
        qualified |= {f".{id}", f".{_package_name(package)}{id.removeprefix(package)}"}
    ends = {end for name in qualified for end in _ends(name)}
    found = {name for name in names if name in ends}
    types = {symbol.name: symbol for symbol in inside if symbol.kind in _TYPES}
    for name in set(names) - found:
        owner, _, member = name.rpartition(".")
        holder = types.get(owner.rpartition(".")[2])
        is_promoted = holder is not None and _is_promoted(store, holder, member)
        # A variable, of the code or as receivers are called, with a field or method that exists: `m.items`.
        is_variable = owner[:1].islower() and (owner in told or len(owner) <= _SHORT)
        is_local = is_variable and any(symbol.name == member and symbol.owner for symbol in inside)
        if owner and (is_promoted or is_local):
            found.add(name)
    return found


def _is_promoted(store: Store, holder: Ref, name: str) -> bool:
    """Whether a type has a member through one that it embeds."""
    level, seen = [holder], {holder.id}
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


def _ends(qualified: str) -> Iterable[str]:
    """A qualified name and all its ends at dots and slashes; the first character is a dot."""
    at = 0
    while at >= 0:
        yield qualified[at + 1 :]
        places = [place for mark in "./" if (place := qualified.find(mark, at + 1)) >= 0]
        at = min(places, default=-1)


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
    """As code would write it: of `math/rand/v2` it is `rand`, of `gopkg.in/yaml.v3` it is `yaml`."""
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
    given = {"path": bare, "tail": f"/{bare}", "head": f"{bare}/"}
    if any(True for _ in store.rows(statement, given)):
        return True
    statement = "MATCH (e:External) WHERE e.package = $path OR e.package ENDS WITH $tail RETURN e.id LIMIT 1"
    if any(True for _ in store.rows(statement, {"path": bare, "tail": f"/{bare}"})):
        return True
    # A member of a package by its path: `example.com/m/store.Put`; or a file that is no Go.
    package, _, name = bare.rpartition(".")
    if "/" in package and name.isidentifier() and symbols_where(store, "s.qualified_name = $name", name=bare):
        return True
    return ".." not in bare.split("/") and (root / bare).is_file()
