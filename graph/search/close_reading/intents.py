"""Whether a question asks for documents or for tests. Otherwise, code that does something comes before both."""

from __future__ import annotations

from typing import Final

from golore.graph.search.terms import words

_DOCUMENTS: Final = frozenset(
    "adr adrs changelog changelogs decision decisions doc docs document documentation documented documents guide "
    "guides howto markdown readme readmes rfc tutorial tutorials".split()
)
_TESTS: Final = frozenset("bench benchmark benchmarks example examples fuzz test tested testing tests".split())


def asks_for_documents(text: str) -> bool:
    return not _DOCUMENTS.isdisjoint(_lower_words(text)) or ".md" in text.lower()


def without_document_words(text: str) -> str:
    """The text without the words that ask for documents: a document seldom says that it is one."""
    return " ".join(word for word in text.split() if _DOCUMENTS.isdisjoint(_lower_words(word))) or text


def asks_for_tests(text: str) -> bool:
    return not _TESTS.isdisjoint(_lower_words(text)) or "_test" in text.lower()


def _lower_words(text: str) -> set[str]:
    return {word.lower() for word in words(text)}
