"""Tokens of Go text: what is read byte by byte and what a regular expression reads are one language."""

from __future__ import annotations

import pytest
from golore.learner.extraction import lexer as t
from golore.learner.extraction.lexer import tokens_of


def read(source: str) -> list[tuple[int, str, int]]:
    """Kind, text and line of each token before the end."""
    data = source.encode()
    found = tokens_of(data, 0, len(data), 1)
    assert found.kinds[-4:] == [t.END] * 4
    assert len(found.kinds) == len(found.texts) == len(found.lines)
    rows = zip(found.kinds, found.texts, found.lines, strict=True)
    return [(kind, text.decode(), line) for kind, text, line in rows][:-4]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('""', t.STRING),
        ('"plain"', t.STRING),
        ('"é // no comment"', t.STRING),
        (r'"a\"b\\"', t.STRING),
        ('`raw\n"`', t.STRING),
        ("'\\''", t.RUNE),
        ("0", t.INT),
        ("12345", t.INT),
        ("1_000", t.INT),
        ("0x1F", t.INT),
        ("0b101", t.INT),
        ("1.5", t.FLOAT),
        ("1.", t.FLOAT),
        (".5", t.FLOAT),
        ("1e9", t.FLOAT),
        ("1e+9", t.FLOAT),
        ("0x1p-2", t.FLOAT),
        ("12i", t.IMAGINARY),
        ("name", t.NAME),
        ("func1", t.NAME),
        ("fallthroughs", t.NAME),
        ("Break", t.NAME),
        ("ñ", t.NAME),
        ("break", t.BREAK),
        ("fallthrough", t.FALLTHROUGH),
        ("go", t.GO),
        ("interface", t.INTERFACE),
        (":=", t.DEFINE),
        ("&^=", t.UPDATE),
        ("<<", t.SHIFT),
        ("...", t.ELLIPSIS),
        ("/", t.DIVIDE),
        (".", t.DOT),
    ],
)
def test_a_text_that_is_one_token_is_read_as_one(source: str, kind: int) -> None:
    assert read(source) == [(kind, source, 1)]


def test_a_string_or_a_number_ends_where_go_says() -> None:
    assert [text for _, text, _ in read('f("a"+"b\\n",1)[12:34].x')] == [
        *("f", "(", '"a"', "+", '"b\\n"', ",", "1", ")", "[", "12", ":", "34", "]", ".", "x")
    ]


@pytest.mark.parametrize("source", ['"open', '"open\n"', "`open", "'"])
def test_text_that_does_not_end_is_unknown(source: str) -> None:
    assert t.UNKNOWN in [kind for kind, _, _ in read(source)]


def test_comments_are_no_tokens_but_one_with_a_line_break_ends_a_statement() -> None:
    source = "a // one\nb /* two */ c /* three\nfour */ d\n// five\n// six"
    assert read(source) == [
        (t.NAME, "a", 1),
        (t.SEMICOLON, "\n", 1),
        (t.NAME, "b", 2),
        (t.NAME, "c", 2),
        (t.SEMICOLON, "/* three\nfour */", 2),
        (t.NAME, "d", 3),
        (t.SEMICOLON, "\n", 3),
    ]


def test_lines_are_counted_in_raw_strings_and_beyond_small_numbers() -> None:
    source = "x\n" * 300 + "`a\nb`\ny"
    assert read(source)[-3:] == [(t.STRING, "`a\nb`", 301), (t.SEMICOLON, "\n", 302), (t.NAME, "y", 303)]
