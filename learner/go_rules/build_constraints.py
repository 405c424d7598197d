"""Build constraints: which builds a Go file takes part in.

Reads the `//go:build` line, or the `// +build` lines if there is none, where Go looks for them, adds the tags that the
file's name implies (`_linux`, `_amd64`, `_linux_amd64`), and combines them into one expression in canonical text.
`satisfied` evaluates such a text for a configuration; `compatible` reports whether two can hold in one build.

A build is a GOOS, a GOARCH and a compiler; every other tag can be set or not. All release tags `go1.N` are set,
whatever the version of Go. The implicit constraint of `import "C"` is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from golore.graph.model.entities import Problem

_UNIX = "aix android darwin dragonfly freebsd hurd illumos ios linux netbsd openbsd solaris"
_OTHER_GOOS = "js nacl plan9 wasip1 windows zos"
_GOARCH = """386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le
ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm"""
UNIX: Final = frozenset(_UNIX.split())
GOOS: Final = UNIX | frozenset(_OTHER_GOOS.split())
GOARCH: Final = frozenset(_GOARCH.split())
COMPILERS: Final = frozenset(("gc", "gccgo"))
RELEASES: Final = frozenset(f"go1.{n}" for n in range(1, 100))
_BASE_OF: Final = {"android": "linux", "illumos": "solaris", "ios": "darwin"}
"""GOOS values that also set the tag of another GOOS."""
_ALIASES: Final = {"boringcrypto": "goexperiment.boringcrypto"}

EXPERIMENTS: Final = frozenset(
    f"goexperiment.{name}"
    for name in (
        "dwarf5 greenteagc jsonv2 randomizedheapbase64 regabiargs regabiwrappers sizespecializedmalloc".split()
    )
)
"""The experiments that are on by default in Go 1.27 (`go list -f '{{context.ToolTags}}'`)."""

DEFAULT: Final = frozenset(("linux", "amd64", "amd64.v1", "gc", "cgo", "unix")) | RELEASES | EXPERIMENTS
"""The configuration of an ordinary Linux machine."""


class Tag(NamedTuple):
    name: str


class Not(NamedTuple):
    operand: Expr


class And(NamedTuple):
    operands: tuple[Expr, ...]


class Or(NamedTuple):
    operands: tuple[Expr, ...]


Expr = Tag | Not | And | Or


class FileConstraint(NamedTuple):
    """The expression of one file ("" if it is in every build) and the problems of its constraint lines."""

    text: str
    problems: tuple[Problem, ...]


class SyntaxProblem(ValueError):
    """A constraint that Go would reject. `parse` raises it; the other functions of this module catch it."""


def file_constraint(path_name: str, header: bytes) -> str:
    """The constraint of a file, from its name and its first bytes (at least up to the package clause)."""
    return read_constraint(path_name, header).text


def read_constraint(path_name: str, header: bytes) -> FileConstraint:
    """Like `file_constraint`, but also returns the problems. A line that does not parse is left out."""
    problems: list[Problem] = []
    parts: list[Expr] = [Tag(tag) for tag in name_tags(path_name.rpartition("/")[2])]
    go_build, plus_build = _constraint_lines(header)
    if len(go_build) > 1:
        problems.append(Problem(path_name, go_build[1][0], "more than one //go:build line; the first is used"))
    for number, line in go_build[:1] or plus_build:
        try:
            parts.append(parse(line.removeprefix("//go:build")) if go_build else _parse_plus_build(line))
        except SyntaxProblem as problem:
            problems.append(Problem(path_name, number, f"build constraint not understood: {problem}"))
    return FileConstraint(_text(_join(And, parts)) if parts else "", tuple(problems))


def name_tags(name: str) -> tuple[str, ...]:
    """The tags that a file's name implies: GOOS, GOARCH, or both, after at least one other word."""
    words = name.partition(".")[0].split("_")[1:]
    if words and words[-1] == "test":
        words.pop()
    if len(words) >= 2 and words[-2] in GOOS and words[-1] in GOARCH:
        return (words[-2], words[-1])
    if words and (words[-1] in GOOS or words[-1] in GOARCH):
        return (words[-1],)
    return ()


def satisfied(expr: str, tags: frozenset[str] = DEFAULT) -> bool:
    """Whether the expression holds if these tags are set. Tags that a GOOS implies need not be in `tags`."""
    if not expr:
        return True
    all_tags = _with_implied_tags(tags)
    return _evaluate(_parsed(expr), all_tags.__contains__)


@lru_cache(maxsize=1 << 16)
def compatible(a: str, b: str) -> bool:
    """Whether both expressions can hold in one build."""
    if not a and not b:
        return True
    platforms = _platforms_of(a) & _platforms_of(b)
    if not platforms or _free_tags(a).isdisjoint(_free_tags(b)):
        return platforms != 0
    return _possible_platforms(_join(And, [_parsed(a), _parsed(b)])) != 0


_TOKEN: Final = re.compile(r"[ \t]*(?:(&&|\|\||[()!])|([\w.]+)|(\S))")
_MAX_TOKENS: Final = 1000
_MAX_DEPTH: Final = 60


def parse(text: str) -> Expr:
    """Parse the expression of a `//go:build` line. Raises SyntaxProblem if Go would reject it."""
    tokens: list[str] = []
    for match in _TOKEN.finditer(text.strip()):
        if match[3]:
            raise SyntaxProblem(f"unexpected {match[3]!r}")
        tokens.append(match[1] or match[2])
    if len(tokens) > _MAX_TOKENS:
        raise SyntaxProblem("the expression is too long")
    tokens.append("")
    tokens.reverse()
    expr = _parse_or(tokens, 0)
    if tokens[-1]:
        raise SyntaxProblem(f"unexpected {tokens[-1]!r}")
    return expr


def _parse_or(tokens: list[str], depth: int) -> Expr:
    operands = [_parse_and(tokens, depth)]
    while tokens[-1] == "||":
        tokens.pop()
        operands.append(_parse_and(tokens, depth))
    return _join(Or, operands)


def _parse_and(tokens: list[str], depth: int) -> Expr:
    operands = [_parse_not(tokens, depth)]
    while tokens[-1] == "&&":
        tokens.pop()
        operands.append(_parse_not(tokens, depth))
    return _join(And, operands)


def _parse_not(tokens: list[str], depth: int) -> Expr:
    negated = tokens[-1] == "!"
    if negated:
        tokens.pop()
    token = tokens[-1]
    if token == "(":
        tokens.pop()
        if depth == _MAX_DEPTH:
            raise SyntaxProblem("the expression is nested too deeply")
        operand = _parse_or(tokens, depth + 1)
        if tokens[-1] != ")":
            raise SyntaxProblem("missing close parenthesis")
    elif token in ("", "!", ")", "&&", "||"):
        raise SyntaxProblem(f"unexpected {token!r}" if token else "unexpected end of expression")
    else:
        operand = Tag(token)
    tokens.pop()
    if not negated:
        return operand
    return operand.operand if isinstance(operand, Not) else Not(operand)


def _parse_plus_build(line: str) -> Expr:
    """`// +build a,b !c` means (a && b) || !c. A term that is not a tag means the tag `ignore`, as in Go."""
    alternatives: list[Expr] = []
    for clause in line.partition("+build")[2].split():
        terms: list[Expr] = []
        for literal in clause.split(","):
            name = literal.removeprefix("!")
            negated = name != literal and name != "" and not name.startswith("!")
            tag = Tag(name if re.fullmatch(r"[\w.]+", name) else "ignore")
            terms.append(Not(tag) if negated else tag)
        alternatives.append(_join(And, terms))
    return _join(Or, alternatives) if alternatives else Tag("ignore")


def _join(kind: type[And] | type[Or], operands: list[Expr]) -> Expr:
    """Combine operands: flattens nested operators of this kind, drops duplicates, returns a single operand as is."""
    flat: dict[Expr, None] = {}
    for operand in operands:
        flat.update(dict.fromkeys(operand.operands if isinstance(operand, kind) else (operand,)))
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))


def _text(expr: Expr) -> str:
    match expr:
        case Tag(name):
            return name
        case Not(operand):
            return f"!({_text(operand)})" if isinstance(operand, And | Or) else "!" + _text(operand)
        case And(operands):
            return " && ".join(f"({_text(x)})" if isinstance(x, Or) else _text(x) for x in operands)
        case Or(operands):
            return " || ".join(f"({_text(x)})" if isinstance(x, And) else _text(x) for x in operands)


Lines = list[tuple[int, str]]


def _constraint_lines(header: bytes) -> tuple[Lines, Lines]:
    """The `//go:build` lines and the `// +build` lines of a file's header, with their line numbers.

    The former may be anywhere before the first line of code except inside a block comment; the latter only among the
    leading line comments and blank lines, and only if a blank line follows.
    """
    go_build: Lines = []
    plus_build: Lines = []
    pending: Lines = []
    leading, in_block = True, False
    for number, raw in enumerate(header.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = raw.strip()
        if not line:
            if leading:
                plus_build += pending
                pending.clear()
            continue
        if not in_block and line.startswith(b"//"):
            text = line.decode("utf-8", "replace")
            if re.match(r"//go:build(\s|$)", text):
                go_build.append((number, text))
            elif leading and re.match(r"//\s*\+build(\s|$)", text):
                pending.append((number, text))
            continue
        leading = False
        code, in_block = _after_comments(line, in_block)
        if code:
            break
    return go_build, plus_build


def _after_comments(line: bytes, in_block: bool) -> tuple[bool, bool]:
    """Whether code follows the comments of a line, and whether a block comment is open at its end."""
    while line:
        if in_block:
            _, closed, line = line.partition(b"*/")
            if not closed:
                return False, True
            in_block = False
        elif line.startswith(b"/*"):
            in_block, line = True, line[2:]
        else:
            return not line.startswith(b"//"), False
        line = line.strip()
    return False, in_block


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Expr:
    """The expression of a canonical text. A text that does not parse becomes an expression that holds in no build."""
    try:
        return parse(text)
    except SyntaxProblem:
        return And((Tag("ignore"), Not(Tag("ignore"))))


@lru_cache(maxsize=64)
def _with_implied_tags(tags: frozenset[str]) -> frozenset[str]:
    implied = {_BASE_OF[tag] for tag in tags if tag in _BASE_OF} | {_ALIASES[tag] for tag in tags if tag in _ALIASES}
    implied |= {old for old, new in _ALIASES.items() if new in tags}
    return tags | implied | ({"unix"} if tags & UNIX else set[str]())


def _evaluate(expr: Expr, is_set: Callable[[str], bool]) -> bool:
    match expr:
        case Tag(name):
            return is_set(name)
        case Not(operand):
            return not _evaluate(operand, is_set)
        case And(operands):
            return all(_evaluate(x, is_set) for x in operands)
        case Or(operands):
            return any(_evaluate(x, is_set) for x in operands)


def _platforms() -> tuple[frozenset[str], ...]:
    """Every valid combination of GOOS, GOARCH and compiler, as the set of tags it sets."""
    return tuple(
        _with_implied_tags(frozenset((goos, goarch, compiler)))
        for goos in sorted(GOOS)
        for goarch in sorted(GOARCH)
        for compiler in sorted(COMPILERS)
        if (goarch == "wasm") == (goos in ("js", "wasip1"))
    )


# A set of platforms is an integer with one bit for each, so that operators are single bit operations and checking each
# pair of a repository's constraints is cheap.
_PLATFORMS: Final = _platforms()
_ALL_PLATFORMS: Final = (1 << len(_PLATFORMS)) - 1
_PLATFORMS_BY_TAG: Final = {
    tag: sum(1 << i for i, tags in enumerate(_PLATFORMS) if tag in tags)
    for tag in sorted(GOOS | GOARCH | COMPILERS | {"unix"})
} | dict.fromkeys(RELEASES, _ALL_PLATFORMS)
_MAX_SPLITS: Final = 4096


@lru_cache(maxsize=1 << 14)
def _platforms_of(text: str) -> int:
    return _possible_platforms(_parsed(text)) if text else _ALL_PLATFORMS


@lru_cache(maxsize=1 << 14)
def _free_tags(text: str) -> frozenset[str]:
    return frozenset(_names(_parsed(text))).difference(_PLATFORMS_BY_TAG) if text else frozenset()


def _names(expr: Expr) -> Iterator[str]:
    match expr:
        case Tag(name):
            yield _ALIASES.get(name, name)
        case Not(operand):
            yield from _names(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _names(operand)


def _possible_platforms(expr: Expr) -> int:
    """The platforms on which the expression holds for some choice of its free tags."""
    found = 0
    pending: list[dict[str, int]] = [{}]
    order = sorted(set(_names(expr)).difference(_PLATFORMS_BY_TAG))
    for _ in range(_MAX_SPLITS):
        chosen = pending.pop()
        surely, possibly = _bounds(expr, chosen)
        found |= surely
        if possibly & ~found:
            tag = order[len(chosen)]
            pending += ({**chosen, tag: 0}, {**chosen, tag: _ALL_PLATFORMS})
        if not pending or found == _ALL_PLATFORMS:
            return found
    # Too many combinations: count every platform that cannot be excluded as possible.
    for chosen in pending:
        found |= _bounds(expr, chosen)[1]
    return found


def _bounds(expr: Expr, chosen: dict[str, int]) -> tuple[int, int]:
    """The platforms on which the expression certainly holds, and those on which it may, given the `chosen` tags."""
    match expr:
        case Tag(name):
            name = _ALIASES.get(name, name)
            fixed = _PLATFORMS_BY_TAG.get(name, chosen.get(name))
            return (0, _ALL_PLATFORMS) if fixed is None else (fixed, fixed)
        case Not(operand):
            surely, possibly = _bounds(operand, chosen)
            return _ALL_PLATFORMS & ~possibly, _ALL_PLATFORMS & ~surely
        case And(operands):
            low, high = _ALL_PLATFORMS, _ALL_PLATFORMS
            for operand in operands:
                surely, possibly = _bounds(operand, chosen)
                low, high = low & surely, high & possibly
            return low, high
        case Or(operands):
            low, high = 0, 0
            for operand in operands:
                surely, possibly = _bounds(operand, chosen)
                low, high = low | surely, high | possibly
            return low, high
