"""The values of constants, computed from the text of their declarations as Go does: exactly, without rounding.

A value stays unknown if it depends on a constant outside the repository, on the size of a type, or is complex.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from golore.learner.compatibility.revisions import Revision, SourceText
from golore.learner.extraction import facts as f
from golore.learner.extraction import lexer as t
from golore.learner.resolution.types import Basic, Declaration, DeclName, FileScope, Named, PackageName, Type, TypeName

Number = int | Fraction
_UNSIGNED: Final = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "uint": 64, "uintptr": 64}
_FLOATS: Final = ("float32", "float64", "untyped float")
_LARGEST_SHIFT: Final = 10_000
_MOST_DIGITS: Final = 5_000
_DEEPEST: Final = 200
_NUMERIC: Final = ("untyped int", "untyped rune", "untyped float")
_ESCAPE: Final = re.compile(rb"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_SIMPLE_ESCAPES: Final = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"\\": b"\\",
    b"'": b"'",
    b'"': b'"',
}


class Constant(NamedTuple):
    """A value, and the name of the basic type that it has."""

    value: bool | str | Number
    type: str


class _Spec(NamedTuple):
    """The expression of one constant: its tokens, and the value of iota."""

    kinds: list[int]
    texts: list[bytes]
    iota: int


class _Unknown(Exception):
    """A part of an expression whose value is not known."""


class ConstantValues:
    """The values of the constants of one revision."""

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self._specs: dict[str, dict[int, _Spec]] = {}
        self._busy: set[str] = set()

    def value_of(self, decl: Declaration) -> Constant | None:
        """The value of a constant of the repository; None if it is not known."""
        try:
            return self._value(decl)
        except (_Unknown, ValueError, ArithmeticError, RecursionError, SyntaxError):
            return None

    def text_of(self, decl: Declaration) -> str:
        """What decides the value if it is not known: the expression and the value of iota."""
        spec = self._spec(decl)
        return "" if spec is None else f"{b' '.join(spec.texts).decode('utf-8', 'replace')} {spec.iota}"

    def _value(self, decl: Declaration) -> Constant:
        spec = self._spec(decl)
        if spec is None or decl.id in self._busy or len(self._busy) > _DEEPEST:
            raise _Unknown
        self._busy.add(decl.id)
        try:
            found = _Parser(spec, lambda name, member: self._named(decl.file, name, member)).whole()
        finally:
            self._busy.discard(decl.id)
        declared = _basic(self._revision.world.type_of(decl), self._revision)
        return _converted(found, declared) if declared else found

    def _named(self, file: FileScope, name: str, member: str) -> Constant | str:
        """The constant that a name denotes, or the basic type if it denotes a type."""
        found: Type | None = self._revision.world.lookup(file, name)
        if member:
            package = found.package if isinstance(found, PackageName) else None
            decls = package.members.get(member, []) if package is not None and not package.external else []
        else:
            decls = found.decls if isinstance(found, DeclName) else []
        if decls:
            if decls[0].kind == f.CONST:
                return self._value(decls[0])
            if decls[0].kind in (f.TYPE, f.ALIAS):
                return _basic(self._revision.world.type_of(decls[0]), self._revision)
        elif isinstance(found, TypeName):
            return _basic(found.type, self._revision)
        raise _Unknown

    def _spec(self, decl: Declaration) -> _Spec | None:
        if decl.file.package.external:
            return None
        path = decl.file.path
        if path not in self._specs:
            self._specs[path] = dict(_specs(self._revision.text_of(path)))
        return self._specs[path].get(self._revision.symbol_of(decl).name_start)


def _basic(type: Type, revision: Revision) -> str:
    under = revision.world.underlying(type) if isinstance(type, Named) else type
    return under.name if isinstance(under, Basic) else ""


def _converted(constant: Constant, type: str) -> Constant:
    """The constant as a value of a basic type."""
    value = constant.value
    if type in _FLOATS and isinstance(value, int) and not isinstance(value, bool):
        value = Fraction(value)
    elif isinstance(value, Fraction) and ("int" in type or type == "untyped rune"):
        if value.denominator != 1:
            raise _Unknown
        value = int(value)
    elif type == "string" and isinstance(value, int) and not isinstance(value, bool):
        value = chr(value)
    return Constant(value, type)


def _specs(text: SourceText) -> Iterator[tuple[int, _Spec]]:
    """The expression of each constant of a file, by the offset of its name. One without an expression has that of the
    constant above it; iota counts the specifications of a group."""
    source = text.content
    iota = position = 0
    before: f.DeclaredSymbol | None = None
    expressions: list[tuple[list[int], list[bytes]]] = []
    for symbol in text.facts.outline.symbols:
        if symbol.kind != "const":
            before = None
            continue
        if before is not None and symbol.start == before.start:
            position += 1
        else:
            position = 0
            gap = t.tokens_of(source, before.end, symbol.start, 0).kinds if before is not None else [t.RPAREN]
            iota = 0 if t.RPAREN in gap else iota + 1
            found = _expressions(source, symbol)
            expressions = found or ([] if iota == 0 else expressions)
        before = symbol
        if position < len(expressions):
            yield symbol.name_start, _Spec(*expressions[position], iota)


def _expressions(source: bytes, symbol: f.DeclaredSymbol) -> list[tuple[list[int], list[bytes]]]:
    """The tokens of each expression of a specification; none if it has no `=`."""
    tokens = t.tokens_of(source, symbol.start, symbol.end, 0)
    if t.ASSIGN not in tokens.kinds:
        return []
    found: list[tuple[list[int], list[bytes]]] = [([], [])]
    depth = 0
    start = tokens.kinds.index(t.ASSIGN) + 1
    for kind, text in zip(tokens.kinds[start:], tokens.texts[start:], strict=True):
        depth += (kind in (t.LPAREN, t.LBRACK, t.LBRACE)) - (kind in (t.RPAREN, t.RBRACK, t.RBRACE))
        if depth == 0 and kind == t.COMMA:
            found.append(([], []))
        elif kind not in (t.SEMICOLON, t.END):
            found[-1][0].append(kind)
            found[-1][1].append(text)
    return found


class _Parser:
    """Evaluates one expression. `named` gives the constant or the basic type that a name denotes."""

    def __init__(self, spec: _Spec, named: Callable[[str, str], Constant | str]) -> None:
        self._kinds = [*spec.kinds, t.END]
        self._texts = [*spec.texts, b""]
        self._iota = spec.iota
        self._named = named
        self._at = 0

    def whole(self) -> Constant:
        found = self._binary(t.FIRST_BINARY)
        if self._kinds[self._at] != t.END:
            raise _Unknown
        return found

    def _binary(self, lowest: int) -> Constant:
        left = self._unary()
        while (level := _level(self._kinds[self._at])) >= lowest:
            operator = self._texts[self._at].decode()
            self._at += 1
            left = _operation(operator, left, self._binary(level + 1))
        return left

    def _unary(self) -> Constant:
        operator = self._texts[self._at]
        if operator not in (b"+", b"-", b"^", b"!") or self._kinds[self._at] == t.STRING:
            return self._operand()
        self._at += 1
        found = self._unary()
        value = found.value
        if operator == b"!":
            return Constant(not value, found.type)
        if isinstance(value, (bool, str)):
            raise _Unknown
        if operator == b"^":
            if isinstance(value, Fraction):
                raise _Unknown
            bits = _UNSIGNED.get(found.type)
            return Constant(~value if bits is None else value ^ (1 << bits) - 1, found.type)
        return Constant(-value if operator == b"-" else value, found.type)

    def _operand(self) -> Constant:
        kind, text = self._kinds[self._at], self._texts[self._at]
        self._at += 1
        if kind == t.LPAREN:
            found = self._binary(t.FIRST_BINARY)
            self._expect(t.RPAREN)
            return found
        if kind != t.NAME:
            return _literal(kind, text)
        name = text.decode("utf-8", "replace")
        if name == "iota":
            return Constant(self._iota, "untyped int")
        if name in ("true", "false"):
            return Constant(name == "true", "untyped bool")
        if name == "len":
            return self._length()
        member = ""
        if self._kinds[self._at] == t.DOT:
            member = self._texts[self._at + 1].decode("utf-8", "replace")
            self._at += 2
        found = self._named(name, member)
        if isinstance(found, Constant):
            return found
        self._expect(t.LPAREN)
        converted = _converted(self._binary(t.FIRST_BINARY), found)
        self._expect(t.RPAREN)
        if not found:
            raise _Unknown
        return converted

    def _length(self) -> Constant:
        self._expect(t.LPAREN)
        text = self._binary(t.FIRST_BINARY).value
        self._expect(t.RPAREN)
        if not isinstance(text, str):
            raise _Unknown
        return Constant(len(text.encode("utf-8", "surrogateescape")), "int")

    def _expect(self, kind: int) -> None:
        if self._kinds[self._at] != kind:
            raise _Unknown
        self._at += 1


def _level(kind: int) -> int:
    """The precedence of a binary operator, as a kind; -1 if it is none."""
    if kind in (t.PLUS, t.OR, t.CARET):
        return t.PLUS
    if kind in (t.TIMES, t.DIVIDE, t.AND, t.SHIFT):
        return t.TIMES
    return kind if kind in (t.OR_OR, t.AND_AND, t.COMPARISON) else -1


def _literal(kind: int, text: bytes) -> Constant:
    plain = text.replace(b"_", b"").decode("ascii", "replace")
    if kind == t.INT:
        is_old_octal = len(plain) > 1 and plain[0] == "0" and plain[1].isdigit()
        return Constant(int(plain, 8 if is_old_octal else 0), "untyped int")
    if kind == t.FLOAT:
        if len(plain) > _MOST_DIGITS or "x" in plain.lower():
            raise _Unknown
        return Constant(Fraction(plain), "untyped float")
    if kind == t.RUNE:
        return Constant(ord(_text(text)), "untyped rune")
    if kind == t.STRING:
        return Constant(_text(text), "untyped string")
    raise _Unknown


def _text(literal: bytes) -> str:
    """The text of a string or rune literal. Bytes that are no UTF-8 become surrogates."""
    if literal[:1] == b"`":
        return literal[1:-1].replace(b"\r", b"").decode("utf-8", "surrogateescape")
    is_rune = literal[:1] == b"'"
    pieces: list[bytes] = []
    at = 1
    for match in _ESCAPE.finditer(literal, 1, len(literal) - 1):
        pieces += [literal[at : match.start()], _unescaped(match[0], is_rune=is_rune)]
        at = match.end()
    return b"".join([*pieces, literal[at:-1]]).decode("utf-8", "surrogateescape")


def _unescaped(escape: bytes, *, is_rune: bool) -> bytes:
    if escape[1:2] in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[escape[1:2]]
    is_octal = escape[1:2].isdigit()
    number = int(escape[1:], 8) if is_octal else int(escape[2:], 16)
    is_byte = (is_octal or escape[1:2] == b"x") and not is_rune
    return bytes([number]) if is_byte else chr(number).encode("utf-8", "surrogatepass")


def _operation(operator: str, left: Constant, right: Constant) -> Constant:
    if operator in ("<<", ">>"):
        return _shift(operator, left, right)
    a, b = left.value, right.value
    type = right.type if left.type.startswith("untyped") else left.type
    if left.type.startswith("untyped") and right.type.startswith("untyped"):
        type = max(left.type, right.type, key=_rank)
    if operator in ("&&", "||"):
        return Constant(bool(a and b) if operator == "&&" else bool(a or b), type)
    if operator in ("==", "!="):
        return Constant((a == b) == (operator == "=="), "untyped bool")
    if isinstance(a, str) and isinstance(b, str):
        if operator != "+":
            raise _Unknown
        return Constant(a + b, type)
    if isinstance(a, (bool, str)) or isinstance(b, (bool, str)):
        raise _Unknown
    if type in _FLOATS:
        a, b = Fraction(a), Fraction(b)
    return Constant(_arithmetic(operator, a, b), type)


def _shift(operator: str, left: Constant, right: Constant) -> Constant:
    value, count = left.value, right.value
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    if isinstance(value, (str, bool, Fraction)) or not isinstance(count, int) or not 0 <= count <= _LARGEST_SHIFT:
        raise _Unknown
    type = "untyped int" if left.type == "untyped float" else left.type
    return Constant(value << count if operator == "<<" else value >> count, type)


def _arithmetic(operator: str, a: Number, b: Number) -> Number:
    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    if operator == "*":
        return a * b
    if operator == "/" and (isinstance(a, Fraction) or isinstance(b, Fraction)):
        return Fraction(a) / Fraction(b)
    if isinstance(a, Fraction) or isinstance(b, Fraction):
        raise _Unknown
    quotient = abs(a) // abs(b) if operator in ("/", "%") else 0
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    results = {"/": quotient, "%": a - b * quotient, "&": a & b, "|": a | b, "^": a ^ b, "&^": a & ~b}
    if operator not in results:
        raise _Unknown
    return results[operator]


def _rank(type: str) -> int:
    return _NUMERIC.index(type) if type in _NUMERIC else 0
