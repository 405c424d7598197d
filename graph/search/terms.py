"""Text → the terms that search compares: names taken apart, small letters, no endings.

`HTTPServer`, `httpServer` and `http_server` all give `http` and `server`, the first two also themselves as a whole.
Stems are cut off by a few rules for English that treat a question and the code alike; nothing here knows synonyms. A
hook reads prompts with this, so that nothing is imported.
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    "a about all also an and any are as at be been but by can could did do does for from get had has have how i if in "
    "into is it its just like make me my new no not now of on one only or our out please set should so some such than "
    "that the their them then there these they this to up us use used using via want was we were what when where which "
    "while who why will with would you your".split()
)
"""Words that say nothing of what a question is about. They are counted all the same where other words are in the text:
what is rare in a repository counts, whatever it is in English."""
LONGEST = 60
"""Characters of a term; longer ones are hashes and encoded data."""
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
_SHORTEST = 3
"""Letters that are left of a word, at least."""
_known: dict[str, tuple[str, ...]] = {}
_MOST_KNOWN = 1 << 18
_stems: dict[str, str] = {}


def terms(text: str) -> list[str]:
    """All terms of a text, in order and as often as they occur."""
    found: list[str] = []
    for word in words(text):
        found += word_terms(word)
    return found


def words(text: str) -> list[str]:
    """Runs of letters and digits: what `[^\\W_]+` finds, without the import."""
    if text.isascii():
        return text.translate(_GAPS).split()
    return "".join(char if char.isalnum() else " " for char in text).split()


_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}


def word_terms(word: str) -> tuple[str, ...]:
    """The stems of a name's parts and, where there are several, the name as a whole."""
    found = _known.get(word)
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
            _stems.clear()
        found = _known[word] = _split(word)
    return found


def folded(name: str) -> str:
    """A name as names are compared: in small letters, without what only separates."""
    return name.lower().replace("_", "")


def parts(word: str) -> list[str]:
    """The parts of a name: `HTTPServer2` → HTTP, Server, 2."""
    found: list[str] = []
    start, last = 0, len(word)
    for at in range(1, last):
        before, here = word[at - 1], word[at]
        if before.isdigit() != here.isdigit():
            is_cut = True
        elif here.isupper():
            # A capital begins a part, unless it goes on with a run of them.
            is_cut = not before.isupper() or (at + 1 < last and word[at + 1].islower() and not _is_plural(word, at + 1))
        else:
            is_cut = False
        if is_cut:
            found.append(word[start:at])
            start = at
    found.append(word[start:])
    return found


def stem(word: str) -> str:
    """A word in small letters without its ending."""
    found = _stems.get(word)
    if found is None:
        found = _stems[word] = _stemmed(word)
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
    if len(word) <= _SHORTEST or not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _SHORTEST:
            if ending == "s" and word.endswith("ss"):
                continue
            word = word[: len(word) - len(ending)] + instead
            break
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "slz":
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST and word[-1] == "e" else word


def _is_plural(word: str, at: int) -> bool:
    """Whether an s ends a run of capitals: `parseURLs`."""
    return word[at] == "s" and (at + 1 == len(word) or word[at + 1].isupper())
