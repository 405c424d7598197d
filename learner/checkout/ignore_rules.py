"""Which paths git would ignore: `.gitignore` files, nested and negated, and `.git/info/exclude`.

A path is matched without regard to its parents: the walk does not enter an ignored directory, so everything below it
is ignored, as in git. A user's global excludes do not apply: two people who learn one commit should get the same graph.
No library is used, because a walk matches every directory and every Go file, and because the libraries differ from git
in details (the tests compare with `git check-ignore`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.safety.regular_file import read_regular
from golore.learner.checkout import git_directory

IGNORE_LIMIT: Final = 1 << 18
"""The largest ignore file that is read, in bytes. Every path is compared with every pattern."""
_MAX_GROUPS: Final = 50
"""Groups of a regular expression. The time to match one grows with their square."""


class _Pattern(NamedTuple):
    regex: str
    negated: bool
    directories_only: bool


class _Rules(NamedTuple):
    """The patterns of one ignore file as regular expressions, nearly always one.

    Their groups, last pattern first, alternate between plain and negated patterns. They are matched against
    `name/path`, so that a pattern without a slash is compared with the name first and fails fast.
    """

    regexes: tuple[tuple[re.Pattern[str], tuple[bool, ...]], ...]
    """Each with whether its groups are negated."""

    def verdict(self, name: str, path: str) -> bool | None:
        for regex, negated in self.regexes:
            match = regex.fullmatch(f"{name}/{path}")
            if match is not None and match.lastindex is not None:
                return not negated[match.lastindex - 1]
        return None


class Patterns(NamedTuple):
    """The content of one ignore file."""

    files: _Rules | None
    directories: _Rules | None


class IgnoreRules(NamedTuple):
    """The ignore files that apply to one directory, nearest first, each with its own directory."""

    layers: tuple[tuple[str, Patterns], ...] = ()
    prefix: str = ""
    """The path of the root in its git repository, prepended to paths so that patterns from above the root match."""

    def with_ignore_file(self, directory: str, content: bytes) -> IgnoreRules:
        """The rules inside a directory ("" for the root) whose own ignore file has this content."""
        patterns = parse_patterns(content)
        if patterns.files is None and patterns.directories is None:
            return self
        base = f"{self.prefix}{directory}/" if directory else self.prefix
        return IgnoreRules(((base, patterns), *self.layers), self.prefix)

    def ignores(self, path: str, *, is_dir: bool) -> bool:
        """Whether this path is ignored, given that its directory is not."""
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
    """The rules that its git repository, if any, applies at a root, without the root's own `.gitignore`.

    If the root or a directory above it is ignored, there are no rules: the user named the root explicitly.
    """
    top = git_directory.top_of(root)
    if top is None:
        return IgnoreRules()
    rules = IgnoreRules().with_ignore_file("", read_exclude_file(top))
    below = root.relative_to(top).parts
    for depth, part in enumerate(below):
        directory = "/".join(below[:depth])
        rules = rules.with_ignore_file(directory, _read_content(top / directory / ".gitignore"))
        if rules.ignores(f"{directory}/{part}" if directory else part, is_dir=True):
            return IgnoreRules()
    return IgnoreRules(rules.layers, "/".join((*below, "")))


@lru_cache(maxsize=256)
def parse_patterns(content: bytes) -> Patterns:
    parsed: list[_Pattern] = []
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        pattern = _parse_line(line.removesuffix(b"\r").decode("utf-8", "surrogateescape"))
        if pattern is not None:
            parsed.append(pattern)
    return Patterns(_compile_rules([p for p in parsed if not p.directories_only]), _compile_rules(parsed))


def read_exclude_file(top: Path) -> bytes:
    """The content of a checkout's `.git/info/exclude`; empty if there is none or it cannot be read."""
    common = git_directory.common_directory(top)
    return b"" if common is None else _read_content(common / "info" / "exclude", follow=True)


def _read_content(path: Path, *, follow: bool = False) -> bytes:
    try:
        return read_regular(path, IGNORE_LIMIT, follow=follow)
    except OSError:
        return b""


def _compile_rules(patterns: list[_Pattern]) -> _Rules | None:
    runs = [(negated, [p.regex for p in run]) for negated, run in groupby(reversed(patterns), lambda p: p.negated)]
    regexes: list[tuple[re.Pattern[str], tuple[bool, ...]]] = []
    for at in range(0, len(runs), _MAX_GROUPS):
        group = runs[at : at + _MAX_GROUPS]
        text = "|".join(f"({'|'.join(patterns)})" for _, patterns in group)
        regexes.append((re.compile(text, re.DOTALL), tuple(negated for negated, _ in group)))
    return _Rules(tuple(regexes)) if regexes else None


def _parse_line(line: str) -> _Pattern | None:
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
    """The glob as a regular expression over a path; None if it can match nothing."""
    out = _GlobRegex()
    position = 0
    while position < len(glob):
        char = glob[position]
        if char == "*":
            stars = _STARS.match(glob, position)
            end = stars.end() if stars else position + 1
            # git compares the text before the first special character literally and starts its matcher after it, so
            # that `**` as the first special character counts as the start of a pattern, wherever it is.
            opens = position == 0 or glob[position - 1] == "/" or not _SPECIAL.search(glob, 0, position)
            if anchored and end - position >= 2 and opens and glob[end : end + 1] in ("", "/"):
                if end < len(glob):
                    out.any_directories()
                else:
                    out.append(".*")
                position = end + 1
                continue
            out.star()
            position = end
        elif char == "?":
            out.append("[^/]")
            position += 1
        elif char == "[":
            found = _class_regex(glob, position + 1)
            if found is None:
                return None
            out.append(found[0])
            position = found[1]
        else:
            if char == "\\":
                position += 1
                if position == len(glob):
                    return None
            if glob[position] == "/":
                out.slash()
            else:
                out.append(re.escape(glob[position]))
            position += 1
    return out.finished()


class _GlobRegex:
    """The parts of a regular expression for one glob, whose matching takes time linear in the number of stars.

    If a star is followed by another one, only the first place where the text between them fits has to be tried: the
    second star matches the rest. The first star with this text becomes an atomic group, which is not tried again if a
    later part does not match. The same holds for two `**/`.
    """

    def __init__(self) -> None:
        self._before = ""
        """Up to the last `**/`."""
        self._group = ""
        """After the last `**/`, up to the last star or slash."""
        self._has_directories = False
        self._has_star = False
        self._text: list[str] = []
        """After the last star or slash."""

    def append(self, regex: str) -> None:
        self._text.append(regex)

    def star(self) -> None:
        self._end_text(is_last_star=False)
        self._has_star = True

    def slash(self) -> None:
        self._text.append("/")
        self._end_text(is_last_star=True)

    def any_directories(self) -> None:
        self._end_text(is_last_star=True)
        self._before += f"(?>(?:.*?/)??{self._group})" if self._has_directories else self._group
        self._group, self._has_directories = "", True

    def finished(self) -> str:
        self._end_text(is_last_star=True)
        return f"{self._before}{'(?:.*/)?' if self._has_directories else ''}{self._group}"

    def _end_text(self, *, is_last_star: bool) -> None:
        text = "".join(self._text)
        if self._has_star:
            text = f"[^/]*{text}" if is_last_star else f"(?>[^/]*?{text})"
        self._group += text
        self._has_star = False
        self._text.clear()


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


def _class_regex(glob: str, position: int) -> tuple[str, int] | None:
    """A bracket expression, given from after its `[`, as a regular expression, and its end; None if it is not valid."""
    negated = glob[position : position + 1] in ("!", "^")
    position += negated
    parts: list[str] = []
    first = True
    while True:
        if position >= len(glob):
            return None
        if glob[position] == "]" and not first:
            break
        first = False
        if glob.startswith("[:", position) and (end := glob.find(":]", position)) >= 0:
            if glob[position + 2 : end] not in _POSIX:
                return None
            parts.append(_POSIX[glob[position + 2 : end]])
            position = end + 2
            continue
        low, position = _class_char(glob, position)
        if low and glob[position : position + 1] == "-" and glob[position + 1 : position + 2] not in ("", "]"):
            high, position = _class_char(glob, position + 1)
            if high and low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            parts.append(re.escape(low))
    inside = "".join(parts)
    if negated:
        return (f"[^/{inside}]", position + 1)
    return (f"(?!/)[{inside}]" if inside else r"[^\s\S]", position + 1)


def _class_char(glob: str, position: int) -> tuple[str, int]:
    if glob[position] == "\\" and position + 1 < len(glob):
        position += 1
    return glob[position], position + 1
