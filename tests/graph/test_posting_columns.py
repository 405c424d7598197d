"""Postings that are collected as columns are those that are made term by term, whoever collected them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from golore.graph.search import posting_columns
from golore.graph.search.posting_columns import (
    ColumnBuilder,
    PostingColumns,
    SavedColumns,
    open_columns,
    save_columns,
    sorted_postings,
)
from golore.graph.search.postings import PostingLists, packed_counts
from golore.graph.search.term_counts import as_words, name_counts, packed_terms, term_counts
from golore.graph.search.terms import parts, terms, words

DOCUMENTS = {
    number: {f"term{chance.randrange(60)}": chance.randrange(1, 1_023) for _ in range(chance.randrange(30))}
    for chance in (random.Random(7),)
    for number in range(1, 120)
}
TEXTS = (
    "",
    "func (s *HTTPServer2) parseURLs(x int) error // validating validators: 0x1F, tokens_of_a snake",
    "Größe des ΣΑΣ Puffers: naïve 東京タワー\u3000foo\u00a0bar x\u0301y İstanbul",
    "word " * 500 + "otherWord other word " * 300,
    "a" * 61 + " " + "b" * 60,
)


def expected() -> list[tuple[str, bytes]]:
    lists = PostingLists()
    for number, counts in sorted(DOCUMENTS.items()):
        lists.add(number, counts)
    return list(lists.rows())


def columns(parts: int) -> list[PostingColumns]:
    builders = [ColumnBuilder() for _ in range(parts)]
    for number, counts in reversed(DOCUMENTS.items()):
        builders[number % parts].add(number, counts, counts.values())
    return [builder.columns() for builder in builders]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
def test_columns_of_any_number_of_parts_give_the_same_postings(
    parts: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_columns, "_RANGE", at_once)
    assert list(sorted_postings(columns(parts))) == expected()


def test_saved_columns_are_read_as_they_were(tmp_path: Path) -> None:
    saved: list[PostingColumns | SavedColumns] = [
        save_columns(str(tmp_path / str(number)), part) for number, part in enumerate(columns(2))
    ]
    assert list(sorted_postings([open_columns(part) for part in saved])) == expected()


def test_parts_without_keys_have_no_postings(tmp_path: Path) -> None:
    empty = ColumnBuilder().columns()
    assert list(sorted_postings([])) == []
    assert list(sorted_postings([empty, open_columns(save_columns(str(tmp_path / "empty"), empty))])) == []


@pytest.mark.parametrize("text", TEXTS)
def test_counted_terms_are_the_terms_of_the_text_in_their_order(text: str) -> None:
    found = term_counts(text.encode())
    assert list(found.items()) == list(Counter(terms(text)).items())
    assert name_counts(text.split()) == found


@pytest.mark.parametrize("text", TEXTS)
def test_a_name_as_words_has_all_its_parts(text: str) -> None:
    assert as_words(text) == " ".join(part.lower() for word in words(text) for part in parts(word))


def test_invalid_utf8_separates_words() -> None:
    assert term_counts(b"one\xfftwo \xe2\x82 four") == {"one": 1, "two": 1, "four": 1}


def test_counts_of_text_path_and_names_are_packed_and_capped() -> None:
    in_text, in_path, in_names = {"a": 5_000, "b": 2}, {"b": 1, "c": 9}, {"c": 3, "d": 99}
    assert list(packed_terms(in_text, in_path, in_names).items()) == [
        ("a", packed_counts(5_000)),
        ("b", packed_counts(2, 1)),
        ("c", packed_counts(0, 9, 3)),
        ("d", packed_counts(0, 0, 99)),
    ]
