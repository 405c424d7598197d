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
_MIN_STEM = 3
"""Minimum letters of a stem."""
_word_cache: dict[str, tuple[str, ...]] = {}
_MAX_CACHED = 1 << 16
_stem_cache: dict[str, str] = {}
_encoded_cache: dict[bytes, tuple[str, ...]] = {}
"""Like `_word_cache`, for words in UTF-8, which may contain characters that separate words."""


def terms(text: str) -> list[str]:
    """All terms of a text, in order and as often as they occur."""
    found: list[str] = []
    for word in words(text):
        found += word_terms(word)
    return found


def words(text: str) -> list[str]:
    """Runs of letters and digits: what `[^\\W_]+` finds, without importing `re`."""
    if text.isascii():
        return text.translate(_SEPARATORS).split()
    return "".join(char if char.isalnum() else " " for char in text).split()


_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum()}


def word_terms(word: str) -> tuple[str, ...]:
    """The stems of a name's parts and, if there are several parts, the whole name in lower case."""
    found = _word_cache.get(word)
    if found is None:
        if len(_word_cache) >= _MAX_CACHED:
            _word_cache.clear()
            _stem_cache.clear()
        found = _word_cache[word] = _split(word)
    return found


def term_counts(occurrences: dict[bytes, int]) -> dict[str, int]:
    """Word in UTF-8 → number of occurrences, to term → number of occurrences."""
    counts: dict[str, int] = {}
    for word, times in occurrences.items():
        found = _encoded_cache.get(word)
        if found is None:
            if len(_encoded_cache) >= _MAX_CACHED:
                _encoded_cache.clear()
            found = _encoded_cache[word] = tuple(_split_all(word.decode("utf-8", "replace")))
        for term in found:
            counts[term] = counts.get(term, 0) + times
    return counts


def _split_all(text: str) -> list[str]:
    found: list[str] = []
    for word in [text] if text.isascii() else words(text):
        found += _split(word)
    return found


def folded(name: str) -> str:
    """A name in the form in which names are compared: in lower case, without underscores."""
    return name.lower().replace("_", "")


def parts(word: str) -> list[str]:
    """The parts of a name: `HTTPServer2` → HTTP, Server, 2."""
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


def stem(word: str) -> str:
    """A lower-case word without its ending."""
    found = _stem_cache.get(word)
    if found is None:
        found = _stem_cache[word] = _stemmed(word)
    return found


def _split(word: str) -> tuple[str, ...]:
    if len(word) > LONGEST:
        return ()
    lowered = word.lower()
    if word == lowered and word.isalpha():
        return (stem(word),)
    pieces = parts(word)
    stems = tuple(stem(piece.lower()) for piece in pieces)
    return (*stems, lowered) if len(pieces) > 1 else stems


def _stemmed(word: str) -> str:
    if len(word) <= _MIN_STEM or not word.isascii():
        return word
    for ending, replacement in _ENDINGS:
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
