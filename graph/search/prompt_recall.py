"""Recall: the few files and notes that contain the rarest words of a prompt, or nothing.

Most prompts recall nothing. A file is recalled only if it has most of the prompt's words that are rare in this
repository, at least two of them in its path or in the names it declares. A file ranks lower if its path lacks words of
the prompt that the paths of others have. Files that were modified recently rank a little higher, and tests a little
lower, unless the prompt speaks of tests. In the end a few numbers tell how sure all this is, and doubt means silence.

The hook process imports this module and must start quickly, so it imports only SQLite, small modules written in C, and
`terms`.
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
"""Maximum characters of the answer to a prompt."""
_MAX_PROMPT = 4_000
_MAX_TERMS = 60
_MAX_RARE_TERMS = 8
_RARE_SHARE = 0.3
"""A word is rare if at most this share of all files has it, or at most `_ALWAYS_RARE` files."""
_ALWAYS_RARE = 8
_MIN_TERMS = 2
"""Rare words that a file or note must have; those of a file in its path or its declared names."""
_MIN_NOTE_SCORE = 0.3
"""Share of the rare words' total weight that a note must reach."""
_MIN_COVER = 0.5
"""Like it, for a file."""
_PATH_SHARE = 0.5
"""How much of its score a file loses if its path has none of the words that some path has."""
_CONFIDENCE = (-0.1, 1.7, 0.3, -2.0, 1.5)
_MIN_CONFIDENCE = 0.7
"""Weights of a logistic regression: constant, how much the rare words say (logarithm), files that fit nearly as well
(at most four), the best of the others compared with the best, share of the rare words in the best one's path. Fitted
and chosen with the subjects of 661 commits of hugo, etcd and prometheus as prompts, so that what is recalled is among
the changed files in 80 % of the cases in each; `benchmarks/RESULTS.md` has how other repositories fared."""
_SATURATION = 3.0
_MAX_CANDIDATES = 40
_NEAR_SHARE = 0.5
"""Besides the best file, only files with this share of its score are recalled."""
_MAX_NOTES = 2
_MAX_FILES = 3
_MAX_NEAR = 10
"""If more files than this fit nearly as well, the prompt is about none of them in particular."""
_COUNTED_NEAR = 4
_RECENT_SECONDS = 24 * 3600
_RECENT_FACTOR, _OTHER_FACTOR = 1.25, 0.7
"""For files that were modified recently, and for tests if the prompt is not about tests, or for others if it is."""
_TEST_WORDS = frozenset(("test", "tests", "testing", "tested", "flaky", "flake", "flaking"))
_POSTING_SIZE = 6


class Recalled:
    """A file or a note, with its score. `text` is empty for a file, whose card is stored elsewhere."""

    __slots__ = ("path", "text", "worth")

    def __init__(self, path: str, text: str, worth: float) -> None:
        self.path = path
        self.text = text
        self.worth = worth

    def __repr__(self) -> str:
        return f"Recalled({self.path!r}, {self.text!r}, {self.worth:.2f})"


def recalled(store: str, root: str, prompt: str, wait: float = 0.25) -> list[Recalled]:
    """The notes, then the files that a prompt recalls, each best first; empty without an index or a good match."""
    terms = _prompt_terms(prompt)
    path = f"{store}/cache.db"
    if len(terms) < _MIN_TERMS or not os.path.exists(path):  # noqa: PTH110  a hook does without pathlib
        return []
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        is_about_tests = not _TEST_WORDS.isdisjoint(prompt[:_MAX_PROMPT].lower().replace(":", " ").split())
        return _recall(connection, root, terms, is_about_tests)
    except sqlite3.OperationalError:
        return []  # no index yet, or one of another version
    finally:
        connection.close()


def _prompt_terms(prompt: str) -> list[str]:
    """The terms of a prompt that count, each once; of a name with several parts only the whole."""
    found: dict[str, None] = {}
    for word in words(prompt[:_MAX_PROMPT]):
        if word.lower() in STOP_WORDS or word.isdigit() or len(word) < 3:
            continue
        for term in word_terms(word)[-1:]:
            found[term] = None
    return list(found)[:_MAX_TERMS]


def _recall(connection: sqlite3.Connection, root: str, terms: list[str], is_about_tests: bool) -> list[Recalled]:
    (total,) = connection.execute("SELECT count(*) FROM search_files").fetchone()
    placeholders = ",".join("?" * len(terms))
    statement = f"SELECT term, length(postings) FROM search_terms WHERE room = 0 AND term IN ({placeholders})"
    document_counts = {term: size // _POSTING_SIZE for term, size in connection.execute(statement, terms)}
    rare = sorted(
        (number, term) for term, number in document_counts.items() if number <= max(_ALWAYS_RARE, total * _RARE_SHARE)
    )
    if len(rare) < _MIN_TERMS:
        return []
    weights = {term: log(1 + (total - number + 0.5) / (number + 0.5)) for number, term in rare[:_MAX_RARE_TERMS]}
    said = sum(weights.values()) / log(total + 2)
    return [*_notes(connection, weights), *_files(connection, root, weights, said, is_about_tests)]


def _files(
    connection: sqlite3.Connection, root: str, weights: dict[str, float], said: float, is_about_tests: bool
) -> list[Recalled]:
    """`said`: how much the rare words say, in units of a word that is in no other file."""
    scores: dict[int, float] = {}
    cover: dict[int, float] = {}
    in_path: dict[int, float] = {}
    named_terms: dict[int, int] = {}
    path_terms: set[str] = set()
    for term, weight in weights.items():
        for file, counts in _postings(connection, 0, term):
            # A word in a path or a declared name says more than one in the text.
            times = (counts & 1023) + 6 * (counts >> 10 & 3) + 2 * (counts >> 12)
            scores[file] = scores.get(file, 0.0) + weight * times / (times + _SATURATION)
            cover[file] = cover.get(file, 0.0) + weight
            named_terms[file] = named_terms.get(file, 0) + (counts > 1023)
            if counts >> 10 & 3:
                in_path[file] = in_path.get(file, 0.0) + weight
                path_terms.add(term)
    path_weight = sum(weights[term] for term in path_terms)
    if path_weight:
        for file in scores:
            scores[file] *= 1.0 - _PATH_SHARE * (1.0 - in_path.get(file, 0.0) / path_weight)
    rated, total_weight = _rated(connection), sum(weights.values())
    others = [0.0]
    found: list[tuple[Recalled, int]] = []
    for file in sorted(scores, key=lambda one: (-scores[one], one))[:_MAX_CANDIDATES]:
        row = connection.execute("SELECT path, flags FROM search_files WHERE id = ?", (file,)).fetchone()
        if row is None or row[1] & 2:
            continue
        value = scores[file] / total_weight * (1.0 if bool(row[1] & 1) == is_about_tests else _OTHER_FACTOR)
        value *= (_RECENT_FACTOR if _is_recent(f"{root}/{row[0]}") else 1.0) * (1.0 + rated.get(row[0], 0.0))
        if cover[file] >= _MIN_COVER * total_weight and named_terms[file] >= _MIN_TERMS:
            found.append((Recalled(row[0], "", value), file))
        else:
            others.append(value)
    if not found:
        return []
    found.sort(key=lambda one: (-one[0].worth, one[0].path))
    best, file = found[0]
    near = [one for one, _ in found if one.worth >= _NEAR_SHARE * best.worth]
    others += [one.worth for one, _ in found[len(near) :]]
    constant, by_said, by_near, by_other, by_path = _CONFIDENCE
    confidence = constant + by_said * log(said) + by_near * min(len(near), _COUNTED_NEAR)
    confidence += by_other * max(others) / best.worth + by_path * in_path.get(file, 0.0) / total_weight
    return near[:_MAX_FILES] if len(near) <= _MAX_NEAR and confidence >= _MIN_CONFIDENCE else []


def _notes(connection: sqlite3.Connection, weights: dict[str, float]) -> list[Recalled]:
    """Notes that have at least two of the rarest words. There are few notes, so less is required than of files."""
    scores: dict[int, float] = {}
    term_counts: dict[int, int] = {}
    for term, weight in weights.items():
        for text, _ in _postings(connection, 2, term):
            scores[text] = scores.get(text, 0.0) + weight
            term_counts[text] = term_counts.get(text, 0) + 1
    least = _MIN_NOTE_SCORE * sum(weights.values())
    found: list[Recalled] = []
    for text in sorted(scores, key=lambda one: (-scores[one], one)):
        if term_counts[text] < _MIN_TERMS or scores[text] < least:
            continue
        statement = "SELECT name, title, text FROM search_texts WHERE id = ? AND kind = 'note'"
        for name, title, body in connection.execute(statement, (text,)):
            found.append(Recalled(name, f"{title}\n{body}"[: CHARACTERS // 3], scores[text]))
        if len(found) >= _MAX_NOTES:
            break
    return found


def _postings(connection: sqlite3.Connection, room: int, term: str) -> Iterable[tuple[int, int]]:
    statement = "SELECT postings FROM search_terms WHERE term = ? AND room = ?"
    for (data,) in connection.execute(statement, (term, room)):
        documents, counts = array("I"), array("H")
        documents.frombytes(data[: len(data) // _POSTING_SIZE * 4])
        counts.frombytes(data[len(data) // _POSTING_SIZE * 4 :])
        return zip(documents, counts, strict=True)
    return ()


def _rated(connection: sqlite3.Connection) -> dict[str, float]:
    """Item → effect of its ratings on its score (see `knowledge.ratings`), as of the last update of the index."""
    try:
        return dict(connection.execute("SELECT item, worth FROM search_ratings"))
    except sqlite3.OperationalError:
        return {}


def _is_recent(path: str) -> bool:
    try:
        return time() - os.stat(path).st_mtime < _RECENT_SECONDS  # noqa: PTH116
    except OSError:
        return False
