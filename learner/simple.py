"""The code of short texts, without a syntax tree: names, `a.b.c`, simple calls, comparisons, elements and types.

Most code consists of these, and making nodes for them costs more than all else. Their code follows from the text alone,
whatever stands around it, so it is worked out once per process and text and written again with other lines. What is
any longer, or in any way special, is left to the tree.
"""

from __future__ import annotations

import re
from typing import Final, final

from golore.learner import code as c

LONGEST: Final = 64
MOST: Final = 1 << 17
"""How many texts are remembered; then all are forgotten at once, which is rare and cheap."""

PLACE: Final = -2
"""Stands for the line in a program."""
WORD: Final = -3
"""Stands for the next of the words, as a name."""

_CHAIN = rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_ATOM = _CHAIN + rb'|\d{1,9}|"[^"\\\n]*"'
_ATOMS = rb"(?:(?:" + _ATOM + rb")(?:, (?:" + _ATOM + rb"))*)?"
_CALL: Final = re.compile(rb"([*&!]*)(" + _CHAIN + rb")\((" + _ATOMS + rb")\)")
_INDEX: Final = re.compile(rb"(" + _CHAIN + rb")\[(" + _ATOM + rb")\]")
_MAP: Final = re.compile(rb"map\[(" + _CHAIN + rb")\]((?:\*|\[\])*)(" + _CHAIN + rb")")
_PREFIXED: Final = re.compile(rb"((?:\*|\[\]|[&!-])*)(" + _CHAIN + rb")")
_BINARY: Final = re.compile(
    rb"(" + _ATOM + rb"|(?:" + _CHAIN + rb")\((?:" + _ATOMS + rb")\)) "
    rb"(==|!=|<=|>=|<<|>>|&&|\|\||&\^|[-+*/%&|^<>]) (" + _ATOM + rb")"
)
_KEYED: Final = re.compile(rb"([A-Za-z_]\w*): +([^ ].*)")
_EACH: Final = re.compile(_ATOM)
_COMPARISONS: Final = frozenset((b"==", b"!=", b"<", b"<=", b">", b">=", b"&&", b"||"))
_PREFIXES: Final = {b"*": c.STAR, b"&": c.ADDRESS, b"!": c.NOT, b"-": c.UNARY, b"[": c.SLICE_OF}


@final
class Program:
    """Code with `PLACE` and `WORD` in it."""

    def __init__(self) -> None:
        self.ops: list[int] = []
        self.words: list[bytes] = []

    def chain(self, text: bytes) -> None:
        if b"." in text:
            names = text.split(b".")
            while len(names) > 1:
                self.ops += (c.SELECT, WORD, PLACE)
                self.words.append(names.pop())
            text = names[0]
        self.ops += (c.NAME, WORD, PLACE)
        self.words.append(text)

    def atom(self, text: bytes) -> None:
        first = text[:1]
        if first == b'"':
            self.ops.append(c.STRING)
        elif first.isdigit():
            self.ops += (c.INT, integer(text))
        else:
            self.chain(text)

    def prefixes(self, text: bytes) -> None:
        for i in range(len(text)):
            if text[i : i + 1] != b"]":
                self.ops.append(_PREFIXES[text[i : i + 1]])

    def call(self, function: bytes, arguments: bytes) -> None:
        atoms: list[bytes] = _EACH.findall(arguments)
        self.ops += (c.CALL, len(atoms), 0)
        self.chain(function)
        for atom in atoms:
            self.atom(atom)


_known: Final[dict[bytes, Program | None]] = {}


def program_of(text: bytes) -> Program | None:
    """The program of a text; None if it is not simple."""
    if text in _known:
        return _known[text]
    if len(_known) >= MOST:
        _known.clear()
    made = _made(text)
    _known[text] = made
    return made


def _made(text: bytes) -> Program | None:
    program = Program()
    if match := _PREFIXED.fullmatch(text):
        program.prefixes(match[1])
        program.chain(match[2])
    elif match := _CALL.fullmatch(text):
        if match[2] == b"func":
            return None
        program.prefixes(match[1])
        program.call(match[2], match[3])
    elif match := _BINARY.fullmatch(text):
        return _binary(program, match)
    elif match := _INDEX.fullmatch(text):
        program.ops += (c.INDEX, 1)
        program.chain(match[1])
        program.atom(match[2])
    elif match := _MAP.fullmatch(text):
        program.ops.append(c.MAP)
        program.chain(match[1])
        program.prefixes(match[2])
        program.chain(match[3])
    elif _EACH.fullmatch(text):
        program.atom(text)
    elif match := _KEYED.fullmatch(text):
        value = _made(match[2])
        if value is None:
            return None
        program.ops.append(c.KEYED)
        program.chain(match[1])
        program.ops += value.ops
        program.words += value.words
    else:
        return None
    return program


def _binary(program: Program, match: re.Match[bytes]) -> Program:
    operator = match[2]
    if operator in _COMPARISONS:
        program.ops.append(c.COMPARE)
    elif operator == b"<<" or operator == b">>":
        program.ops.append(c.SHIFT)
    else:
        program.ops.append(c.BINARY)
    left = match[1]
    if left[-1:] == b")":
        function, _, arguments = left.partition(b"(")
        program.call(function, arguments[:-1])
    else:
        program.atom(left)
    program.atom(match[3])
    return program


def integer(text: bytes) -> int:
    """The value of an integer literal, -1 when it is large."""
    if b"_" in text:
        text = text.replace(b"_", b"")
    value = -1
    if len(text) < 12:
        try:
            value = int(text, 8 if text[:1] == b"0" and text.isdigit() else 0)
        except ValueError:
            value = -1
    return value if value < 0x7FFFFFFF else -1
