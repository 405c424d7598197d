"""Compares Go methods by their signatures as they are written, without resolving the types in them.

Types are compared by the name of their package and their own name, so two packages of one name can be mixed up: what
matches is a candidate, never a fact. Types of functions whose parameters are named do not match those without names.
"""

from __future__ import annotations

import re
from typing import Final

_NAMED: Final = re.compile(r"([A-Za-z_]\w*)\s+(.+)", re.DOTALL)
_IDENTIFIER: Final = re.compile(r"(?<!\w)(?<!\w\.)[A-Za-z_]\w*(?![\w.])")
_VERSION: Final = re.compile(r"v\d+")
_TYPE_WORDS: Final = frozenset("chan func map struct interface".split())
_KNOWN: Final = _TYPE_WORDS | frozenset(
    "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint "
    "uint8 uint16 uint32 uint64 uintptr".split()
)
_OPENING: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def method_shape(signature: str, name: str, package: str) -> str:
    """The types of the parameters and results of a method, such as `(string,...any)(error)`; empty if the signature is
    not understood. `package` declares the method."""
    start = signature.rfind(f" {name}(") + 1 if signature.startswith("func (") else 0
    rest = signature[start:].removeprefix(name)
    inside, after = _group(rest)
    if inside is None:
        return ""
    results = after.strip()
    if results.startswith("("):
        results, after = _group(results)
        if results is None or after.strip():
            return ""
    last = next((part for part in reversed(package.split("/")) if not _VERSION.fullmatch(part)), "")
    parts = ",".join(_types(inside)), ",".join(_types(results))
    return "".join(f"({_qualified(part, last)})" for part in parts)


def _group(text: str) -> tuple[str | None, str]:
    """What is in the parentheses at the beginning of a text, and what follows them."""
    depth = 0
    for at, character in enumerate(text):
        depth += _OPENING.get(character, 0)
        if depth == 0:
            return (text[1:at], text[at + 1 :]) if text[0] == "(" and at else (None, "")
    return None, ""


def _types(text: str) -> list[str]:
    """The types of a list of parameters, each once for each name."""
    parts = _split(text)
    named = [_NAMED.fullmatch(part) for part in parts]
    if not any(found is not None and found[1] not in _TYPE_WORDS for found in named):
        return parts
    types: list[str] = []
    for found in reversed(named):
        types.append(found[2].strip() if found is not None else types[-1] if types else "?")
    return types[::-1]


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = start = 0
    for at, character in enumerate(f"{text},"):
        depth += _OPENING.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in parts if part]


def _qualified(types: str, package: str) -> str:
    plain = re.sub(r"\s+", " ", types).replace("interface{}", "any").replace("interface {}", "any")
    return _IDENTIFIER.sub(lambda found: found[0] if found[0] in _KNOWN else f"{package}.{found[0]}", plain)
