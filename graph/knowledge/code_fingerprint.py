"""Fingerprints of declarations, by which code is recognized after it was moved or renamed.

White space as gofmt would change it does not count, and the declaration's own name and that of its type are replaced by
placeholders: code that was only renamed keeps its digest. Comments and everything else do count. This module reads
neither the graph nor files.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

_TOKENS: Final = re.compile(
    r"""(?P<text>`[^`]*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<word>\w+)
      | (?P<space>\s+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_WORD: Final = re.compile(r"\w+")
_OWN_NAME, _TYPE_NAME = "\x00name", "\x00type"


class Fingerprint(NamedTuple):
    """The digest identifies a declaration. The other fields only select declarations whose digests are worth comparing:
    its bytes without its own name, the number of occurrences of that name, and its kind with the end of its signature.
    """

    digest: str
    size: int
    names: int
    signature: str


def fingerprint(code: bytes, name: str, owner: str, kind: str, signature: str) -> Fingerprint:
    """The fingerprint of a declaration's text. `owner` is the plain name of a method's or field's type, or empty."""
    masked = {owner: _TYPE_NAME, name: _OWN_NAME} if owner else {name: _OWN_NAME}
    tokens: list[str] = []
    names = 0
    for match in _TOKENS.finditer(code.decode("utf-8", "surrogateescape")):
        text, group = match.group(), match.lastgroup
        if group == "space":
            # Line ends have a meaning in Go; the number of empty lines has none.
            if "\n" in text and tokens and tokens[-1] != "\n":
                tokens.append("\n")
        elif group == "word":
            names += text == name
            tokens.append(masked.get(text, text))
        elif group == "comment":
            comment = " ".join(text.split())
            tokens.append(_WORD.sub(lambda word: masked.get(word.group(), word.group()), comment))
        else:
            tokens.append(text)
    size = len(code) - names * len(name.encode("utf-8", "surrogateescape"))
    return Fingerprint(digest_of(tokens), size, names, f"{kind} {_signature_end(signature, masked)}")


def digest_of(parts: Iterable[str]) -> str:
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _signature_end(signature: str, names: Container[str]) -> str:
    """The part of a signature after the last of these names. A rename does not change it."""
    ends = [word.end() for word in _WORD.finditer(signature) if word.group() in names]
    return signature[max(ends, default=0) :]
