"""What a prompt may be about: the few files and notes that have its rarest words, or nothing.

Silence is the rule. Something is recalled only where a file has most of the prompt's words that are rare in this
repository, at least two of them in its path or in what it declares, and few other files have as many. Files that were
touched lately and do not test stand a little higher.

A hook reads this and must start quickly, so nothing is imported here but SQLite and small modules written in C; nothing
else of golore but `words`.
"""

from __future__ import annotations

import os
from array import array
from math import log
from time import time

from golore.graph.search.terms import STOP_WORDS, word_terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:
        import sqlite3

CHARACTERS = 1_500
"""All that a prompt is answered with, at most."""
_LONGEST_PROMPT = 4_000
_MOST_TERMS = 60
_RAREST = 8
_RARE = 0.3
"""Words that are in more than this share of all files say nothing; in a small repository, those in a handful do."""
_HANDFUL = 8
_MEETING = 2
_ENOUGH = 0.3
"""Of all that the words could say, the share that a file must have, counted by how often it has them."""
_COVER = 0.5
"""The same, counted by whether it has them."""
_SAYS = 1.1
"""How much a file must say all in all: so many words that are in no other file, each fully. With the subjects of
commits as prompts (four repositories, 807 prompts), something was recalled for 41 %, and in 62 % of those it was among
the files that were changed then."""
_SATED = 3.0
_LOOKED_AT = 40
_NEARLY = 0.75
"""Beside the best, only files with this share of what it has."""
_MOST_FILES = 3
_TOO_MANY = 5
"""Files that fit nearly as well, from which on the prompt is about none of them in particular."""
_LATELY = 24 * 3600
_TOUCHED, _TEST = 1.25, 0.7
_SIZE = 6


class Recalled:
    """A file or a note, with what it is worth; `text` is empty for a file, whose card is known elsewhere."""

    __slots__ = ("path", "text", "worth")

    def __init__(self, path: str, text: str, worth: float) -> None:
        self.path = path
        self.text = text
        self.worth = worth

    def __repr__(self) -> str:
        return f"Recalled({self.path!r}, {self.text!r}, {self.worth:.2f})"


def recalled(store: str, root: str, prompt: str, wait: float = 0.25) -> list[Recalled]:
    """The best first; nothing where there is no index or nothing is good enough."""
    asked = _asked(prompt)
    path = f"{store}/cache.db"
    if len(asked) < _MEETING or not os.path.exists(path):  # noqa: PTH110  a hook does without pathlib
        return []
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        return _found(connection, root, asked)
    except sqlite3.OperationalError:
        return []  # no index yet, or one of another kind
    finally:
        connection.close()


def _asked(prompt: str) -> list[str]:
    """The terms that count, each once, a name only as a whole where it has parts."""
    found: dict[str, None] = {}
    for word in words(prompt[:_LONGEST_PROMPT]):
        if word.lower() in STOP_WORDS or word.isdigit() or len(word) < 3:
            continue
        for term in word_terms(word)[-1:]:
            found[term] = None
    return list(found)[:_MOST_TERMS]


def _found(connection: sqlite3.Connection, root: str, asked: list[str]) -> list[Recalled]:
    (total,) = connection.execute("SELECT count(*) FROM search_files").fetchone()
    marks = ",".join("?" * len(asked))
    statement = f"SELECT term, length(postings) FROM search_terms WHERE room = 0 AND term IN ({marks})"
    numbers = {term: size // _SIZE for term, size in connection.execute(statement, asked)}
    rare = sorted((number, term) for term, number in numbers.items() if number <= max(_HANDFUL, total * _RARE))
    if len(rare) < _MEETING:
        return []
    weights = {term: log(1 + (total - number + 0.5) / (number + 0.5)) for number, term in rare[:_RAREST]}
    return [*_notes(connection, weights), *_files(connection, root, total, weights)]


def _files(connection: sqlite3.Connection, root: str, total: int, weights: dict[str, float]) -> list[Recalled]:
    worth: dict[int, float] = {}
    cover: dict[int, float] = {}
    meeting: dict[int, int] = {}
    for term, weight in weights.items():
        for file, counts in _postings(connection, 0, term):
            # In a path or a declared name it says more than somewhere in the text.
            times = (counts & 1023) + 6 * (counts >> 10 & 3) + 2 * (counts >> 12)
            worth[file] = worth.get(file, 0.0) + weight * times / (times + _SATED)
            cover[file] = cover.get(file, 0.0) + weight
            meeting[file] = meeting.get(file, 0) + (counts > 1023)
    favour, whole = _favour(connection), sum(weights.values())
    found: list[Recalled] = []
    for file in sorted(worth, key=lambda one: (-worth[one], one))[:_LOOKED_AT]:
        row = connection.execute("SELECT path, flags FROM search_files WHERE id = ?", (file,)).fetchone()
        if row is None or row[1] & 2:
            continue
        value = worth[file] / whole * (_TEST if row[1] & 1 else 1.0)
        value *= (_TOUCHED if _is_touched(f"{root}/{row[0]}") else 1.0) * (1.0 + favour.get(row[0], 0.0))
        says = value * whole / log(total + 2)
        if says >= _SAYS and value >= _ENOUGH and cover[file] >= _COVER * whole and meeting[file] >= _MEETING:
            found.append(Recalled(row[0], "", value))
    found.sort(key=lambda one: (-one.worth, one.path))
    near = [one for one in found if one.worth >= _NEARLY * found[0].worth]
    return near[:_MOST_FILES] if len(near) <= _TOO_MANY else []


def _notes(connection: sqlite3.Connection, weights: dict[str, float]) -> list[Recalled]:
    """Notes in which the rarest words meet. There are few of them, so that one word less is enough."""
    worth: dict[int, float] = {}
    meeting: dict[int, int] = {}
    for term, weight in weights.items():
        for text, _ in _postings(connection, 2, term):
            worth[text] = worth.get(text, 0.0) + weight
            meeting[text] = meeting.get(text, 0) + 1
    least = _ENOUGH * sum(weights.values())
    found: list[Recalled] = []
    for text in sorted(worth, key=lambda one: (-worth[one], one)):
        if meeting[text] < _MEETING or worth[text] < least:
            continue
        statement = "SELECT name, title, text FROM search_texts WHERE id = ? AND kind = 'note'"
        for name, title, body in connection.execute(statement, (text,)):
            found.append(Recalled(name, f"{title}\n{body}"[: CHARACTERS // 3], worth[text]))
        if len(found) >= _MEETING:
            break
    return found


def _postings(connection: sqlite3.Connection, room: int, term: str) -> Iterable[tuple[int, int]]:
    statement = "SELECT postings FROM search_terms WHERE term = ? AND room = ?"
    for (data,) in connection.execute(statement, (term, room)):
        documents, counts = array("I"), array("H")
        documents.frombytes(data[: len(data) // _SIZE * 4])
        counts.frombytes(data[len(data) // _SIZE * 4 :])
        return zip(documents, counts, strict=True)
    return ()


def _favour(connection: sqlite3.Connection) -> dict[str, float]:
    """What ratings add to a file (see `rating`), as they were when the index was last told."""
    try:
        return dict(connection.execute("SELECT item, worth FROM search_ratings"))
    except sqlite3.OperationalError:
        return {}


def _is_touched(path: str) -> bool:
    try:
        return time() - os.stat(path).st_mtime < _LATELY  # noqa: PTH116
    except OSError:
        return False
