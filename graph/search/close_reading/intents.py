"""What a question asks for: documents, tests, or the place where something is done. Code that does something comes
before documents and tests that nobody asked for."""

from __future__ import annotations

from typing import Final

from golore.graph.search.terms import STOP_WORDS, stem, words

_DOCUMENTS: Final = frozenset(
    "adr adrs changelog changelogs decision decisions doc docs document documentation documented documents guide "
    "guides howto markdown readme readmes rfc tutorial tutorials".split()
)
_TESTS: Final = frozenset("bench benchmark benchmarks example examples fuzz test tested testing tests".split())

_PLACES: Final = frozenset(("where", "wherever"))
_CODE: Final = frozenset("code file function method package part".split())
_IRREGULAR: Final = frozenset(
    "begun bound built chosen cut done drawn fed found given held hidden hit kept known left lost made met put "
    "read run sent set shut shown split spread taken thrown told understood woken written".split()
)


def asks_for_documents(text: str) -> bool:
    return not _DOCUMENTS.isdisjoint(_lower_words(text)) or ".md" in text.lower()


def without_document_words(text: str) -> str:
    """The text without the words that ask for documents: a document seldom says that it is one."""
    return " ".join(word for word in text.split() if _DOCUMENTS.isdisjoint(_lower_words(word))) or text


def asks_for_tests(text: str) -> bool:
    return not _TESTS.isdisjoint(_lower_words(text)) or "_test" in text.lower()


def asked_actions(text: str) -> frozenset[str]:
    """If a question asks where something is done, or which code does it, the terms of what is done: `redirect` of
    "where are requests redirected". Else, or if no verb is recognized, nothing."""
    written = [word.lower() for word in words(text)]
    if not written or not (written[0] in _PLACES or (written[0] == "which" and not _CODE.isdisjoint(written[1:2]))):
        return frozenset()
    verbs = [word for word in written if (word.endswith("ed") or word in _IRREGULAR) and word not in STOP_WORDS]
    return frozenset(map(stem, verbs[-1:]))


def _lower_words(text: str) -> set[str]:
    return {word.lower() for word in words(text)}
