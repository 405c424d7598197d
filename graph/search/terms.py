"""Text → the terms that search compares: names split into their parts, in lower case, without endings.

`HTTPServer`, `httpServer` and `http_server` all give the stems of `http` and `server`; the first two also give the
whole name. Stems are made by a few rules for English that treat questions and code alike; there are no synonyms. The
hook process reads prompts with this module, so it imports nothing.
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    "a about all also an and any are as at be been but by can could did do does for from get had has have how i if in "
    "into is it its just like make me my new no not now of on one only or our out please set should so some such than "
    "that the their them then there these they this to up us use used using via want was we were what when where which "
    "while who why will with would you your".split()
)
"""Words that do not say what a question is about. They are removed from prompts, and from questions that have other
words. The index has them like any other word: what is rare in a repository counts, however common it is in English."""
LONGEST = 60
"""Maximum characters of a word; longer ones are hashes and encoded data, and have no terms."""
_ENDINGS = (
    ("izations", "ize"),
    ("ization", "ize"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ies", "y"),
    ("ings", ""),
    ("ing", ""),
    ("edly", ""),
    ("ed", ""),
    ("ers", ""),
    ("er", ""),
    ("sses", "ss"),
    ("es", ""),
    ("ly", ""),
    ("s", ""),
)
_ENDINGS_BY_LETTER = {
    letter: tuple(pair for pair in _ENDINGS if pair[0].endswith(letter))
    for letter in sorted({ending[-1] for ending, _ in _ENDINGS})
}
"""Last letter of a word → the endings that it can have, in the order of `_ENDINGS`."""
_MIN_STEM = 3
"""Minimum letters of a stem."""
_word_cache: dict[str, tuple[str, ...]] = {}
_MAX_CACHED = 1 << 16
_stem_cache: dict[str, str] = {}


def terms(text: str) -> list[str]:
    """All terms of a text, in order and as often as they occur."""
    found: list[str] = []
    for word in words(text):
        found += word_terms(word)
    return found


def words(text: str) -> list[str]:
    """Runs of letters and digits: what `[^\\W_]+` finds, without importing `re`."""
    if text.isascii():
        return text.encode().translate(ONLY_WORDS).decode().split()
    return "".join(char if char.isalnum() else " " for char in text).split()


ONLY_WORDS = bytes(code if code >= 128 or chr(code).isalnum() else 32 for code in range(256))
"""Replaces the characters of ASCII that separate words by spaces, in UTF-8. Bytes are translated faster than texts."""


def word_terms(word: str) -> tuple[str, ...]:
    """The stems of a name's parts and, if there are several parts, the whole name in lower case."""
    found = _word_cache.get(word)
    if found is None:
        if len(_word_cache) >= _MAX_CACHED:
            _word_cache.clear()
            _stem_cache.clear()
        found = _word_cache[word] = split(word)
    return found


def folded(name: str) -> str:
    """A name in the form in which names are compared: in lower case, without underscores."""
    return name.lower().replace("_", "")


def parts(word: str) -> list[str]:
    """The parts of a name: `HTTPServer2` → HTTP, Server, 2."""
    if word.isascii():
        return _parts_of_ascii(word, word.encode().translate(_KINDS))
    found: list[str] = []
    start, end = 0, len(word)
    for index in range(1, end):
        before, char = word[index - 1], word[index]
        if before.isdigit() != char.isdigit():
            is_cut = True
        elif char.isupper():
            # A capital begins a part. In a run of capitals only the last does, before a small letter: HTTPServer.
            is_cut = not before.isupper() or (
                index + 1 < end and word[index + 1].islower() and not _is_plural(word, index + 1)
            )
        else:
            is_cut = False
        if is_cut:
            found.append(word[start:index])
            start = index
    found.append(word[start:])
    return found


_KINDS = bytes(1 if 48 <= code < 58 else 2 if 65 <= code < 91 else 3 if 97 <= code < 123 else 0 for code in range(256))
"""Kinds of ASCII characters: digits, capitals and small letters are 1, 2 and 3."""


def _parts_of_ascii(word: str, kinds: bytes) -> list[str]:
    """Like `parts`, for ASCII. `kinds`: those of the word's characters. Numbers are compared faster than texts of one
    character."""
    digit, capital, small = 1, 2, 3
    found: list[str] = []
    start, end = 0, len(kinds)
    before = kinds[0] if kinds else 0
    for index in range(1, end):
        kind = kinds[index]
        is_cut = (before == digit) != (kind == digit)
        if not is_cut and kind == capital:
            is_cut = before != capital or (
                index + 1 < end and kinds[index + 1] == small and not _is_plural(word, index + 1)
            )
        if is_cut:
            found.append(word[start:index])
            start = index
        before = kind
    found.append(word[start:])
    return found


def stem(word: str) -> str:
    """A lower-case word without its ending."""
    found = _stem_cache.get(word)
    if found is None:
        found = _stem_cache[word] = _stemmed(word)
    return found


def split(word: str) -> tuple[str, ...]:
    """Like `word_terms`, without its cache."""
    if len(word) > LONGEST:
        return ()
    lowered = word.lower()
    if word == lowered and word.isalpha():
        return (stem(word),)
    pieces = parts(word)
    found = [stem(piece.lower()) for piece in pieces]
    if len(pieces) > 1:
        found.append(lowered)
    return tuple(found)


def _stemmed(word: str) -> str:
    if len(word) <= _MIN_STEM or not word.isascii():
        return word
    for ending, replacement in _ENDINGS_BY_LETTER.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) + len(replacement) >= _MIN_STEM:
            if ending == "s" and word.endswith("ss"):
                continue
            word = word[: len(word) - len(ending)] + replacement
            break
    if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "slz":
        word = word[:-1]
    return word[:-1] if len(word) > _MIN_STEM and word[-1] == "e" else word


def _is_plural(word: str, index: int) -> bool:
    """Whether the character is an `s` that ends a run of capitals, as in `parseURLs`."""
    return word[index] == "s" and (index + 1 == len(word) or word[index + 1].isupper())
