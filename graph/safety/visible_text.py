"""Makes text of a repository safe to show: characters that control a terminal or deceive a reader become escapes.

Names, paths, comments, commits, notes and documents may contain anything. Control characters, among them those that
begin ANSI sequences, can rewrite a terminal; a line break lets a name leave its line; bidirectional controls and
characters without width show another text than the one that is there, and tag characters hide a text in another. All
of them are written visibly, such as `\\x1b` or `\\u202e`. The escapes are for readers: nothing reads them back.

Joiners (U+200C, U+200D) are kept in prose, because some scripts and emoji need them, but a path that is learned has
none (`is_plain_path`). Hook processes load this module, so it imports nothing.
"""

_HIDDEN = (
    (0x00, 0x1F),  # C0, with ESC
    (0x7F, 0x9F),  # DEL and C1, with NEL
    (0x061C, 0x061C),  # Arabic letter mark
    (0x180E, 0x180E),  # Mongolian vowel separator
    (0x200B, 0x200B),  # zero width space
    (0x200E, 0x200F),  # left-to-right and right-to-left mark
    (0x2028, 0x202E),  # line and paragraph separator, bidirectional embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, bidirectional isolates
    (0xD800, 0xDFFF),  # lone surrogates
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFF9, 0xFFFB),  # interlinear annotations
    (0xE0000, 0xE0FFF),  # tags and supplementary variation selectors
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JOINERS = "\u200c\u200d"


def visible_line(text: str, kept: str = "") -> str:
    """The text on one line. `kept`: control characters to keep, such as a tab."""
    # Without what is kept, source is as quick to check as prose.
    if _is_plain(_without(text, kept)):
        return text
    for sign in set(text).difference(kept):  # a text has few different ones
        if _is_hidden(sign):
            text = text.replace(sign, _escape(sign))
    return text


def visible_block(text: str) -> str:
    """The text with its line breaks and tabs."""
    return visible_line(text, "\n\t")


def visible_json(text: str) -> str:
    """Printed JSON with the same values, in which JSON's own escapes stand for hidden characters."""
    if _is_plain(_without(text, "\n")):
        return text
    for sign in set(text).difference("\n"):
        if _is_hidden(sign):
            text = text.replace(sign, _json_escape(sign))
    return text


def is_plain_path(path: str) -> bool:
    """Whether a path or name has nothing that would be escaped, and no joiner."""
    return _is_plain(path) or not any(sign in _JOINERS or _is_hidden(sign) for sign in path)


def _without(text: str, signs: str) -> str:
    for sign in signs:
        text = text.replace(sign, "")
    return text


def _is_plain(text: str) -> bool:
    """Whether nothing in the text is hidden. May be False for rare harmless characters, such as a no-break space."""
    # `isprintable` is False for all of _HIDDEN but the variation selectors, whose UTF-8 begins with F3 A0.
    return text.isprintable() and (text.isascii() or b"\xf3\xa0" not in text.encode())


def _is_hidden(sign: str) -> bool:
    if sign.isascii() and sign.isprintable():
        return False
    code = ord(sign)
    return any(first <= code <= last for first, last in _HIDDEN)


def _escape(sign: str) -> str:
    code = ord(sign)
    if sign in _SHORT:
        return _SHORT[sign]
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(sign: str) -> str:
    code = ord(sign)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
