"""The signals of a search: for each signal and file, a number that says how well the file fits, from the search index.

A signal is between 0 and 1, where 1 is the best file of this question, or a file that has all of the question;
`weights` has the weight of each. Sums are made in the order of the question's terms and of the commits, so that the
numbers do not depend on how the index was built.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from math import log, log1p
from typing import Final, NamedTuple

from golore.graph.history.co_change import HALF_LIFE, RECENT
from golore.graph.search.index import COMMITS, FILES, HISTORY, SearchIndex
from golore.graph.search.index_entries import PATH_WEIGHT, FileRow, TextRow
from golore.graph.search.past_commits import CommitArrays, unpacked, without_numbers
from golore.graph.search.terms import STOP_WORDS, folded, terms, word_terms, words

Signal = dict[int, float]
_K1: Final = 1.2
"""BM25: how soon repetitions of a word stop counting; below, how much the length of a document counts against it."""
_TEXT_B: Final = 0.75
_PATH_B: Final = 0.3
_NAME_B: Final = 0.6
_PAST_B: Final = 0.5
_MANY_FILES, _COMMON_SHARE, _FEW_TERMS = 2_000, 0.4, 3
"""In a repository of more than `_MANY_FILES`, a question of more than `_FEW_TERMS` skips the terms that are in more
than `_COMMON_SHARE` of all files: they say nothing, and took half of the time."""
_CLOSENESS_EXPONENT: Final = 3
"""Exponent: a commit half as close to the question as the closest one counts an eighth."""


class CommitView(NamedTuple):
    """A history, prepared for questions: its files are numbers of files in an index. `subjects` and `busy` are indexed
    by these, the other lists by commit."""

    weights: array[float]
    """of each commit, lower with its age"""
    files: list[list[int]]
    """of each commit, those that exist"""
    lengths: list[int]
    subjects: list[int]
    """terms in all subjects of a file's commits"""
    busy: list[float]
    """how often a file changed recently, 1 for the busiest"""
    changed_files: int
    """number of files that some commit changed"""


class IndexView(NamedTuple):
    """The files of an index. Lists are indexed by the files' numbers, which have gaps."""

    files: dict[int, FileRow]
    numbers: dict[str, int]
    """by path"""
    norms: list[float]
    path_norms: list[float]
    name_norms: list[float]
    past: CommitView
    called: dict[str, list[int]]
    """numbers by file name, folded, without `.go`"""
    texts: dict[int, TextRow]
    """packages, notes, documents and summaries"""


class Question(NamedTuple):
    """The terms of a question, each once, and those of the area before a colon, as in `store: keep keys in order`.
    `others` are further forms of its words, with the part of a term's weight that each has."""

    terms: tuple[str, ...]
    area: tuple[str, ...] = ()
    others: tuple[tuple[str, float], ...] = ()


def view_of(index: SearchIndex) -> IndexView:
    files = {row.id: row for row in index.files()}
    size = max(files, default=0) + 1
    numbers = {row.path: row.id for row in files.values()}
    return IndexView(
        files,
        numbers,
        _norms(files.values(), [row.length for row in files.values()], _TEXT_B, size),
        _norms(files.values(), [row.path_length for row in files.values()], _PATH_B, size),
        _norms(files.values(), [row.name_length for row in files.values()], _NAME_B, size),
        _commit_view(unpacked(index.meta(HISTORY)), numbers, size),
        _by_file_name(files.values()),
        {row.id: row for row in index.text_rows()},
    )


def _commit_view(work: CommitArrays, numbers: Mapping[str, int], size: int) -> CommitView:
    """Prepare a history for an index. `numbers` are the files' numbers by path, all below `size`."""
    file_numbers = [numbers.get(path, -1) for path in work.paths]
    subjects, recent = [0] * size, [0.0] * size
    weights = array("d", [0.5 ** (age / HALF_LIFE) for age in work.ages])
    files: list[list[int]] = []
    touched = [file_numbers[position] for position in work.files]
    starts, lengths = work.starts, work.lengths
    for number, age in enumerate(work.ages):
        changed = touched[starts[number] : starts[number + 1]]
        if -1 in changed:
            changed = [file for file in changed if file >= 0]
        files.append(changed)
        length, recency = lengths[number], 0.5 ** (age / RECENT)
        for file in changed:
            subjects[file] += length
            recent[file] += recency
    busy = [log1p(value) for value in recent]
    largest = max(busy, default=0.0) or 1.0
    changed_files = sum(1 for length in subjects if length)
    return CommitView(weights, files, lengths, subjects, [value / largest for value in busy], changed_files)


def _by_file_name(files: Iterable[FileRow]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for file in files:
        found.setdefault(folded(file.path.rpartition("/")[2].removesuffix(".go")), []).append(file.id)
    return found


def _norms(files: Iterable[FileRow], lengths: list[int], b: float, size: int) -> list[float]:
    norms = [_K1] * size
    average = sum(lengths) / len(lengths) if lengths else 0.0
    for file, length in zip(files, lengths, strict=True):
        norms[file.id] = _norm(length, average, b)
    return norms


def _norm(length: float, average: float, b: float) -> float:
    return _K1 * (1 - b + b * length / average) if average else _K1


def question_of(text: str) -> Question:
    cleaned = without_numbers(text)
    head, colon, _ = cleaned.partition(":")
    if "(" in head and head.endswith(")"):  # fix(store): …
        head = head.partition("(")[2]
    is_area = bool(colon) and len(head) <= _MAX_AREA and "://" not in cleaned[: len(head) + 3]
    chosen = [word for word in words(cleaned) if word.lower() not in STOP_WORDS] or words(cleaned)
    found = dict.fromkeys(term for word in chosen for term in word_terms(word))
    return Question(tuple(found), tuple(dict.fromkeys(terms(head))) if is_area else ())


_MAX_AREA: Final = 60


def rarity(documents: int, total: int) -> float:
    """The weight of a term that occurs in `documents` of `total` documents."""
    return log(1 + (total - documents + 0.5) / (documents + 0.5))


def signals_of(index: SearchIndex, view: IndexView, question: Question) -> dict[str, Signal]:
    """The signals by their names in `weights.WEIGHTS`, without `neighbours` and `meaning`, which need more than the
    index."""
    found = word_signals(index, view, question)
    found.update(_past_signals(index, view, question))
    if question.area:
        found["area"] = _area(view, question.area)
    candidates = {file for name in ("words", "commits", "subjects") for file in found[name]}
    found["busy"] = {file: view.past.busy[file] for file in candidates if view.past.busy[file]}
    return found


def word_signals(index: SearchIndex, view: IndexView, question: Question) -> dict[str, Signal]:
    total, norms = len(view.files), view.norms
    words: Signal = {}
    cover: Signal = {}
    place: Signal = {}
    path: Signal = {}
    names: Signal = {}
    total_weight = 0.0
    asked = len(question.terms)
    forms = [(term, 1.0) for term in question.terms] + list(question.others)
    for number, (term, part) in enumerate(forms):
        documents, counts = index.postings(FILES, term)
        weight = part * rarity(len(documents), total)
        if number < asked:
            total_weight += weight
        if total > _MANY_FILES and len(documents) > _COMMON_SHARE * total and len(question.terms) > _FEW_TERMS:
            continue
        in_paths: list[tuple[int, int]] = []
        in_names: list[tuple[int, int]] = []
        for file, packed in zip(documents, counts, strict=True):
            times = packed & 1023
            if packed > 1023:
                if in_path := packed >> 10 & 3:
                    times += PATH_WEIGHT * in_path
                    in_paths.append((file, in_path))
                if packed >> 12:
                    in_names.append((file, packed >> 12))
            words[file] = words.get(file, 0.0) + weight * times * (_K1 + 1) / (times + norms[file])
            cover[file] = cover.get(file, 0.0) + weight
        _add(path, in_paths, part, total, view.path_norms)
        _add(names, in_names, part, total, view.name_norms)
        for file, _ in in_paths:
            place[file] = place.get(file, 0.0) + weight
    total_weight = total_weight or 1.0
    return {
        "words": _scaled(words),
        "cover": {file: value / total_weight for file, value in cover.items()},
        "path": _scaled(path),
        "place": {file: value / total_weight for file, value in place.items()},
        "names": _scaled(names),
    }


def _add(signal: Signal, found: list[tuple[int, int]], part: float, total: int, norms: list[float]) -> None:
    weight = part * rarity(len(found), total) * (_K1 + 1)
    for file, times in found:
        signal[file] = signal.get(file, 0.0) + weight * times / (times + norms[file])


def _area(view: IndexView, area: tuple[str, ...]) -> Signal:
    """The share of the area's terms in a file's path; those in the file's own name count half."""
    wanted = set(area)
    found: Signal = {}
    shares: dict[str, tuple[int, set[str]]] = {}
    for file in view.files.values():
        directory, _, name = file.path.removesuffix(".go").rpartition("/")
        if directory not in shares:
            in_directory = wanted.intersection(terms(directory))
            shares[directory] = (len(in_directory), wanted - in_directory)
        number, missing = shares[directory]
        more = len(missing.intersection(terms(name))) if missing else 0
        if number or more:
            found[file.id] = (number + 0.5 * more) / len(wanted)
    return found


def _past_signals(index: SearchIndex, view: IndexView, question: Question) -> dict[str, Signal]:
    """From commits with similar subjects: `commits` from the closest ones, `subjects` from all commits of a file."""
    past = view.past
    close: Signal = {}
    subjects: Signal = {}
    total = len(past.files)
    average = sum(past.lengths) / total if total else 0.0
    norms = [_norm(length, average, _PAST_B) for length in past.lengths]
    per_file = sum(past.subjects) / past.changed_files if past.changed_files else 0.0
    for term in question.terms:
        documents, counts = index.postings(COMMITS, term)
        weight = rarity(len(documents), total) * (_K1 + 1)
        by_file: dict[int, int] = {}
        for commit, times in zip(documents, counts, strict=True):
            close[commit] = close.get(commit, 0.0) + weight * times / (times + norms[commit])
            for file in past.files[commit]:
                by_file[file] = by_file.get(file, 0) + times
        weight = rarity(len(by_file), len(view.files)) * (_K1 + 1)
        for file, times in by_file.items():
            value = weight * times / (times + _norm(past.subjects[file], per_file, _PAST_B))
            subjects[file] = subjects.get(file, 0.0) + value
    return {"commits": _scaled(_commit_votes(_scaled(close), past)), "subjects": _scaled(subjects)}


def _commit_votes(close: Mapping[int, float], past: CommitView) -> Signal:
    found: Signal = {}
    for commit in sorted(close):
        files = past.files[commit]
        if files:
            vote = close[commit] ** _CLOSENESS_EXPONENT * past.weights[commit] / len(files) ** 0.5
            for file in files:
                found[file] = found.get(file, 0.0) + vote
    return found


def _scaled(signal: Signal) -> Signal:
    largest = max(signal.values(), default=0.0)
    return {key: value / largest for key, value in signal.items()} if largest > 0 else {}
