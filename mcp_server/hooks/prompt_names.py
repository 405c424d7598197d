"""Which declarations a piece of text is about: the code names in a prompt, and what an edit touched in a file.

Plain reading of words and lines, good enough to look a name up; that it exists is for the deck to say. A word is taken
for a name of code only if it looks like one, because most words of a prompt are also names somewhere.
"""

from itertools import pairwise

_PUNCTUATION = ".,;:!?\"'()[]{}<>*&"
_DECLARING = ("func ", "type ", "var ", "const ")
_LONGEST = 20_000
_MOST_NAMES = 60


def mentioned_paths(prompt: str) -> list[str]:
    """What stands behind an @ in a prompt: `@store/store.go`, `@"a b.go"`, `@store/store.go#L10`."""
    found: list[str] = []
    rest = prompt[:_LONGEST]
    while True:
        before, at, rest = rest.partition("@")
        if not at:
            return found
        if before[-1:].isalnum():  # an address
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
    """Words that can only be meant as names of code: in backticks, called, dotted or in camel case."""
    found: list[str] = []
    for word in prompt[:_LONGEST].split():
        if word[:1] == "@":
            continue
        is_marked = "`" in word or "()" in word
        name = word.strip(_PUNCTUATION + "`").partition("(")[0].strip(_PUNCTUATION + "`")
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts) or parts[-1] == "go":
            continue
        if (is_marked or len(parts) > 1 or _has_humps(name)) and name not in found:
            found.append(name)
    return found[:_MOST_NAMES]


def is_named(qualified_name: str, name: str) -> bool:
    """Whether a name, perhaps dotted, is an end of a qualified name."""
    return qualified_name == name or qualified_name.endswith((f".{name}", f"/{name}"))


def touched_names(text: str, new_texts: list[str]) -> list[str]:
    """The top-level declarations of a file in which pieces of new text stand: `Save`, `Memory.Save`."""
    found: list[str] = []
    for piece in new_texts:
        piece = piece.strip("\n")
        at = text.find(piece) if piece.strip() else -1
        if at < 0:
            continue
        lines = [_line_before(text, at), *text[text.rfind("\n", 0, at) + 1 : at + len(piece)].split("\n")]
        for line in lines:
            name = _declared(line)
            if name and name not in found:
                found.append(name)
    return found


def _has_humps(name: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in pairwise(name))


def _line_before(text: str, at: int) -> str:
    """The line that begins the declaration around a place; empty between declarations."""
    end = text.rfind("\n", 0, at)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.startswith(_DECLARING):
            is_over = line.count("{") == line.count("}") and line.count("(") == line.count(")")
            return "" if is_over else line
        if line[:1] in ("}", ")"):
            return ""
        end = start - 1
    return ""


def _declared(line: str) -> str:
    """The name that a line declares at the top level, a method's with its receiver's type; empty for any other line."""
    if not line.startswith(_DECLARING):
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
    """The identifier that the only word begins with."""
    word = words[0] if words else ""
    end = 0
    while end < len(word) and word[: end + 1].isidentifier():
        end += 1
    return word[:end]
