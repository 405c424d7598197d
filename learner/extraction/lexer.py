"""Splits Go text into tokens, with the semicolons that Go inserts at line ends. `token_encoder` parses them.

Token kinds are small integers, ordered so that common tests are comparisons: after a kind up to `LAST_ENDER`, a line
end ends the statement; the kinds from `FIRST_BINARY` on are the binary operators, by ascending precedence.
"""

from __future__ import annotations

import re
from typing import Final, final

END: Final = 0
NAME: Final = 1
INT: Final = 2
FLOAT: Final = 3
IMAGINARY: Final = 4
RUNE: Final = 5
STRING: Final = 6
RPAREN: Final = 7
RBRACK: Final = 8
RBRACE: Final = 9
STEP: Final = 10  # ++ and --
BREAK: Final = 11
CONTINUE: Final = 12
FALLTHROUGH: Final = 13
RETURN: Final = 14
LAST_ENDER: Final = RETURN

LPAREN: Final = 20
LBRACK: Final = 21
LBRACE: Final = 22
COMMA: Final = 23
SEMICOLON: Final = 24
COLON: Final = 25
DOT: Final = 26
ELLIPSIS: Final = 27
DEFINE: Final = 28
ASSIGN: Final = 29
ARROW: Final = 30
NOT: Final = 31
UPDATE: Final = 32  # += and the like

CASE: Final = 40
CHAN: Final = 41
CONST: Final = 42
DEFAULT: Final = 43
DEFER: Final = 44
ELSE: Final = 45
FOR: Final = 46
FUNC: Final = 47
GO: Final = 48
GOTO: Final = 49
IF: Final = 50
INTERFACE: Final = 51
MAP: Final = 52
RANGE: Final = 53
SELECT: Final = 54
STRUCT: Final = 55
SWITCH: Final = 56
TYPE: Final = 57
VAR: Final = 58
UNKNOWN: Final = 59

FIRST_BINARY: Final = 60
OR_OR: Final = 60
AND_AND: Final = 61
COMPARISON: Final = 62  # == != < <= > >=
PLUS: Final = 63  # + and -
OR: Final = 64
CARET: Final = 65
TIMES: Final = 66
DIVIDE: Final = 67  # / % &^
AND: Final = 68
SHIFT: Final = 69

_NEWLINE: Final = -1
_FIXED: Final[dict[bytes, int]] = {
    b"\n": _NEWLINE,
    b")": RPAREN,
    b"]": RBRACK,
    b"}": RBRACE,
    b"++": STEP,
    b"--": STEP,
    b"(": LPAREN,
    b"[": LBRACK,
    b"{": LBRACE,
    b",": COMMA,
    b";": SEMICOLON,
    b":": COLON,
    b".": DOT,
    b"...": ELLIPSIS,
    b":=": DEFINE,
    b"=": ASSIGN,
    b"<-": ARROW,
    b"!": NOT,
    b"||": OR_OR,
    b"&&": AND_AND,
    b"+": PLUS,
    b"-": PLUS,
    b"|": OR,
    b"^": CARET,
    b"*": TIMES,
    b"&": AND,
    b"break": BREAK,
    b"continue": CONTINUE,
    b"fallthrough": FALLTHROUGH,
    b"return": RETURN,
    b"case": CASE,
    b"chan": CHAN,
    b"const": CONST,
    b"default": DEFAULT,
    b"defer": DEFER,
    b"else": ELSE,
    b"for": FOR,
    b"func": FUNC,
    b"go": GO,
    b"goto": GOTO,
    b"if": IF,
    b"import": UNKNOWN,
    b"interface": INTERFACE,
    b"map": MAP,
    b"package": UNKNOWN,
    b"range": RANGE,
    b"select": SELECT,
    b"struct": STRUCT,
    b"switch": SWITCH,
    b"type": TYPE,
    b"var": VAR,
}
_FIXED.update(dict.fromkeys((b"==", b"!=", b"<", b"<=", b">", b">="), COMPARISON))
_FIXED.update(dict.fromkeys((b"/", b"%", b"&^"), DIVIDE))
_FIXED.update(dict.fromkeys((b"<<", b">>"), SHIFT))
_FIXED.update({text + b"=": UPDATE for text in b"+ - * / % & | ^ << >> &^".split()})

_TOKEN: Final = re.compile(
    rb"""[ \t\r]*+(\n
    |[A-Za-z_\x80-\xff][\w\x80-\xff]*+
    |[()\[\]{},;]
    |0[xX][\da-fA-F_.]*+(?>(?:[pP][+-]?\w++)?)i?
    |\.?\d[\d_.]*+(?>(?:[eE][+-]\d)?)\w*+
    |"(?>(?:[^"\\\n]++|\\[^\n])*)"
    |`[^`]*+`
    |'(?>(?:[^'\\\n]|\\[^\n])+)'
    |//[^\n]*+
    |/\*(?>(?:[^*]++|\*(?!/))*)\*/
    |\.\.\.|:=|<<=|>>=|&\^=|<<|>>|<-|&&|\|\||&\^|\+\+|--|[=!<>+\-*/%&|^]=|[^ \t\r])""",
    re.VERBOSE,
)
_HEXADECIMAL: Final = re.compile(rb"0[xX][\da-fA-F_]*")
_FRACTION: Final = re.compile(rb"[.eE]")


@final
class Tokens:
    """The tokens of one text as parallel lists of kinds, texts and lines. They end with four `END`s, for lookahead."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.texts: list[bytes] = []
        self.lines: list[int] = []


def tokens_of(source: bytes, start: int, end: int, line: int) -> Tokens:
    """Return the tokens between two offsets; `line` is the line of `start`. Text that is no token becomes `UNKNOWN`."""
    tokens = Tokens()
    kinds = tokens.kinds
    texts = tokens.texts
    lines = tokens.lines
    last = END
    found: list[bytes] = _TOKEN.findall(source, start, end)
    for text in found:
        kind = _FIXED.get(text)
        if kind is None:
            first = text[0]
            if first >= 128 or 97 <= first <= 122 or 65 <= first <= 90 or first == 95:
                kind = NAME
            elif first == 47:  # a comment; one that spans lines also acts as a line end
                breaks = text.count(b"\n")
                if not breaks:
                    continue
                line += breaks - 1
                kind = _NEWLINE
            else:
                kind = _literal(text, first)
        if kind < 0:
            if END < last <= LAST_ENDER:
                kinds.append(SEMICOLON)
                texts.append(text)
                lines.append(line)
                last = SEMICOLON
            line += 1
            continue
        kinds.append(kind)
        texts.append(text)
        lines.append(line)
        last = kind
        if kind == STRING and text[0] == 96:
            line += text.count(b"\n")
    for _ in range(4):
        kinds.append(END)
        texts.append(b"")
        lines.append(line)
    return tokens


def _literal(text: bytes, first: int) -> int:
    if first == 34 or first == 96:
        return STRING if len(text) > 1 else UNKNOWN
    if first == 39:
        return RUNE if len(text) > 1 else UNKNOWN
    if not 48 <= first <= 57 and (first != 46 or len(text) == 1):
        return UNKNOWN
    if text.isdigit():
        return INT
    if text[-1:] == b"i":
        return IMAGINARY
    if text[:2] == b"0x" or text[:2] == b"0X":
        return INT if _HEXADECIMAL.fullmatch(text) else FLOAT
    return FLOAT if _FRACTION.search(text) else INT
