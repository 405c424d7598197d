"""Splits Go text into tokens, with the semicolons that Go inserts at line ends. `token_encoder` parses them.

Token kinds are small integers, ordered so that common tests are comparisons: after a kind up to `LAST_ENDER`, a line
end ends the statement; the kinds from `FIRST_BINARY` on are the binary operators, by ascending precedence.
"""

from __future__ import annotations

import re
from typing import Final, cast, final

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

_KEYWORDS: Final[dict[bytes, int]] = {
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
_LONGEST_KEYWORD: Final = max(map(len, _KEYWORDS))
_SHAPE_BITS: Final = 4
_KEYWORD_SHAPES: Final = frozenset(word[0] << _SHAPE_BITS | len(word) for word in _KEYWORDS)
_MAY_BE_KEYWORD: Final = bytes(shape in _KEYWORD_SHAPES for shape in range(256 << _SHAPE_BITS))
"""Whether a keyword begins with this character and has this length: few names look like one."""
_SINGLE: Final = [bytes((byte,)) for byte in range(256)]
_FIXED: Final[dict[bytes, int]] = {
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
}
_FIXED.update(dict.fromkeys((b"==", b"!=", b"<", b"<=", b">", b">="), COMPARISON))
_FIXED.update(dict.fromkeys((b"/", b"%", b"&^"), DIVIDE))
_FIXED.update(dict.fromkeys((b"<<", b">>"), SHIFT))
_FIXED.update({text + b"=": UPDATE for text in b"+ - * / % & | ^ << >> &^".split()})

_TOKEN: Final = re.compile(
    rb"""0[xX][\da-fA-F_.]*+(?>(?:[pP][+-]?\w++)?)i?
    |\.?\d[\d_.]*+(?>(?:[eE][+-]\d)?)\w*+
    |"(?>(?:[^"\\\n]++|\\[^\n])*)"
    |`[^`]*+`
    |'(?>(?:[^'\\\n]|\\[^\n])+)'
    |//[^\n]*+
    |/\*(?>(?:[^*]++|\*(?!/))*)\*/
    |\.\.\.|:=|<<=|>>=|&\^=|<<|>>|<-|&&|\|\||&\^|\+\+|--|[=!<>+\-*/%&|^]=|[^ \t\r]""",
    re.VERBOSE,
)
"""A token that is not simpler: no name, bracket, comma, semicolon, line end, plain string or plain integer."""
_SPACE: Final = 200
_NEW_LINE: Final = 201
_OPERATOR: Final = 202
_OTHER: Final = 203
_LETTER: Final = 204
_DIGIT: Final = 205


def _form(byte: int) -> int:
    """What a byte can begin: a form from `_SPACE` on, or the kind of the token that it always is by itself."""
    if byte >= 128 or byte == 95 or chr(byte).isalpha():
        return _LETTER
    if 48 <= byte <= 57:
        return _DIGIT
    if byte == 10:
        return _NEW_LINE
    if byte in b" \t\r":
        return _SPACE
    if byte in b"()[]{},;":
        return _FIXED[bytes((byte,))]
    return _OPERATOR if byte in b":=!<>+-*/%&|^" else _OTHER


_FORMS: Final = bytes(map(_form, range(256)))
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
    # Objects, because a native integer would be converted to one for each token.
    lines = cast("list[object]", tokens.lines)
    line_object: object = line
    text = source[start:end]
    size = len(text)
    forms = _FORMS
    last = END
    at = 0
    while at < size:
        first = text[at]
        form = forms[first]
        if form == _SPACE:
            at += 1
            continue
        if form == _LETTER:
            begin = at
            at += 1
            while at < size and forms[text[at]] >= _LETTER:
                at += 1
            token = text[begin:at]
            kind = NAME
            length = at - begin
            if length <= _LONGEST_KEYWORD and _MAY_BE_KEYWORD[(first << _SHAPE_BITS) + length]:
                kind = _KEYWORDS.get(token, NAME)
        elif form == _NEW_LINE:
            at += 1
            if END < last <= LAST_ENDER:
                kinds.append(SEMICOLON)
                texts.append(b"\n")
                lines.append(line_object)
                last = SEMICOLON
            line += 1
            line_object = line
            continue
        elif form < _SPACE:
            token = _SINGLE[first]
            kind = form
            at += 1
        elif first == 46 and at + 1 < size and forms[text[at + 1]] == _LETTER:
            token = b"."
            kind = DOT
            at += 1
        elif form == _OPERATOR and (at + 1 == size or forms[text[at + 1]] != _OPERATOR):
            token = _SINGLE[first]
            kind = _FIXED[token]
            at += 1
        elif first == 34 and (after := _after_plain_string(text, at, size)):
            token = text[at:after]
            kind = STRING
            at = after
        elif form == _DIGIT and (after := _after_plain_integer(text, at, size)):
            token = text[at:after]
            kind = INT
            at = after
        elif first == 47 and text[at + 1] == 47:
            after = text.find(b"\n", at)
            at = size if after < 0 else after
            continue
        elif form == _OPERATOR and text[at + 1] == 61:  # an operator that ends in =
            token = text[at : at + 2]
            kind = _FIXED[token]
            at += 2
        else:
            match = _TOKEN.match(text, at)
            if match is None:
                break  # cannot happen: the last alternative matches any byte that is not a space
            token = match.group()
            at += len(token)
            found = _FIXED.get(token)
            if found is not None:
                kind = found
            elif first == 47:  # a comment; one that spans lines also acts as a line end
                breaks = token.count(b"\n")
                if not breaks:
                    continue
                if END < last <= LAST_ENDER:
                    kinds.append(SEMICOLON)
                    texts.append(token)
                    lines.append(line + breaks - 1)
                    last = SEMICOLON
                line += breaks
                line_object = line
                continue
            else:
                kind = _literal(token, first)
        kinds.append(kind)
        texts.append(token)
        lines.append(line_object)
        last = kind
        if kind == STRING and first == 96:
            line += token.count(b"\n")
            line_object = line
    for _ in range(4):
        kinds.append(END)
        texts.append(b"")
        lines.append(line_object)
    return tokens


def _after_plain_string(text: bytes, at: int, size: int) -> int:
    """The offset after a string without escapes that begins at `at`; 0 if there is none."""
    at += 1
    while at < size:
        byte = text[at]
        if byte == 34:
            return at + 1
        if byte == 92 or byte == 10:
            break
        at += 1
    return 0


def _after_plain_integer(text: bytes, at: int, size: int) -> int:
    """The offset after a number of decimal digits that begins at `at`; 0 if it goes on otherwise."""
    forms = _FORMS
    while at < size and forms[text[at]] == _DIGIT:
        at += 1
    return at if at == size or (text[at] != 46 and forms[text[at]] != _LETTER) else 0


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
