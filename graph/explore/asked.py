"""What a question asks for: words, names of code, places in files, and the frames of stack traces. Works on text alone.

A goroutine dump may come as the Go runtime prints it, or as one line of a log in which line breaks are escaped.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from golore.graph.queries.names.written_names import FileLines, file_lines, plain_name

_ESCAPED_BREAK: Final = re.compile(r"\\n(?:\\t)?|\\t")
_FRAME: Final = re.compile(
    r"^(?P<name>(?:created by )?[\w./~@%-]+\.[^\n]+)\n\s*(?P<file>\S[^\n:]*\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?",
    re.MULTILINE,
)
_NOISE: Final = re.compile(r"^(?:goroutine \d+ \[.*|exit status \d+|\s*\[signal .*|panic\(.*)$", re.MULTILINE)
_PLACE: Final = re.compile(r"(?<![\w/.~-])([\w./~-]+\.go(?:[:#]L?\d+(?:[-,:]L?\d+)?)?)(?![\w/])")
_SEPARATORS: Final = re.compile(r"[\s,;|]+")
_NAME: Final = re.compile(
    r"(?:\(\*?[\w./-]+\)\.)?[*&]?[A-Za-z_][\w./~-]*(?:\[[\w.,*]*\])?(?:\.\(\*?\w+\)\.\w+)?(?:\(\))?"
)
_CODE_FORM: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w|[\w)]\.\(?[*A-Za-z_]")
"""What names of code have and words of a sentence do not: `addChild`, `WALReader`, `max_size`, `Mux.Mount`."""
_MAX_NAMES: Final = 12
_MAX_FRAMES: Final = 40


class Frame(NamedTuple):
    """A frame of a stack trace: the function as `go doc` names it, and the place, on the machine that made it."""

    name: str
    file: str
    line: int


class Asked(NamedTuple):
    """`names` are texts that may name code. `is_list`: there is nothing but names and places."""

    words: str
    names: tuple[str, ...] = ()
    places: tuple[FileLines, ...] = ()
    frames: tuple[Frame, ...] = ()
    is_list: bool = False


def asked_for(text: str) -> Asked:
    text = text.strip()
    if "goroutine" in text or ".go:" in text:
        text = _ESCAPED_BREAK.sub("\n", text)
    frames = [Frame(plain_name(one["name"]), one["file"].strip(), int(one["line"])) for one in _FRAME.finditer(text)]
    rest = _NOISE.sub(" ", _FRAME.sub(" ", text)).strip() if frames else text
    places = [file_lines(match[1]) for match in _PLACE.finditer(rest)] if not frames else []
    rest = _PLACE.sub(" ", rest).strip()
    words = [word for word in _SEPARATORS.split(rest) if word and word != "and"]
    is_list = not frames and (len(words) == 1 or all(map(_is_code, words)))
    names = [word.strip("`'\"?!:.") for word in words if is_list or _is_code(word)]
    return Asked(
        rest,
        tuple(dict.fromkeys(names))[:_MAX_NAMES],
        tuple(dict.fromkeys(place for place in places if place is not None)),
        tuple(dict.fromkeys(frames))[:_MAX_FRAMES],
        is_list,
    )


def _is_code(word: str) -> bool:
    """Whether a word is written as a name of code."""
    if re.fullmatch(r"`[^`]+`[?!:.]?", word):
        return True
    bare = word.strip("`'\"?!:.")
    return bool(_NAME.fullmatch(bare) and _CODE_FORM.search(bare))
