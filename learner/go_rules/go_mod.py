"""Reads go.mod, go.work and vendor/modules.txt.

Parsing never fails: a line that is not understood becomes a `Problem` and the rest is used, so a file in the middle of
a merge still yields most of its content. Also compares versions. Downloads nothing and does not run the `go` command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from golore.graph.model.entities import Problem


class Require(NamedTuple):
    path: str
    version: str
    indirect: bool = False


class Replace(NamedTuple):
    """`old [old_version] => new [new_version]`. Without `new_version`, `new` is a directory."""

    old: str
    old_version: str
    new: str
    new_version: str

    @property
    def local(self) -> bool:
        return not self.new_version


class Exclude(NamedTuple):
    path: str
    version: str


class Retract(NamedTuple):
    """A closed range of versions; for a single version both ends are equal."""

    low: str
    high: str
    rationale: str = ""


class GoMod(NamedTuple):
    module: str = ""
    go: str = ""
    toolchain: str = ""
    requires: tuple[Require, ...] = ()
    replaces: tuple[Replace, ...] = ()
    excludes: tuple[Exclude, ...] = ()
    retracts: tuple[Retract, ...] = ()
    tools: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    deprecated: str = ""
    problems: tuple[Problem, ...] = ()


class GoWork(NamedTuple):
    go: str = ""
    toolchain: str = ""
    uses: tuple[str, ...] = ()
    replaces: tuple[Replace, ...] = ()
    problems: tuple[Problem, ...] = ()


class VendoredModule(NamedTuple):
    path: str
    version: str
    explicit: bool
    replacement: str
    packages: tuple[str, ...]


class VendorList(NamedTuple):
    modules: tuple[VendoredModule, ...] = ()
    workspace: bool = False
    problems: tuple[Problem, ...] = ()


def parse_gomod(data: bytes, name: str = "go.mod") -> GoMod:
    module = go = toolchain = deprecated = ""
    requires: list[Require] = []
    replaces: list[Replace] = []
    excludes: list[Exclude] = []
    retracts: list[Retract] = []
    tools: list[str] = []
    ignores: list[str] = []
    problems: list[Problem] = []
    for line in _statements(data, name, problems):
        match line.words:
            case ("module", path):
                module = path
                deprecated = _deprecation(line.comments)
            case ("go", version):
                go = version
            case ("toolchain", version):
                toolchain = version
            case ("require", path, version):
                requires.append(Require(path, version, _is_indirect(line.suffix)))
            case ("replace", *rest) if replace := _replace(rest):
                replaces.append(replace)
            case ("exclude", path, version):
                excludes.append(Exclude(path, version))
            case ("retract", version) if version not in "[],":
                retracts.append(Retract(version, version, " ".join(line.comments)))
            case ("retract", "[", low, ",", high, "]"):
                retracts.append(Retract(low, high, " ".join(line.comments)))
            case ("tool", path):
                tools.append(path)
            case ("ignore", path):
                ignores.append(path)
            case ("godebug", *_):
                pass
            case _:
                problems.append(_not_understood(name, line))
    if not module:
        problems.append(Problem(name, 0, "go.mod has no module line"))
    return GoMod(
        module, go, toolchain, tuple(requires), tuple(replaces), tuple(excludes), tuple(retracts), tuple(tools),
        tuple(ignores), deprecated, tuple(problems),
    )  # fmt: skip


def parse_gowork(data: bytes, name: str = "go.work") -> GoWork:
    go = toolchain = ""
    uses: list[str] = []
    replaces: list[Replace] = []
    problems: list[Problem] = []
    for line in _statements(data, name, problems):
        match line.words:
            case ("go", version):
                go = version
            case ("toolchain", version):
                toolchain = version
            case ("use", directory):
                uses.append(directory)
            case ("replace", *rest) if replace := _replace(rest):
                replaces.append(replace)
            case ("godebug", *_):
                pass
            case _:
                problems.append(_not_understood(name, line))
    return GoWork(go, toolchain, tuple(uses), tuple(replaces), tuple(problems))


def parse_vendor_list(data: bytes, name: str = "vendor/modules.txt") -> VendorList:
    modules: list[VendoredModule] = []
    problems: list[Problem] = []
    workspace = False
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if line.startswith("## "):
            flags = [flag.strip() for flag in line[3:].split(";")]
            workspace = workspace or "workspace" in flags
            if modules and "explicit" in flags:
                modules[-1] = modules[-1]._replace(explicit=True)
        elif line.startswith("# "):
            left, _, replacement = line[2:].partition(" => ")
            path, _, version = left.strip().partition(" ")
            modules.append(VendoredModule(path, version.strip(), False, replacement.strip(), ()))
        elif package := line.strip():
            if modules:
                modules[-1] = modules[-1]._replace(packages=(*modules[-1].packages, package))
            else:
                problems.append(Problem(name, number, f"{package} is listed before any module"))
    return VendorList(tuple(modules), workspace, tuple(problems))


_SEMVER: Final = re.compile(r"v(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")

VersionKey = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=4096)
def version_key(version: str) -> VersionKey:
    """Sort key for versions in the order of semantic versioning. Invalid versions come first."""
    match = _SEMVER.fullmatch(version)
    if not match:
        return (-1, 0, 0, 0, ((1, 0, version),))
    major, minor, patch, pre = match.groups()
    identifiers = tuple((0, int(x), "") if x.isdigit() else (1, 0, x) for x in pre.split(".")) if pre else ()
    return (int(major), int(minor or 0), int(patch or 0), 0 if pre else 1, identifiers)


def escape_path(path: str) -> str:
    """A module path or version as the module cache writes it, with `!a` for `A`."""
    return re.sub(r"[A-Z]", lambda match: "!" + match[0].lower(), path)


class _Statement(NamedTuple):
    """One directive, beginning with its verb, which for a directive in a block is that of the block."""

    line: int
    words: tuple[str, ...]
    suffix: str
    comments: tuple[str, ...]


_BLOCK_VERBS: Final = frozenset(
    ("require", "replace", "exclude", "retract", "tool", "ignore", "use", "godebug", "module")
)
_WORD: Final = re.compile(
    r"""[ \t\r]*(?:(?P<comment>//.*)|(?P<mark>=>|[(),\[\]])"""
    r"""|(?P<quoted>"(?:[^"\\\n]|\\.)*"|`[^`\n]*`)|(?P<bare>(?:(?!//|=>)[^\s(),\[\]"`])+)|(?P<wrong>\S))"""
)


def _statements(data: bytes, name: str, problems: list[Problem]) -> Iterator[_Statement]:
    verb: str | None = None
    block_line = 0
    comments_above: list[str] = []
    for number, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").split("\n"), 1):
        words, suffix, wrong = _words(text)
        if wrong:
            problems.append(Problem(name, number, f"unexpected {wrong!r}"))
            comments_above.clear()
        elif not words:
            if suffix:
                comments_above.append(suffix.removeprefix("//").strip())
            else:
                comments_above.clear()
        elif verb is not None and words == (")",):
            verb = None
            comments_above.clear()
        elif verb is None and len(words) == 2 and words[1] == "(" and words[0] in _BLOCK_VERBS:
            verb, block_line = words[0], number
            comments_above.clear()
        else:
            full = words if verb is None else (verb, *words)
            comments = (*comments_above, suffix.removeprefix("//").strip()) if suffix else tuple(comments_above)
            yield _Statement(number, full, suffix, comments)
            comments_above.clear()
    if verb is not None:
        problems.append(Problem(name, block_line, f"the {verb} block is not closed"))


def _words(text: str) -> tuple[tuple[str, ...], str, str]:
    """The words of a line, the comment at its end, and the first character that is neither."""
    words: list[str] = []
    for match in _WORD.finditer(text):
        if match["comment"]:
            return tuple(words), match["comment"].rstrip(), ""
        if match["wrong"]:
            return tuple(words), "", match["wrong"]
        words.append(_unquoted(match["quoted"]) if match["quoted"] else match["mark"] or match["bare"])
    return tuple(words), "", ""


def _unquoted(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]
    try:
        value = json.loads(text)
    except ValueError:
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]


def _replace(words: list[str]) -> Replace | None:
    match words:
        case [old, "=>", new]:
            return Replace(old, "", new, "") if _is_directory(new) else None
        case [old, "=>", new, version]:
            return Replace(old, "", new, version)
        case [old, old_version, "=>", new]:
            return Replace(old, old_version, new, "") if _is_directory(new) else None
        case [old, old_version, "=>", new, version]:
            return Replace(old, old_version, new, version)
        case _:
            return None


def _is_directory(path: str) -> bool:
    return path in (".", "..") or path.startswith(("./", "../", "/", ".\\", "..\\")) or path[1:3] in (":\\", ":/")


def _is_indirect(comment: str) -> bool:
    text = comment.removeprefix("//").strip()
    return text == "indirect" or text.startswith("indirect;")


def _deprecation(comments: tuple[str, ...]) -> str:
    paragraph = "\n".join(comments).partition("Deprecated:")
    return " ".join(paragraph[2].split()) if paragraph[1] else ""


def _not_understood(name: str, line: _Statement) -> Problem:
    return Problem(name, line.line, f"not understood: {' '.join(line.words)}")
