"""What code is known again by: the digest of a declaration without what does not matter.

White space as gofmt would change it does not count, and the declaration's own name and that of its type stand for any
name: code that was only renamed has the digest that it had. Comments and everything else do count. Nothing here knows
of the graph or of files.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

_PARTS: Final = re.compile(
    r"""(?P<text>`[^`]*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<word>\w+)
      | (?P<space>\s+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_WORD: Final = re.compile(r"\w+")
_OWN, _TYPE = "\x00name", "\x00type"


class Fingerprint(NamedTuple):
    """A declaration as it is known again: by its digest. How many bytes it has besides its own name, how often that
    name is in it, its kind and the end of its signature only tell where it is worth comparing digests."""

    digest: str
    size: int
    names: int
    signature: str


def fingerprint(code: bytes, name: str, owner: str, kind: str, signature: str) -> Fingerprint:
    """Of the text of a declaration; `owner` is the plain name of a method's or field's type."""
    masked = {owner: _TYPE, name: _OWN} if owner else {name: _OWN}
    tokens: list[str] = []
    names = 0
    for part in _PARTS.finditer(code.decode("utf-8", "surrogateescape")):
        text, sort = part.group(), part.lastgroup
        if sort == "space":
            # Where a line ends matters to Go; how many are empty does not.
            if "\n" in text and tokens and tokens[-1] != "\n":
                tokens.append("\n")
        elif sort == "word":
            names += text == name
            tokens.append(masked.get(text, text))
        elif sort == "comment":
            told = " ".join(text.split())
            tokens.append(_WORD.sub(lambda word: masked.get(word.group(), word.group()), told))
        else:
            tokens.append(text)
    size = len(code) - names * len(name.encode("utf-8", "surrogateescape"))
    return Fingerprint(digest_of(tokens), size, names, f"{kind} {_nameless_end(signature, masked)}")


def digest_of(parts: Iterable[str]) -> str:
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _nameless_end(signature: str, names: Container[str]) -> str:
    """What of a signature stands after the last of these names: a renamed declaration has it, too."""
    ends = [word.end() for word in _WORD.finditer(signature) if word.group() in names]
    return signature[max(ends, default=0) :]
