"""What a document names of the code: mentions as they are written, and what of the graph they mean.

A mention means something only where nothing else could be meant: a path that is there, an import path, a name that one
declaration bears. A name that the standard library or an imported package bears too, one of several declarations, a
plain word: those mean nothing here, and no edge is made of them. A document inside a package's directory speaks of that
package first. Words of prose are never names; only what is set as code is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec
from golore.learner.documents.sections import SectionText
from golore.learner.project import stdlib_index


class DocumentMention(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`kind`: where a `link` leads, a `place` in a repository on the web, a `path`, one that is to be `exact`, an
    `import` path, a `qualified` name, a `name`, or one that a Go `block` takes from an import."""

    kind: str
    text: str
    line: int


class MentionTarget(NamedTuple):
    """A node that a mention may mean. `name` is a symbol's qualified name, a file's path or a package's import path."""

    label: str
    id: str
    name: str
    kind: str
    file: str
    dir: str
    package: str
    package_name: str


class MentionMeaning(NamedTuple):
    evidence: str
    targets: tuple[MentionTarget, ...]


EVIDENCE: Final = ("path", "import path", "qualified name", "code block", "code span")
"""How a link is known, the surest first."""
Code = Callable[[str], Sequence[MentionTarget]]
"""The nodes of the graph by a mention's key."""

_WORD: Final = r"[A-Za-z_]\w*"
_CHAIN: Final = re.compile(
    rf"[*&]*(?:\(\*?({_WORD}(?:\.{_WORD})?)\)\.)?({_WORD}(?:\.{_WORD}){{0,3}})(?:\[[^\]]*\])?(\(.*\))?$"
)
_FUNC: Final = re.compile(rf"func\s+(?:\(\s*(?:{_WORD}\s+)?\*?({_WORD})(?:\[[^\]]*\])?\s*\)\s*)?({_WORD})\s*[\[(]")
_TYPE: Final = re.compile(rf"type\s+({_WORD})\b")
_PATH: Final = re.compile(r"(?:\.{1,2}/)*(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w.@+-]*/?$")
_PLACE: Final = re.compile(r"(?::\d+(?::\d+|-\d+)?|#L?\d+(?:-L?\d+)?)$")
_IN_PROSE: Final = re.compile(r"(?<![\w/.@:$%*-])((?:\./)?[\w@+-][\w.@+-]*(?:/[\w@+-][\w.@+-]*)+)")
_IMPORT: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?:/[\w.~-]+)+$")
_QUALIFIED: Final = re.compile(rf"((?:[\w.~-]+/)+[\w~-]+(?:\.v\d+)?)\.({_WORD}(?:\.{_WORD})?)(?:\(.*\))?$")
_WEB: Final = re.compile(r"https?://(?:www\.)?(github\.com/[\w.-]+/[\w.-]+)/(?:blob|tree)/[^/]+/([^#?\s]+)")
_REFERENCE: Final = re.compile(
    r"https?://(?:pkg\.go\.dev|godoc\.org)/([\w./~-]+?)(?:@[\w.+-]+)?/?(?:\?[^#]*)?(?:#([\w.-]+))?$"
)
_IMPORTS: Final = re.compile(r"^[ \t]*import[ \t]*\(([^)]*)\)|^[ \t]*import[ \t]+([^\n(]*)$", re.MULTILINE)
_IMPORTED: Final = re.compile(r"(?:([\w.]+)\s+)?\"([^\"\s]+)\"")
_SELECTED: Final = re.compile(rf"(?<![\w.)\]\"/])({_WORD})\.([A-Z]\w*)")
_HUMPS: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_VERSION: Final = re.compile(r"v\d+$")
_OF_DOCUMENTS: Final = frozenset(
    "adr adrs assets content decisions design designs doc docs documentation guide guides proposals rfcs site".split()
)
_MEMBERS: Final = frozenset(("method", "field", "imethod"))
_TYPES: Final = frozenset(("struct", "interface", "type", "alias"))
_TESTS: Final = ("Test", "Benchmark", "Fuzz", "Example")
_COMMON_FILES: Final = frozenset(("main.go", "doc.go", "types.go", "tools.go"))
"""Names that a text uses for any such file."""


def mentions(path: str, pieces: Iterable[SectionText]) -> tuple[DocumentMention, ...]:
    """What the pieces of a document's section name, in their order; whether that exists is not looked at."""
    found: dict[DocumentMention, None] = {}
    for piece in pieces:
        for mention in _READERS[piece.kind](path, piece):
            found.setdefault(mention)
    return tuple(found)


def keys(mention: DocumentMention) -> tuple[str, ...]:
    """By what the nodes are found that a mention may mean."""
    last = mention.text.rstrip("/").rpartition("/")[2]
    if mention.kind in ("link", "place", "path", "exact"):
        return (f"File {last}",) if last.endswith(".go") else (f"Package {last}",)
    if mention.kind == "import":
        return (f"Package {last}",)
    names = last.split(".")
    is_alone = len(names) == 1 or (mention.kind in ("qualified", "block") and len(names) == 2)
    return (f"Symbol {names[-1]}" if is_alone else f"Symbol {names[-2]}.{names[-1]}",)


def _in_code(_: str, piece: SectionText) -> Iterator[DocumentMention]:
    text, line = piece.text, piece.line
    if len(text) > 300:
        return
    if found := _FUNC.match(text):
        yield DocumentMention("name", f"{found[1]}.{found[2]}" if found[1] else found[2], line)
        return
    if found := _TYPE.match(text):
        yield DocumentMention("name", found[1], line)
        return
    plain = _PLACE.sub("", text)
    if "/" in plain or plain.endswith(".go"):
        yield from _as_path(plain, line)
    elif found := _CHAIN.match(text):
        chain = f"{found[1]}.{found[2]}" if found[1] else found[2]
        if _may_name(chain, is_call=bool(found[3])):
            yield DocumentMention("name", chain, line)


def _as_path(text: str, line: int) -> Iterator[DocumentMention]:
    if _IMPORT.match(text):
        yield DocumentMention("import", text.rstrip("/"), line)
    if (found := _QUALIFIED.match(text)) and found[2][:1].isupper():
        yield DocumentMention("qualified", f"{found[1]}.{found[2]}", line)
    elif _PATH.match(text):
        yield DocumentMention("path", text, line)


def _may_name(chain: str, *, is_call: bool) -> bool:
    """Whether it looks like Go: some capital, and not only capitals, which are constants of any language."""
    parts = chain.split(".")
    if len(parts) > 1:
        return any(part[0].isupper() for part in parts) and len(parts) <= 3
    return len(chain) > 2 and not chain.isupper() and (chain[0].isupper() or is_call)


def _in_link(path: str, piece: SectionText) -> Iterator[DocumentMention]:
    text, line = piece.text, piece.line
    if "://" in text:
        if found := _WEB.match(text):
            yield DocumentMention("place", f"{found[1]} {found[2].rstrip('/')}", line)
        elif found := _REFERENCE.match(text):
            if found[2]:
                yield DocumentMention("qualified", f"{found[1]}.{found[2]}", line)
            else:
                yield DocumentMention("import", found[1], line)
        return
    target = text.partition("#")[0].partition("?")[0]
    if target and ":" not in target and not target.endswith((".md", ".html")):
        base = "" if target.startswith("/") else posixpath.dirname(path)
        resolved = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
        if not resolved.startswith(".."):
            yield DocumentMention("link", resolved, line)


def _in_prose(_: str, piece: SectionText) -> Iterator[DocumentMention]:
    for found in _IN_PROSE.finditer(piece.text):
        text = found[1].rstrip(".")
        if text.endswith(".go"):
            yield DocumentMention("path", text, piece.line)
        elif _IMPORT.match(text):
            yield DocumentMention("import", text, piece.line)


def _in_block(_: str, piece: SectionText) -> Iterator[DocumentMention]:
    for at, line in enumerate(piece.text.split("\n")):
        if ".go" in line and "/" in line:
            for found in _IN_PROSE.finditer(line):
                if found[1].endswith(".go"):
                    yield DocumentMention("exact", found[1], piece.line + at)


def _in_go(_: str, piece: SectionText) -> Iterator[DocumentMention]:
    """What Go code takes from packages that it imports itself; a name that it declares may hide one of those."""
    names: dict[str, str] = {}
    for found in _IMPORTS.finditer(piece.text):
        for alias, to in _IMPORTED.findall(found[1] or found[2] or ""):
            names[alias or _assumed_name(to)] = to
            if _IMPORT.match(to):
                at = piece.text.count("\n", 0, piece.text.index(f'"{to}"'))
                yield DocumentMention("import", to, piece.line + at)
    if not names:
        return
    for at, line in enumerate(piece.text.split("\n")):
        for found in _SELECTED.finditer(line.partition("//")[0]):
            to = names.get(found[1])
            if (
                to
                and "." in to.partition("/")[0]
                and not re.search(rf"\b{found[1]}\s*(?:,[^=\n]*)?:?=[^=]", piece.text)
            ):
                yield DocumentMention("block", f"{to}.{found[2]}", piece.line + at)


def _assumed_name(path: str) -> str:
    parts = path.split("/")
    if len(parts) > 1 and _VERSION.match(parts[-1]):
        parts.pop()
    return re.sub(r"\.v\d+$", "", parts[-1])


_READERS: Final[dict[str, Callable[[str, SectionText], Iterator[DocumentMention]]]] = {
    "code": _in_code,
    "link": _in_link,
    "prose": _in_prose,
    "block": _in_block,
    "go": _in_go,
}


def meaning(mention: DocumentMention, path: str, code: Code, outside: Collection[str]) -> MentionMeaning | None:
    """What a mention in a document means; None where it is nothing that is there, or not the only thing. `outside` are
    the names of packages that are imported from elsewhere."""
    near = [target for key in keys(mention) for target in code(key)]
    if not near:
        return None
    kind, text = mention.kind, mention.text
    if kind == "link":
        return _one("path", [one for one in near if text == (one.dir if one.label == "Package" else one.name)])
    if kind == "place":
        repository, _, place = text.partition(" ")
        return _one("path", [one for one in near if _is_at(one, place) and _is_of(one, repository)])
    if kind in ("path", "exact"):
        return _path_meaning(text, path, near, is_exact=kind == "exact")
    if kind == "import":
        return _one("import path", [one for one in near if one.name == text])
    if kind in ("qualified", "block"):
        exact = [one for one in near if one.name == text]
        if kind == "block":
            return _one("code block", exact)
        return _one("qualified name", exact or [one for one in near if one.name.endswith(f"/{text}")])
    return _name_meaning(text, _home(path), [one for one in near if _is_nameable(one)], outside)


def _one(evidence: str, found: Sequence[MentionTarget]) -> MentionMeaning | None:
    """The declarations of one name, twins among them; None where there is not exactly one name."""
    if len({(one.label, one.name, one.dir) for one in found}) != 1:
        return None
    return MentionMeaning(evidence, tuple(sorted(found)))


def _is_at(target: MentionTarget, place: str) -> bool:
    return place == (target.dir if target.label == "Package" else target.name)


def _is_of(target: MentionTarget, repository: str) -> bool:
    return f"{target.package}/".lower().startswith(f"{repository}/".lower())


def _path_meaning(text: str, path: str, near: Sequence[MentionTarget], *, is_exact: bool) -> MentionMeaning | None:
    from_root = posixpath.normpath(text)
    from_here = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    found = [one for one in near if _is_at(one, from_root) or _is_at(one, from_here)]
    if near[0].label == "Package":
        return _one("path", found) if "/" in text and text not in stdlib_index.paths() else None
    if found or is_exact or text.startswith("."):
        return _one("path", found)
    if "/" not in text and text in _COMMON_FILES:
        return None
    return _one("path", [one for one in near if one.name.endswith(f"/{from_root}")])


def _home(path: str) -> str:
    """The directory that a document speaks of: its own, or the one that its directory of documents is in."""
    place = posixpath.dirname(path)
    while posixpath.basename(place) in _OF_DOCUMENTS:
        place = posixpath.dirname(place)
    return place


def _is_nameable(target: MentionTarget) -> bool:
    return not target.file.endswith("_test.go") or posixpath.basename(target.name).rpartition(".")[2].startswith(_TESTS)


def _name_meaning(
    text: str, home: str, near: Sequence[MentionTarget], outside: Collection[str]
) -> MentionMeaning | None:
    parts = text.split(".")
    if len(parts) > 1:
        return _chain_meaning(parts, home, near, outside)
    at_home = [one for one in near if one.dir == home and one.kind != "field"]
    if at_home:
        # A type goes before its namesakes. Of a function and a method either may be meant, and a method alone may be
        # some other type's, or a key of some format.
        return _declared_alone([one for one in at_home if one.kind in _TYPES] or at_home)
    if not has_humps(text) or text in _standard_names() or not text[0].isupper():
        return None
    # Elsewhere, a name that is a variable's may as well be a setting's.
    is_setting = any(one.kind == "var" for one in near) and not text.startswith("Err")
    return None if is_setting else _declared_alone(near)


def _declared_alone(found: Sequence[MentionTarget]) -> MentionMeaning | None:
    """A declaration of a package, which no member of a type shares its name with."""
    return _one("code span", found) if all(one.kind not in _MEMBERS for one in found) else None


def _chain_meaning(
    parts: Sequence[str], home: str, near: Sequence[MentionTarget], outside: Collection[str]
) -> MentionMeaning | None:
    text = ".".join(parts)
    inside = [one for one in near if _within(one) == text]
    at_home = [one for one in inside if one.dir == home]
    if at_home:
        return _one("qualified name", at_home)
    of_package = [one for one in near if f"{one.package_name}.{_within(one)}" == text and parts[1][0].isupper()]
    if of_package:
        if any(one.dir == home for one in of_package):
            return _one("qualified name", [one for one in of_package if one.dir == home])
        is_doubtful = parts[0] in outside or parts[1] in _standard(parts[0])
        return None if is_doubtful else _one("qualified name", [*of_package, *inside])
    is_doubtful = parts[0] in _standard_names() or not parts[0][0].isupper()
    return None if is_doubtful else _one("qualified name", inside)


def _within(target: MentionTarget) -> str:
    """A symbol's name as its own package writes it."""
    return target.name[len(target.package) + 1 :]


@cache
def _standard(name: str) -> frozenset[str]:
    """What packages of the standard library with this name export."""
    found: set[str] = set()
    for path in stdlib_index.paths():
        if posixpath.basename(path) == name:
            found.update(_exported(path))
    return frozenset(found)


@cache
def _standard_names() -> frozenset[str]:
    """Every name that the standard library exports."""
    public = (
        path for path in stdlib_index.paths() if "internal" not in path.split("/") and not path.startswith("vendor/")
    )
    return frozenset(name for path in public for name in _exported(path))


def _exported(path: str) -> Iterator[str]:
    for file in stdlib_index.package_files(path) or ():
        yield from (decl.name for decl in file.shape.decls if decl.name[:1].isupper())


def has_humps(name: str) -> bool:
    """Whether a name is of several words, and so hardly a plain word or the name of something else."""
    return _HUMPS.search(name) is not None


def outside_names(paths: Iterable[str]) -> frozenset[str]:
    """What packages of these import paths are called."""
    return frozenset(map(_assumed_name, paths))


def linked(
    meanings: Mapping[DocumentMention, MentionMeaning | None],
) -> dict[tuple[str, str], tuple[str, tuple[int, ...]]]:
    """Of a section's mentions: each node by label and id, with the surest evidence and the lines."""
    lines: dict[tuple[str, str], set[int]] = {}
    evidence: dict[tuple[str, str], str] = {}
    for mention, meant in meanings.items():
        if meant is None:
            continue
        for target in meant.targets:
            ends = (target.label, target.id)
            lines.setdefault(ends, set()).add(mention.line)
            evidence[ends] = min(evidence.get(ends, meant.evidence), meant.evidence, key=EVIDENCE.index)
    return {ends: (evidence[ends], tuple(sorted(found))) for ends, found in sorted(lines.items())}
