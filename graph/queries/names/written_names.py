"""Reads names of code as people write them: as in `go doc`, a stack trace, a declaration or a compiler's message.

Works on text alone; `name_resolver` finds what has the name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_QUOTES: Final = "`'\" \t"
_CREATED_BY: Final = re.compile(r"^created by |\s+in goroutine \d+$")
_DECLARATION: Final = re.compile(r"^func\s+(?=\(|\w+[\[(])|^type\s+(?=\w+(?:\[.*\])?\s+(?:struct|interface)\b)")
_RECEIVER: Final = re.compile(r"(?:^|(?<=\.))\(\s*(?:\w+\s+)?\*?\s*([^()\s]*)\s*\)\s*\.?(?=\w|$)")
_TYPE_ARGUMENTS: Final = re.compile(r"\[[^\[\]]*\]")
_CLOSURE: Final = re.compile(r"(?:\.\.?(?:func|gowrap|deferwrap)?\d+|-range\d+|-fm)+$")
_LINES: Final = re.compile(
    r"(?P<path>.*?\.go)(?::(?P<first>\d+)(?:[-,](?P<last>\d+)|:\d+)?|#L(?P<anchor>\d+)(?:-L?(?P<end>\d+))?)(?:[\s:].*)?$"
)
_MAJOR_VERSION: Final = re.compile(r"v\d+$")
_VERSION_SUFFIX: Final = re.compile(r"\.v\d+$")


class FileLines(NamedTuple):
    """Lines of a file. `first` is 0 if no lines were given."""

    path: str
    first: int = 0
    last: int = 0


def file_lines(text: str) -> FileLines | None:
    """The file and lines of `lessor.go`, `lessor.go:`, `lessor.go:281`, `lessor.go:10-40`, `lessor.go:12:5: undefined`
    or `lessor.go#L10-L40`; None if the text is something else."""
    text = text.strip(_QUOTES).rstrip(":").replace("\\", "/")
    if text.endswith(".go"):
        return FileLines(text)
    found = _LINES.match(text)
    if found is None:
        return None
    first = int(found["first"] or found["anchor"])
    last = int(found["last"] or found["end"] or first)
    return FileLines(found["path"], min(first, last), max(first, last))


def plain_name(text: str) -> str:
    """The name without optional notation: the parentheses and star of a receiver, type arguments, the arguments of a
    call, the keyword of a declaration, and what a stack trace adds."""
    text = _CREATED_BY.sub("", text.strip(_QUOTES)).replace("%2e", ".")
    text, is_declaration = _DECLARATION.subn("", text)
    shorter = _TYPE_ARGUMENTS.sub("", text)
    while shorter != text:
        text, shorter = shorter, _TYPE_ARGUMENTS.sub("", shorter)
    text = _RECEIVER.sub(r"\1.", text, count=1).rstrip(".") if "(" in text else text
    name = re.split(r"[\s(]", text.strip(), maxsplit=1)[0] if is_declaration or "(" in text else text
    return name.strip().lstrip("*&.")


def enclosing_function(name: str) -> str:
    """The function around a function literal that a stack trace names: `Grant` for `Grant.func1.2`. Empty if the name
    is not of that form."""
    outer = _CLOSURE.sub("", name)
    return outer if outer != name else ""


def assumed_package_name(import_path: str) -> str:
    """The name that a package probably has, by Go's conventions for import paths with versions."""
    *_, last = parts = import_path.split("/")
    if len(parts) > 1 and _MAJOR_VERSION.match(last):
        last = parts[-2]
    return _VERSION_SUFFIX.sub("", last)
