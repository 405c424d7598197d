"""What decides whether a declaration of one file changed: its tokens, and what else in the file gives them a meaning.

Comments and layout do not count, except directives such as `//go:embed`. The meaning of a declaration also depends on
the imports that it names, on its position in a group of constants with `iota`, and on the file's build constraint.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from golore.graph.changes.change_set import Declared
from golore.learner.extraction import facts as f
from golore.learner.extraction import lexer
from golore.learner.project.catalog import full_constraint

_DIRECTIVE: Final = re.compile(rb"^//(?:go:(?!build)|export |extern )[^\n]*", re.MULTILINE)
_MAJOR_VERSION: Final = re.compile(r"v[0-9]+")
_WORD: Final = re.compile(rb"[\w\x80-\xff]+|[^\w\s\x80-\xff]")
_KEYWORDS: Final = (b"type", b"var", b"const")
_OWN_NAME, _TYPE_NAME = b"\0name", b"\0type"
_MEMBERS: Final = ("field", "imethod")


class DeclarationText(NamedTuple):
    """One declaration of a file, with the digests by which two states of it are compared.

    `own` identifies its tokens, and `masked` the same without its own name and that of its type. `visible` identifies
    what others see of it, without these names. `text` identifies its bytes, with comments and layout.
    """

    declared: Declared
    tokens: int
    own: str
    masked: str
    visible: str
    text: str
    context: tuple[tuple[str, str], ...]
    """What else gives it a meaning: the reason to name if it differs, and the value to compare."""


class FileText(NamedTuple):
    """A Go file in one of the two states."""

    path: str
    source: bytes
    outline: f.Outline


def unchanged(before: FileText | None, after: FileText | None) -> tuple[set[int], set[int]]:
    """The positions, in both outlines, of declarations with the same bytes in the same surroundings.

    This is quick, because tokens are not needed. Constants are left out: they depend on their neighbours.
    """
    if before is None or after is None or _surroundings(before) != _surroundings(after):
        return set(), set()
    positions: defaultdict[bytes, list[int]] = defaultdict(list)
    for position, key in enumerate(_bytes_of(after)):
        if key:
            positions[key].append(position)
    found: tuple[set[int], set[int]] = (set(), set())
    for position, key in enumerate(_bytes_of(before)):
        if key and positions[key]:
            found[0].add(position)
            found[1].add(positions[key].pop(0))
    return found


def _surroundings(file: FileText) -> tuple[object, ...]:
    outline = file.outline
    preamble = file.source[: outline.symbols[0].start] if outline.cgo and outline.symbols else b""
    return outline.package, outline.constraint, sorted((one.alias, one.path) for one in outline.imports), preamble


def _bytes_of(file: FileText) -> Iterator[bytes]:
    """What identifies each symbol with its bytes; empty for constants."""
    for symbol, directives in zip(file.outline.symbols, _directives(file), strict=True):
        if symbol.kind == "const":
            yield b""
        else:
            head = f"{symbol.kind} {symbol.owner} {symbol.name}".encode()
            yield b"\0".join([head, *directives, file.source[symbol.start : symbol.end]])


def _directives(file: FileText) -> Iterator[list[bytes]]:
    """The directives above each symbol."""
    end_before = 0
    for symbol in file.outline.symbols:
        yield [] if symbol.kind in _MEMBERS else _DIRECTIVE.findall(file.source, end_before, symbol.start)
        end_before = max(end_before, symbol.end)


def texts_of(file: FileText, skipped: Container[int] = ()) -> Iterator[DeclarationText]:
    """The declarations of a file, members of types included, in its order, without those at `skipped` positions."""
    path, source, outline = file
    constraint = full_constraint(path, outline.constraint)
    imports = {_local_name(one): one.path for one in outline.imports}
    preamble = _digest([source[: outline.symbols[0].start]]) if outline.cgo and outline.symbols else ""
    constants = dict(_iota_contexts(source, outline.symbols))
    for position, (symbol, directives) in enumerate(zip(outline.symbols, _directives(file), strict=True)):
        if position in skipped:
            continue
        tokens = _tokens(source, symbol)
        names = set(tokens)
        used = sorted(f"{name}={path}" for name, path in imports.items() if name.encode() in names or name in "._")
        if outline.cgo and b"C" in names:
            used.append(preamble)
        kind, name, owner, line, end_line = symbol.kind, symbol.name, symbol.owner, symbol.line, symbol.end_line
        yield DeclarationText(
            Declared(kind, name, owner, outline.package, path, line, end_line, symbol.signature),
            len(tokens),
            _digest([*directives, *tokens]),
            _digest(_masked([*directives, *tokens], symbol)),
            _digest(_masked(_visible_tokens(symbol, tokens), symbol)),
            _digest([source[symbol.start : symbol.end]]),
            (
                ("imports", " ".join(used)),
                ("build constraint", constraint),
                ("iota", constants.get(symbol.name_start, "")),
                ("package clause", outline.package),
            ),
        )


def _tokens(source: bytes, symbol: f.DeclaredSymbol) -> list[bytes]:
    """The tokens of a declaration, without the keyword that a group of declarations has only once."""
    found = lexer.tokens_of(source, symbol.start, symbol.end, 0)
    tokens = [
        b";" if kind == lexer.SEMICOLON else text
        for kind, text in zip(found.kinds, found.texts, strict=True)
        if kind != lexer.END
    ]
    return tokens[1:] if tokens and tokens[0] in _KEYWORDS else tokens


def _masked(tokens: Iterable[bytes], symbol: f.DeclaredSymbol) -> Iterator[bytes]:
    masks = {symbol.owner.partition(".")[0].encode(): _TYPE_NAME, symbol.name.encode(): _OWN_NAME}
    masks.pop(b"", None)
    return (masks.get(token, token) for token in tokens)


def _visible_tokens(symbol: f.DeclaredSymbol, tokens: list[bytes]) -> list[bytes]:
    """What others see: the signature; of a type, all of it; of a constant or variable, its type."""
    if symbol.kind not in ("const", "var", "func", "method"):
        return [*tokens, symbol.tag.encode()]
    signature = symbol.signature.partition(" = ")[0] if symbol.kind in ("const", "var") else symbol.signature
    return _WORD.findall(signature.encode())


def _local_name(imported: f.ImportSpec) -> str:
    """The name of an import in the file. Without an alias it is a guess, by the last part of the path."""
    if imported.alias:
        return imported.alias
    *before, last = imported.path.split("/")
    if before and _MAJOR_VERSION.fullmatch(last):
        last = before[-1]
    return last.partition(".v")[0].removeprefix("go-").removesuffix("-go").rpartition("-")[2]


def _iota_contexts(source: bytes, symbols: Iterable[f.DeclaredSymbol]) -> Iterator[tuple[int, str]]:
    """For each constant whose value follows from its position in its group: what the value is made of."""
    end_before, start_before, position = 0, -1, 0
    expression: tuple[bytes, ...] = ()
    for symbol in symbols:
        if symbol.kind != "const":
            end_before = 0  # another declaration ends the group
            continue
        if symbol.start != start_before:
            gap = lexer.tokens_of(source, end_before, symbol.start, 0).texts if end_before else [b")"]
            is_in_group = b")" not in gap
            position = position + 1 if is_in_group else 0
            if not is_in_group:
                expression = ()
        tokens = _tokens(source, symbol)
        is_repeated = b"=" not in tokens
        if not is_repeated:
            expression = tuple(tokens[tokens.index(b"=") :])
        start_before, end_before = symbol.start, symbol.end
        if b"iota" in expression:
            yield symbol.name_start, f"{position} {_digest(expression)}"
        elif is_repeated:
            yield symbol.name_start, _digest(expression)


def _digest(parts: Iterable[bytes]) -> str:
    return blake2b(b"\x1f".join(parts), digest_size=16).hexdigest()
