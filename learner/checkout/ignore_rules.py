"""Which paths git would ignore: `.gitignore` files, nested and negated, and `.git/info/exclude`.

One path is judged by its own name only; whoever walks the tree does not enter an ignored directory, which is what
makes everything below it ignored, as in git. A user's global excludes are left out: two people who learn one commit
should get one graph. Written out rather than taken from a library because a walk asks it for every directory and
every Go file, and because the libraries differ from git in details (checked against `git check-ignore` in the tests).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from golore.learner.checkout import git_directory


class _Pattern(NamedTuple):
    regex: str
    negated: bool
    directories_only: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """One file's patterns as a regular expression whose groups, last pattern first, alternate by sign.

    It is matched against `name/path`, so that a pattern without a slash meets the name at once and fails fast.
    """

    regex: re.Pattern[str]
    negated: tuple[bool, ...]

    def verdict(self, name: str, path: str) -> bool | None:
        match = self.regex.fullmatch(f"{name}/{path}")
        return None if match is None or match.lastindex is None else not self.negated[match.lastindex - 1]


@dataclass(frozen=True, slots=True)
class Patterns:
    """The content of one ignore file."""

    files: _Rules | None
    directories: _Rules | None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that bear on one directory, nearest first, each with the directory it stands in."""

    layers: tuple[tuple[str, Patterns], ...] = ()
    prefix: str = ""
    """Where the root lies in its git repository; patterns from above the root see paths with it in front."""

    def below(self, directory: str, content: bytes) -> IgnoreRules:
        """The rules inside a directory ("" for the root) that has an ignore file of its own."""
        patterns = parse_patterns(content)
        if patterns.files is None and patterns.directories is None:
            return self
        base = f"{self.prefix}{directory}/" if directory else self.prefix
        return IgnoreRules(((base, patterns), *self.layers), self.prefix)

    def ignores(self, path: str, *, is_dir: bool) -> bool:
        """Is this path ignored, given that the directory it is in is not?"""
        if not self.layers:
            return False
        full = self.prefix + path
        name = full.rpartition("/")[2]
        for base, patterns in self.layers:
            rules = patterns.directories if is_dir else patterns.files
            if rules is not None:
                verdict = rules.verdict(name, full[len(base) :])
                if verdict is not None:
                    return verdict
        return False


def rules_for(root: Path) -> IgnoreRules:
    """The rules that hold at a root before its own `.gitignore`: from its git repository, if it is in one.

    A root that is itself ignored was asked for by name, so what says so is not applied to it.
    """
    top = next((directory for directory in (root, *root.parents) if (directory / ".git").exists()), None)
    if top is None:
        return IgnoreRules()
    rules = IgnoreRules()
    common = git_directory.common_directory(top)
    if common is not None:
        rules = rules.below("", _content(common / "info" / "exclude"))
    below = root.relative_to(top).parts
    for depth, part in enumerate(below):
        directory = "/".join(below[:depth])
        rules = rules.below(directory, _content(top / directory / ".gitignore"))
        if rules.ignores(f"{directory}/{part}" if directory else part, is_dir=True):
            return IgnoreRules()
    return IgnoreRules(rules.layers, "/".join((*below, "")))


@lru_cache(maxsize=256)
def parse_patterns(content: bytes) -> Patterns:
    parsed: list[_Pattern] = []
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        pattern = _pattern(line.removesuffix(b"\r").decode("utf-8", "surrogateescape"))
        if pattern is not None:
            parsed.append(pattern)
    return Patterns(_rules([p for p in parsed if not p.directories_only]), _rules(parsed))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _rules(patterns: list[_Pattern]) -> _Rules | None:
    runs = [(negated, [p.regex for p in run]) for negated, run in groupby(reversed(patterns), lambda p: p.negated)]
    if not runs:
        return None
    text = "|".join(f"({'|'.join(regexes)})" for _, regexes in runs)
    return _Rules(re.compile(text, re.DOTALL), tuple(negated for negated, _ in runs))


def _pattern(line: str) -> _Pattern | None:
    if line.startswith("#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith("!")
    line = line.removeprefix("!")
    directories_only = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    anchored = "/" in line
    regex = _glob_regex(line.removeprefix("/"), anchored)
    if regex is None:
        return None
    return _Pattern(f"[^/]*/{regex}" if anchored else f"{regex}/.*", negated, directories_only)


def _without_trailing_spaces(line: str) -> str:
    end = len(line.rstrip(" "))
    escaped = end < len(line) and (end - len(line[:end].rstrip("\\"))) % 2 == 1
    return line[: end + 1] if escaped else line[:end]


_STARS = re.compile(r"\*+")
_SPECIAL = re.compile(r"[*?\[\\]")


def _glob_regex(glob: str, anchored: bool) -> str | None:
    """The glob as a regular expression over a path; None when it can match nothing."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            stars = _STARS.match(glob, at)
            end = stars.end() if stars else at + 1
            # git compares what stands before the first special character by itself and starts its matcher after it,
            # so that `**` there begins a pattern wherever it stands.
            opens = at == 0 or glob[at - 1] == "/" or not _SPECIAL.search(glob, 0, at)
            if anchored and end - at >= 2 and opens and glob[end : end + 1] in ("", "/"):
                out.append("(?:.*/)?" if end < len(glob) else ".*")
                at = end + 1
                continue
            out.append("[^/]*")
            at = end
        elif char == "?":
            out.append("[^/]")
            at += 1
        elif char == "[":
            found = _class_regex(glob, at + 1)
            if found is None:
                return None
            out.append(found[0])
            at = found[1]
        else:
            if char == "\\":
                at += 1
                if at == len(glob):
                    return None
            out.append(re.escape(glob[at]))
            at += 1
    return "".join(out)


_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def _class_regex(glob: str, at: int) -> tuple[str, int] | None:
    """A bracket expression from after its `[`, and where it ends; None when it does not."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    parts: list[str] = []
    first = True
    while True:
        if at >= len(glob):
            return None
        if glob[at] == "]" and not first:
            break
        first = False
        if glob.startswith("[:", at) and (end := glob.find(":]", at)) >= 0:
            if glob[at + 2 : end] not in _POSIX:
                return None
            parts.append(_POSIX[glob[at + 2 : end]])
            at = end + 2
            continue
        low, at = _class_char(glob, at)
        if low and glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _class_char(glob, at + 1)
            if high and low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            parts.append(re.escape(low))
    inside = "".join(parts)
    if negated:
        return (f"[^/{inside}]", at + 1)
    return (f"(?!/)[{inside}]" if inside else r"[^\s\S]", at + 1)


def _class_char(glob: str, at: int) -> tuple[str, int]:
    if glob[at] == "\\" and at + 1 < len(glob):
        at += 1
    return glob[at], at + 1
