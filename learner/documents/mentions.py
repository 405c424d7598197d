"""Finds mentions of code in documents, and the nodes of the graph that they mean.

A mention has a meaning only if it is unambiguous: an existing path, an import path, a name with one declaration. A name
that the standard library or an imported package also has, a name with several declarations and a plain word have no
meaning, and no edge is made. In a document inside a package's directory, names of that package come first. Words of
prose are never names; only text marked as code is.
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
    """`kind`: `link` (the target of a link), `place` (a path in a repository on GitHub), `path`, `exact` (a path that
    must match exactly), `import` (an import path), `qualified` (a qualified name), `name`, or `block` (a name that Go
    code uses from a package that it imports)."""

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
"""The kinds of evidence for a link, strongest first."""
Code = Callable[[str], Sequence[MentionTarget]]
"""Returns the nodes of the graph with a key (see `mention_keys`)."""

_WORD: Final = r"[A-Za-z_]\w*"
_CHAIN: Final = re.compile(
    rf"[*&]*(?:\(\*?({_WORD}(?:\.{_WORD})?)\)\.)?({_WORD}(?:\.{_WORD}){{0,3}})(?:\[[^\]]*\])?(\(.*\))?$"
)
_FUNC: Final = re.compile(rf"func\s+(?:\(\s*(?:{_WORD}\s+)?\*?({_WORD})(?:\[[^\]]*\])?\s*\)\s*)?({_WORD})\s*[\[(]")
_TYPE: Final = re.compile(rf"type\s+({_WORD})\b")
_PATH: Final = re.compile(r"(?:\.{1,2}/)*(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w.@+-]*/?$")
_LINE_SUFFIX: Final = re.compile(r"(?::\d+(?::\d+|-\d+)?|#L?\d+(?:-L?\d+)?)$")
_PATH_IN_TEXT: Final = re.compile(r"(?<![\w/.@:$%*-])((?:\./)?[\w@+-][\w.@+-]*(?:/[\w@+-][\w.@+-]*)+)")
_IMPORT: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?:/[\w.~-]+)+$")
_QUALIFIED: Final = re.compile(rf"((?:[\w.~-]+/)+[\w~-]+(?:\.v\d+)?)\.({_WORD}(?:\.{_WORD})?)(?:\(.*\))?$")
_GITHUB_URL: Final = re.compile(r"https?://(?:www\.)?(github\.com/[\w.-]+/[\w.-]+)/(?:blob|tree)/[^/]+/([^#?\s]+)")
_GO_DOC_URL: Final = re.compile(
    r"https?://(?:pkg\.go\.dev|godoc\.org)/([\w./~-]+?)(?:@[\w.+-]+)?/?(?:\?[^#]*)?(?:#([\w.-]+))?$"
)
_IMPORTS: Final = re.compile(r"^[ \t]*import[ \t]*\(([^)]*)\)|^[ \t]*import[ \t]+([^\n(]*)$", re.MULTILINE)
_IMPORTED: Final = re.compile(r"(?:([\w.]+)\s+)?\"([^\"\s]+)\"")
_SELECTED: Final = re.compile(rf"(?<![\w.)\]\"/])({_WORD})\.([A-Z]\w*)")
_HUMPS: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_VERSION: Final = re.compile(r"v\d+$")
_DOCUMENT_DIRECTORIES: Final = frozenset(
    "adr adrs assets content decisions design designs doc docs documentation guide guides proposals rfcs site".split()
)
_MEMBER_KINDS: Final = frozenset(("method", "field", "imethod"))
_TYPE_KINDS: Final = frozenset(("struct", "interface", "type", "alias"))
_TEST_PREFIXES: Final = ("Test", "Benchmark", "Fuzz", "Example")
_COMMON_FILES: Final = frozenset(("main.go", "doc.go", "types.go", "tools.go"))
"""File names that exist in many packages, so that the name alone does not identify a file."""


def mentions(path: str, pieces: Iterable[SectionText]) -> tuple[DocumentMention, ...]:
    """The distinct mentions in the pieces of a section, in order. Does not check whether what they name exists."""
    found: dict[DocumentMention, None] = {}
    for piece in pieces:
        for mention in _READERS[piece.kind](path, piece):
            found.setdefault(mention)
    return tuple(found)


def mention_keys(mention: DocumentMention) -> tuple[str, ...]:
    """The keys of the nodes that a mention may mean."""
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
    plain = _LINE_SUFFIX.sub("", text)
    if "/" in plain or plain.endswith(".go"):
        yield from _as_path(plain, line)
    elif found := _CHAIN.match(text):
        chain = f"{found[1]}.{found[2]}" if found[1] else found[2]
        if _looks_like_go(chain, is_call=bool(found[3])):
            yield DocumentMention("name", chain, line)


def _as_path(text: str, line: int) -> Iterator[DocumentMention]:
    if _IMPORT.match(text):
        yield DocumentMention("import", text.rstrip("/"), line)
    if (found := _QUALIFIED.match(text)) and found[2][:1].isupper():
        yield DocumentMention("qualified", f"{found[1]}.{found[2]}", line)
    elif _PATH.match(text):
        yield DocumentMention("path", text, line)


def _looks_like_go(chain: str, *, is_call: bool) -> bool:
    """Whether a name looks like Go: it begins with a capital or is called, and is not all capitals, which may be a
    constant of any language; of two or three names joined by dots, one begins with a capital."""
    parts = chain.split(".")
    if len(parts) > 1:
        return any(part[0].isupper() for part in parts) and len(parts) <= 3
    return len(chain) > 2 and not chain.isupper() and (chain[0].isupper() or is_call)


def _in_link(path: str, piece: SectionText) -> Iterator[DocumentMention]:
    text, line = piece.text, piece.line
    if "://" in text:
        if found := _GITHUB_URL.match(text):
            yield DocumentMention("place", f"{found[1]} {found[2].rstrip('/')}", line)
        elif found := _GO_DOC_URL.match(text):
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
    for found in _PATH_IN_TEXT.finditer(piece.text):
        text = found[1].rstrip(".")
        if text.endswith(".go"):
            yield DocumentMention("path", text, piece.line)
        elif _IMPORT.match(text):
            yield DocumentMention("import", text, piece.line)


def _in_block(_: str, piece: SectionText) -> Iterator[DocumentMention]:
    for at, line in enumerate(piece.text.split("\n")):
        if ".go" in line and "/" in line:
            for found in _PATH_IN_TEXT.finditer(line):
                if found[1].endswith(".go"):
                    yield DocumentMention("exact", found[1], piece.line + at)


def _in_go(_: str, piece: SectionText) -> Iterator[DocumentMention]:
    """The names that Go code uses from packages that it imports, unless it also assigns to a variable of the package's
    name."""
    names: dict[str, str] = {}
    for found in _IMPORTS.finditer(piece.text):
        for alias, import_path in _IMPORTED.findall(found[1] or found[2] or ""):
            names[alias or _assumed_name(import_path)] = import_path
            if _IMPORT.match(import_path):
                at = piece.text.count("\n", 0, piece.text.index(f'"{import_path}"'))
                yield DocumentMention("import", import_path, piece.line + at)
    if not names:
        return
    for at, line in enumerate(piece.text.split("\n")):
        for found in _SELECTED.finditer(line.partition("//")[0]):
            import_path = names.get(found[1])
            if (
                import_path
                and "." in import_path.partition("/")[0]
                and not re.search(rf"\b{found[1]}\s*(?:,[^=\n]*)?:?=[^=]", piece.text)
            ):
                yield DocumentMention("block", f"{import_path}.{found[2]}", piece.line + at)


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


def resolve_mention(mention: DocumentMention, path: str, code: Code, outside: Collection[str]) -> MentionMeaning | None:
    """What a mention in a document means; None if it means nothing that exists, or is ambiguous. `outside` are the
    names of imported external packages."""
    possible = [target for key in mention_keys(mention) for target in code(key)]
    if not possible:
        return None
    kind, text = mention.kind, mention.text
    if kind == "link":
        return _unique(
            "path",
            [target for target in possible if text == (target.dir if target.label == "Package" else target.name)],
        )
    if kind == "place":
        repository, _, repository_path = text.partition(" ")
        return _unique(
            "path", [target for target in possible if _is_at(target, repository_path) and _is_of(target, repository)]
        )
    if kind in ("path", "exact"):
        return _path_meaning(text, path, possible, is_exact=kind == "exact")
    if kind == "import":
        return _unique("import path", [target for target in possible if target.name == text])
    if kind in ("qualified", "block"):
        exact = [target for target in possible if target.name == text]
        if kind == "block":
            return _unique("code block", exact)
        return _unique("qualified name", exact or [target for target in possible if target.name.endswith(f"/{text}")])
    return _name_meaning(text, _home_directory(path), [target for target in possible if _is_nameable(target)], outside)


def _unique(evidence: str, found: Sequence[MentionTarget]) -> MentionMeaning | None:
    """The targets if all have the same name and directory, as twins do; otherwise None."""
    if len({(target.label, target.name, target.dir) for target in found}) != 1:
        return None
    return MentionMeaning(evidence, tuple(sorted(found)))


def _is_at(target: MentionTarget, path: str) -> bool:
    return path == (target.dir if target.label == "Package" else target.name)


def _is_of(target: MentionTarget, repository: str) -> bool:
    return f"{target.package}/".lower().startswith(f"{repository}/".lower())


def _path_meaning(text: str, path: str, possible: Sequence[MentionTarget], *, is_exact: bool) -> MentionMeaning | None:
    from_root = posixpath.normpath(text)
    from_document = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    found = [target for target in possible if _is_at(target, from_root) or _is_at(target, from_document)]
    if possible[0].label == "Package":
        return _unique("path", found) if "/" in text and text not in stdlib_index.import_paths() else None
    if found or is_exact or text.startswith("."):
        return _unique("path", found)
    if "/" not in text and text in _COMMON_FILES:
        return None
    return _unique("path", [target for target in possible if target.name.endswith(f"/{from_root}")])


def _home_directory(path: str) -> str:
    """The directory that a document is about: its own, or the one that contains its directory of documents."""
    directory = posixpath.dirname(path)
    while posixpath.basename(directory) in _DOCUMENT_DIRECTORIES:
        directory = posixpath.dirname(directory)
    return directory


def _is_nameable(target: MentionTarget) -> bool:
    name = posixpath.basename(target.name).rpartition(".")[2]
    return not target.file.endswith("_test.go") or name.startswith(_TEST_PREFIXES)


def _name_meaning(
    text: str, home: str, possible: Sequence[MentionTarget], outside: Collection[str]
) -> MentionMeaning | None:
    parts = text.split(".")
    if len(parts) > 1:
        return _chain_meaning(parts, home, possible, outside)
    at_home = [target for target in possible if target.dir == home and target.kind != "field"]
    if at_home:
        # A type takes precedence. A name that is both a function and a method is ambiguous, and a method alone may
        # be that of another type, or a key of some format.
        return _declared_alone([target for target in at_home if target.kind in _TYPE_KINDS] or at_home)
    if not is_camel_case(text) or text in _std_exports() or not text[0].isupper():
        return None
    # In other directories, the name of a variable may also be the name of a setting.
    is_setting = any(target.kind == "var" for target in possible) and not text.startswith("Err")
    return None if is_setting else _declared_alone(possible)


def _declared_alone(found: Sequence[MentionTarget]) -> MentionMeaning | None:
    """The meaning if only package-level declarations have the name, and no method or field does."""
    return _unique("code span", found) if all(target.kind not in _MEMBER_KINDS for target in found) else None


def _chain_meaning(
    parts: Sequence[str], home: str, possible: Sequence[MentionTarget], outside: Collection[str]
) -> MentionMeaning | None:
    text = ".".join(parts)
    same_name = [target for target in possible if _name_in_package(target) == text]
    at_home = [target for target in same_name if target.dir == home]
    if at_home:
        return _unique("qualified name", at_home)
    of_package = [
        target
        for target in possible
        if f"{target.package_name}.{_name_in_package(target)}" == text and parts[1][0].isupper()
    ]
    if of_package:
        if any(target.dir == home for target in of_package):
            return _unique("qualified name", [target for target in of_package if target.dir == home])
        is_doubtful = parts[0] in outside or parts[1] in _std_package_exports(parts[0])
        return None if is_doubtful else _unique("qualified name", [*of_package, *same_name])
    is_doubtful = parts[0] in _std_exports() or not parts[0][0].isupper()
    return None if is_doubtful else _unique("qualified name", same_name)


def _name_in_package(target: MentionTarget) -> str:
    """The name of a symbol within its package, such as `Type.Method`."""
    return target.name[len(target.package) + 1 :]


@cache
def _std_package_exports(name: str) -> frozenset[str]:
    """The names that standard library packages called `name` export."""
    found: set[str] = set()
    for path in stdlib_index.import_paths():
        if posixpath.basename(path) == name:
            found.update(_exported_names(path))
    return frozenset(found)


@cache
def _std_exports() -> frozenset[str]:
    """All names that the standard library exports, without internal packages."""
    public = (
        path
        for path in stdlib_index.import_paths()
        if "internal" not in path.split("/") and not path.startswith("vendor/")
    )
    return frozenset(name for path in public for name in _exported_names(path))


def _exported_names(path: str) -> Iterator[str]:
    for file in stdlib_index.package_files(path) or ():
        yield from (decl.name for decl in file.shape.decls if decl.name[:1].isupper())


def is_camel_case(name: str) -> bool:
    """Whether a name consists of several words, so that it is unlikely to be a plain word."""
    return _HUMPS.search(name) is not None


def outside_names(paths: Iterable[str]) -> frozenset[str]:
    """The names that packages with these import paths presumably have."""
    return frozenset(map(_assumed_name, paths))


def link_nodes(
    meanings: Mapping[DocumentMention, MentionMeaning | None],
) -> dict[tuple[str, str], tuple[str, tuple[int, ...]]]:
    """The nodes that the mentions of a section mean, by label and id, with the strongest evidence and the lines."""
    lines: dict[tuple[str, str], set[int]] = {}
    evidence: dict[tuple[str, str], str] = {}
    for mention, found in meanings.items():
        if found is None:
            continue
        for target in found.targets:
            node = (target.label, target.id)
            lines.setdefault(node, set()).add(mention.line)
            evidence[node] = min(evidence.get(node, found.evidence), found.evidence, key=EVIDENCE.index)
    return {node: (evidence[node], tuple(sorted(found_lines))) for node, found_lines in sorted(lines.items())}
