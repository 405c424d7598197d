"""Encodes short texts without a syntax tree: names, `a.b.c`, simple literals and types, and parameter lists.

Most code consists of these, and creating tree nodes for them costs more than everything else. Their code depends on
the text alone, not on the context, so it is computed once per process and text and then reused with other lines. Longer
texts are left to the tree: encoding a text that does not occur again costs more than its nodes.
"""

from __future__ import annotations

import re
from typing import Final, final

from golore.learner.extraction import opcodes as c

MAX_TEXT_BYTES: Final = 40
"""Longer texts are encoded from the tree."""
MAX_CACHED: Final = 1 << 16
"""Number of cached texts at which the cache is cleared, which is rare and cheap."""

LINE: Final = -2
"""Placeholder in a program for the line."""
WORD: Final = -3
"""Placeholder in a program for the name number of the next word."""

DATA: Final = re.compile(
    rb"""(?>(?:[\s,.:+-]++|\d[\w.]*+|"(?>(?:[^"\\\n]|\\.)*)"|'(?>(?:[^'\\\n]|\\.)+)'|`[^`]*+`"""
    rb"""|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)\*/|(?:true|false|nil)\b)*)"""
)
"""Matches literal elements without names, calls and nested literals, which cannot refer to anything."""
NO_ELEMENTS: Final = re.compile(rb"(?>(?:\s++|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)\*/)*)")

_CHAIN = rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_TYPE: Final = re.compile(rb"((?>(?:\*|\[\]|[&!-])*))(" + _CHAIN + rb"|interface\{\}|struct\{\})")
_MAP: Final = re.compile(rb"map\[(" + _CHAIN + rb")\](" + _TYPE.pattern + rb")")
_LITERAL: Final = re.compile(rb'0[xX][0-9a-fA-F]{1,8}|\d{1,9}|"[^"\\\n]*+"')
_NAME: Final = re.compile(rb"[A-Za-z_]\w*")
_PREFIXES: Final = {b"*": c.STAR, b"&": c.ADDRESS, b"!": c.NOT, b"-": c.UNARY, b"[": c.SLICE_OF}


@final
class Program:
    """Code with the placeholders `LINE` and `WORD`.

    For a parameter list, `count` is the number of parameters and `variadic` is 1 if the last one is variadic.
    """

    def __init__(self) -> None:
        self.ops: list[int] = []
        self.words: list[bytes] = []
        self.count = 0
        self.variadic = 0

    def write(self, text: bytes) -> bool:
        """Add the code of an expression or type. Returns False and adds nothing if the text is not a short form."""
        if text[:1] == b'"' or text[:1].isdigit():
            if _LITERAL.fullmatch(text) is None:
                return False
            if text[:1] == b'"':
                self.ops.append(c.STRING)
            else:
                self.ops += (c.INT, integer(text))
            return True
        if text[:4] == b"map[":
            match = _MAP.fullmatch(text)
            if match is None:
                return False
            self.ops.append(c.MAP)
            self._chain(match[1])
            text = match[2]
        match = _TYPE.fullmatch(text)
        if match is None:
            return False
        prefixes = match[1]
        for i in range(len(prefixes)):
            if prefixes[i : i + 1] != b"]":
                self.ops.append(_PREFIXES[prefixes[i : i + 1]])
        self._base(match[2])
        return True

    def _base(self, text: bytes) -> None:
        if text == b"interface{}":
            self.ops += (c.INTERFACE, 0)
        elif text == b"struct{}":
            self.ops += (c.STRUCT, 0)
        else:
            self._chain(text)

    def _chain(self, text: bytes) -> None:
        names = text.split(b".")
        if len(names) > 1:
            while len(names) > 1:
                self.ops += (c.SELECT, WORD, LINE)
                self.words.append(names.pop())
            text = names[0]
        self.ops += (c.NAME, WORD, LINE)
        self.words.append(text)

    def write_parameters(self, text: bytes) -> bool:
        """Add the code of the text between the parentheses of a parameter list: each name followed by its type.

        Returns False if the text is not a short form; the program is unusable then.
        """
        parts = text.split(b", ")
        is_named = parts[-1].find(b" ") >= 0
        pending_names: list[bytes] = []
        for i, part in enumerate(parts):
            name, _, type_text = part.partition(b" ") if is_named else (b"", b"", part)
            if is_named and (_NAME.fullmatch(name) is None or name == b"chan"):
                return False
            pending_names.append(name)
            if not type_text:
                continue
            if type_text[:3] == b"..." and i == len(parts) - 1:
                self.variadic = 1
                type_text = type_text[3:]
            for name in pending_names:
                if name:
                    self.ops.append(WORD)
                    self.words.append(name)
                else:
                    self.ops.append(0)
                if not self.write(type_text):
                    return False
            self.count += len(pending_names)
            pending_names = []
        return not pending_names


_programs: Final[dict[bytes, Program]] = {}
_parameter_programs: Final[dict[bytes, Program | None]] = {}


def program_of(text: bytes) -> Program | None:
    """Return the program of an expression or type, None if the text is not a short form.

    A None is not cached: the test is cheap.
    """
    cached = _programs.get(text)
    if cached is not None:
        return cached
    program = Program()
    if not program.write(text):
        return None
    if len(_programs) >= MAX_CACHED:
        _programs.clear()
    _programs[text] = program
    return program


def program_of_parameters(text: bytes) -> Program | None:
    """Like `program_of`, for the text between the parentheses of a parameter list. A None is cached, too."""
    if text in _parameter_programs:
        return _parameter_programs[text]
    if len(_parameter_programs) >= MAX_CACHED:
        _parameter_programs.clear()
    program = Program()
    result = program if program.write_parameters(text) else None
    _parameter_programs[text] = result
    return result


def integer(text: bytes) -> int:
    """Return the value of an integer literal, -1 if it is 2**31 - 1 or more, or 12 or more characters long."""
    text = text.replace(b"_", b"")
    value = -1
    if len(text) < 12:
        try:
            value = int(text, 8 if text[:1] == b"0" and text.isdigit() else 0)
        except ValueError:
            value = -1
    return value if value < 0x7FFFFFFF else -1
