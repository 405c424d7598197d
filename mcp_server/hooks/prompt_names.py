"""Finds the declarations that a text is about: names of code in a prompt, and declarations that an edit touched.

Compares words and lines, without parsing; whether a name exists is looked up in the card store. A word counts as a name
of code only if it looks like one, because most words of a prompt are also names somewhere.
"""

from itertools import pairwise

_PUNCTUATION = ".,;:!?\"'()[]{}<>*&"
_KEYWORDS = ("func ", "type ", "var ", "const ")
_MAX_CHARACTERS = 20_000
_MAX_NAMES = 60


def mentioned_paths(prompt: str) -> list[str]:
    """Paths after an @ in a prompt: `@store/store.go`, `@"a b.go"`, `@store/store.go#L10`."""
    found: list[str] = []
    rest = prompt[:_MAX_CHARACTERS]
    while True:
        before, at, rest = rest.partition("@")
        if not at:
            return found
        if before[-1:].isalnum():  # an email address
            continue
        if rest[:1] == '"':
            path = rest[1:].partition('"')[0]
        else:
            words = rest.split(None, 1)
            path = words[0].rstrip(_PUNCTUATION + "`") if words and not rest[:1].isspace() else ""
        path = path.partition("#")[0]
        if path and path not in found:
            found.append(path)


def mentioned_names(prompt: str) -> list[str]:
    """Words that look like names of code: in backticks, with parentheses, dotted or in camel case."""
    found: list[str] = []
    for word in prompt[:_MAX_CHARACTERS].split():
        if word[:1] == "@":
            continue
        is_marked = "`" in word or "()" in word
        name = word.strip(_PUNCTUATION + "`").partition("(")[0].strip(_PUNCTUATION + "`")
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts) or parts[-1] == "go":
            continue
        if (is_marked or len(parts) > 1 or _is_camel_case(name)) and name not in found:
            found.append(name)
    return found[:_MAX_NAMES]


def is_named(qualified_name: str, name: str) -> bool:
    """Whether a name, possibly dotted, is a suffix of a qualified name."""
    return qualified_name == name or qualified_name.endswith((f".{name}", f"/{name}"))


def touched_names(text: str, new_texts: list[str]) -> list[str]:
    """The top-level declarations of a file that contain the new texts: `Save`, `Memory.Save`."""
    found: list[str] = []
    text = text.replace("\r\n", "\n")  # agents send the line ends of the file, or their own
    for piece in new_texts:
        piece = piece.replace("\r\n", "\n").strip("\n")
        offset = text.find(piece) if piece.strip() else -1
        if offset < 0:
            continue
        line_start = text.rfind("\n", 0, offset) + 1
        lines = [_declaration_line(text, offset), *text[line_start : offset + len(piece)].split("\n")]
        for line in lines:
            name = _declared_name(line)
            if name and name not in found:
                found.append(name)
    return found


def _is_camel_case(name: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in pairwise(name))


def _declaration_line(text: str, offset: int) -> str:
    """The first line of the declaration around an offset; empty between declarations."""
    end = text.rfind("\n", 0, offset)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.startswith(_KEYWORDS):
            is_over = line.count("{") == line.count("}") and line.count("(") == line.count(")")
            return "" if is_over else line
        if line[:1] in ("}", ")"):
            return ""
        end = start - 1
    return ""


def _declared_name(line: str) -> str:
    """The name that a line declares at the top level, for a method with the receiver's type; else empty."""
    if not line.startswith(_KEYWORDS):
        return ""
    rest = line.partition(" ")[2].lstrip()
    receiver = ""
    if line.startswith("func ") and rest[:1] == "(":
        inside, _, rest = rest[1:].partition(")")
        receiver = _identifier(inside.partition("[")[0].replace("*", " ").split()[-1:])
        rest = rest.lstrip()
    name = _identifier([rest])
    return f"{receiver}.{name}" if receiver and name else name


def _identifier(words: list[str]) -> str:
    """The identifier at the start of the first word; empty if there is none."""
    word = words[0] if words else ""
    end = 0
    while end < len(word) and word[: end + 1].isidentifier():
        end += 1
    return word[:end]
