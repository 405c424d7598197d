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

DATA: Final = re.compile(
    rb"""(?:[\s,.{}:+-]++|\d[\w.]*+|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)++'|`[^`]*+`"""
    rb"""|//[^\n]*+|(?:true|false|nil)\b)*+"""
)
"""A literal without names and calls: nothing in it can refer to anything."""

_CHAIN = rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_NUMBER = rb"0[xX][0-9a-fA-F]{1,8}|\d{1,9}"
_STRING = rb'"[^"\\\n]*"'
_ATOM: Final = re.compile(rb"(?:" + _CHAIN + rb"|" + _NUMBER + rb"|" + _STRING + rb")")
_ATOMS: Final = re.compile(_ATOM.pattern + rb"(?:, " + _ATOM.pattern + rb")*")
_TYPE: Final = re.compile(rb"((?:\*|\[\]|[&!-])*)(" + _CHAIN + rb"|interface\{\}|struct\{\})")
_MAP: Final = re.compile(rb"map\[(" + _CHAIN + rb")\](" + _TYPE.pattern + rb")")
_CALLED: Final = re.compile(rb"([*&!-]*)((?:\[\])?" + _CHAIN + rb")(?:\[([^\[\]]+)\])?(\.?)")
_INDEXED: Final = re.compile(rb"([*&!-]*)(" + _CHAIN + rb")\[([^\[\]]+)\]")
_LITERAL: Final = re.compile(
    rb"(&?)((?:map\[[\w.]+\])?(?:\*|\[\])*(?:interface\{\}|struct\{\}|(?!interface|struct)[\w.]*))\{(.*)\}"
)
_NAME: Final = re.compile(rb"[A-Za-z_]\w*")
_KEYED: Final = re.compile(rb"(" + _ATOM.pattern + rb"): +(\S.*)")
_BINARY: Final = re.compile(rb"(\S+) (==|!=|<=|>=|<<|>>|&&|\|\||&\^|[-+*/%&|^<>]) (\S+)")
_FUNC: Final = (b"func", b"[]func")
_COMPARISONS: Final = frozenset((b"==", b"!=", b"<", b"<=", b">", b">=", b"&&", b"||"))
_PREFIXES: Final = {b"*": c.STAR, b"&": c.ADDRESS, b"!": c.NOT, b"-": c.UNARY, b"[": c.SLICE_OF}


@final
class Program:
    """Code with `PLACE` and `WORD` in it, of so many expressions; `has_elements` of a literal if not all want those."""

    def __init__(self) -> None:
        self.ops: list[int] = []
        self.words: list[bytes] = []
        self.has_elements = False
        self.count = 1
        self.variadic = 0

    def write_list(self, text: bytes) -> bool:
        """Add the code of a text, or of several with commas between them."""
        if b", " in text:
            parts = self._parts(text)
            if all(self.write(part) for part in parts):
                self.count = len(parts)
                return True
            self.ops.clear()
            self.words.clear()
        return self.write(text)

    def write(self, text: bytes) -> bool:
        """Add the code of a text; what was added is worthless if that fails."""
        if self._type(text):
            return True
        if _ATOM.fullmatch(text):
            self._atom(text)
            return True
        if match := _KEYED.fullmatch(text):
            self.ops.append(c.KEYED)
            self._atom(match[1])
            return self.write(match[2])
        last = text[-1:]
        if last == b")":
            ops, words = len(self.ops), len(self.words)
            if self._call(text):
                return True
            del self.ops[ops:], self.words[words:]
        if last == b"]" and (match := _INDEXED.fullmatch(text)):
            self._prefixes(match[1])
            self.ops += (c.INDEX, 1)
            self._chain(match[2])
            return self.write(match[3])
        if last == b"}" and (match := _LITERAL.fullmatch(text)):
            return self._literal(match[1], match[2], match[3])
        if match := _BINARY.fullmatch(text):
            return self._binary(match[1], match[2], match[3])
        return False

    def write_parameters(self, text: bytes) -> bool:
        """Add the code of what stands between the parentheses of a parameter list: each name with its type."""
        parts = text.split(b", ")
        is_named = b" " in parts[-1]
        waiting: list[bytes] = []
        self.count = 0
        for i, part in enumerate(parts):
            name, _, type_text = part.partition(b" ") if is_named else (b"", b"", part)
            if is_named and (_NAME.fullmatch(name) is None or name == b"chan"):
                return False
            waiting.append(name)
            if not type_text:
                continue
            if type_text[:3] == b"..." and i == len(parts) - 1:
                self.variadic = 1
                type_text = type_text[3:]
            for name in waiting:
                if name:
                    self.ops.append(WORD)
                    self.words.append(name)
                else:
                    self.ops.append(0)
                if not self._type(type_text):
                    return False
            self.count += len(waiting)
            waiting = []
        return not waiting

    def _type(self, text: bytes) -> bool:
        """Add the code of a simple type, or of names with operators before them. Nothing is added if it is none."""
        if match := _MAP.fullmatch(text):
            self.ops.append(c.MAP)
            self._chain(match[1])
            text = match[2]
        match = _TYPE.fullmatch(text)
        if match is None:
            return False
        self._prefixes(match[1])
        self._base(match[2])
        return True

    def _chain(self, text: bytes) -> None:
        names = text.split(b".")
        while len(names) > 1:
            self.ops += (c.SELECT, WORD, PLACE)
            self.words.append(names.pop())
        self.ops += (c.NAME, WORD, PLACE)
        self.words.append(names[0])

    def _atom(self, text: bytes) -> None:
        first = text[:1]
        if first == b'"':
            self.ops.append(c.STRING)
        elif first.isdigit():
            self.ops += (c.INT, integer(text))
        else:
            self._chain(text)

    def _base(self, text: bytes) -> None:
        if text == b"interface{}":
            self.ops += (c.INTERFACE, 0)
        elif text == b"struct{}":
            self.ops += (c.STRUCT, 0)
        else:
            self._chain(text)

    def _prefixes(self, text: bytes) -> None:
        for i in range(len(text)):
            if text[i : i + 1] != b"]":
                self.ops.append(_PREFIXES[text[i : i + 1]])

    def _call(self, text: bytes) -> bool:
        """A call, a conversion, or an assertion `x.(T)`."""
        function, bracket, arguments = text[:-1].partition(b"(")
        match = _CALLED.fullmatch(function)
        if match is None or not bracket or match[2] in _FUNC or (match[4] and (match[3] or not arguments)):
            return False
        self._prefixes(match[1])
        if match[4]:
            self.ops.append(c.ASSERT)
            self._chain(match[2])
            return arguments != b"type" and self.write(arguments)
        parts = self._parts(arguments)
        spread = 1 if arguments.endswith(b"...") else 0
        if spread:
            parts[-1] = parts[-1][:-3]
        self.ops += (c.CALL, len(parts), spread)
        if match[3]:
            self.ops += (c.INDEX, 1)
        if match[2][:1] == b"[":
            self.ops.append(c.SLICE_OF)
            self._chain(match[2][2:])
        else:
            self._chain(match[2])
        if match[3] and not self.write(match[3]):
            return False
        return all(self.write(part) for part in parts)

    def _parts(self, text: bytes) -> list[bytes]:
        """The parts between commas. Where a comma stands inside of one, its halves are not simple."""
        if not text:
            return []
        if b'"' in text and _ATOMS.fullmatch(text):
            return _ATOM.findall(text)
        return text.split(b", ")

    def _literal(self, address: bytes, type_text: bytes, elements: bytes) -> bool:
        if elements.count(b"{") != elements.count(b"}") or elements.find(b"}") < elements.find(b"{"):
            return False  # not one literal, but parts of two
        self._prefixes(address)
        parts = [] if DATA.fullmatch(elements) else self._parts(elements)
        if type_text:
            self.ops += (c.COMPOSITE, len(parts))
            if not self._type(type_text):
                return False
        elif address:
            return False
        else:
            self.ops += (c.ELIDED, len(parts))
        if parts:
            self.has_elements = True
        return all(self.write(part) for part in parts)

    def _binary(self, left: bytes, operator: bytes, right: bytes) -> bool:
        if operator in _COMPARISONS:
            self.ops.append(c.COMPARE)
        elif operator == b"<<" or operator == b">>":
            self.ops.append(c.SHIFT)
        else:
            self.ops.append(c.BINARY)
        return self.write(left) and self.write(right)


_known: Final[dict[bytes, Program | None]] = {}
_known_parameters: Final[dict[bytes, Program | None]] = {}


def program_of(text: bytes) -> Program | None:
    """The program of an expression or type, or of a list of them; None if the text is not simple."""
    if text in _known:
        return _known[text]
    if len(_known) >= MOST:
        _known.clear()
    program = Program()
    made = program if program.write_list(text) else None
    _known[text] = made
    return made


def program_of_parameters(text: bytes) -> Program | None:
    """The program of what stands between the parentheses of a parameter list; None if the text is not simple."""
    if text in _known_parameters:
        return _known_parameters[text]
    if len(_known_parameters) >= MOST:
        _known_parameters.clear()
    program = Program()
    made = program if program.write_parameters(text) else None
    _known_parameters[text] = made
    return made


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
