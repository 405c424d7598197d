"""Checks what golore says of uses that do not exist: "no use", "no test", "only tests", against the type checker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from golore.graph.cards.card_text import file_texts, symbol_texts
from golore.graph.cards.card_users import Users
from golore.graph.database.store import Store
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.surrounding_facts import surrounding_facts
from golore.graph.queries.file_facts import WholeGraph
from golore.learner.audit.go_judge import Truth
from golore.learner.audit.scores import DeclarationLocation, location, simple_name

_Declared = tuple[DeclarationLocation, str]
"""Location and simple name."""


class Claims(NamedTuple):
    """The number of claims that were checked, and the false ones."""

    checked: int
    false: list[str]


class _Judge:
    """The files in which the type checker found uses of each declaration, also calls through interfaces."""

    def __init__(self, truth: Truth) -> None:
        self.judged = frozenset(file.path for file in truth.files if not file.broken)
        self.users: defaultdict[_Declared, set[str]] = defaultdict(set)
        for call in truth.calls:
            self._add(call.callee, call.callee_file, call.callee_line, call.caller, call.file, call.caller_line)
        for use in truth.uses:
            self._add(use.target, use.target_file, use.target_line, use.user, use.file, use.user_line)
        interfaces: defaultdict[DeclarationLocation, dict[str, set[str]]] = defaultdict(dict)
        for call in truth.calls:
            if call.kind == "interface":
                owner = call.callee.rpartition(".")[0]
                interfaces[owner, 0].setdefault(simple_name(call.callee), set()).add(call.file)
        self.through: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
        for fact in truth.implements:
            for method, files in interfaces[fact.interface, 0].items():
                self.through[fact.type_name].setdefault(method, set()).update(files)

    def _add(self, name: str, file: str, line: int, user: str, user_file: str, user_line: int) -> None:
        declared = (location(name, file, line), simple_name(name))
        if declared != ((user_file, user_line), simple_name(user)):
            self.users[declared].add(user_file)

    def files(self, qualified_name: str, name: str, file: str, line: int) -> set[str]:
        owner, _, method = qualified_name.rpartition(".")
        return self.users[(file, line), name] | self.through[owner].get(method, set())


def check_claims(store: Store, truth: Truth) -> Claims:
    """Check what summaries, symbol lines and cards say of each symbol in the files that were type-checked."""
    judge = _Judge(truth)
    checked = 0
    false: list[str] = []
    graph = WholeGraph(store)
    for path in sorted(judge.judged & graph.files.keys()):
        facts = graph.take_facts(path)
        users = Users(facts, {})
        used: set[str] = set()
        for symbol in facts.symbols:
            used |= judge.files(symbol.qualified_name, symbol.name, symbol.file, symbol.line) - {path}
        for claim, holds in _card_claims(file_texts(facts, None, users)[0], used):
            checked += 1
            false += [] if holds else [f"{path}: {claim!r}, but see {sorted(used)[:3]}"]
        wanted = [symbol for symbol in facts.symbols if symbol.name != "_"]
        texts = dict(symbol_texts(facts, wanted, users))
        for symbol in wanted:
            found = judge.files(symbol.qualified_name, symbol.name, symbol.file, symbol.line)
            for claim, holds in _symbol_claims(texts.get(symbol, ""), found, path):
                checked += 1
                false += [] if holds else [f"{symbol.qualified_name}: {claim!r}, but see {sorted(found)[:3]}"]
    for id, name, qualified_name, file, line in list(
        store.rows("MATCH (s:Symbol) WHERE s.name <> '_' RETURN s.id, s.name, s.qualified_name, s.file, s.line")
    ):
        if file in judge.judged:
            found = judge.files(qualified_name, name, file, line)
            texts_of = (structural_summary(store, "symbol", id), surrounding_facts(store, "symbol", id))
            for claim, holds in _summary_claims(" ".join(texts_of), found):
                checked += 1
                false += [] if holds else [f"{id}: {claim!r}, but see {sorted(found)[:3]}"]
    return Claims(checked, false)


def _is_test(file: str) -> bool:
    return file.endswith("_test.go")


def _card_claims(text: str, used: set[str]) -> Iterator[tuple[str, bool]]:
    claim = "No test is known that uses it directly."
    if claim in text:
        yield claim, not any(map(_is_test, used))


def _symbol_claims(text: str, used: set[str], path: str) -> Iterator[tuple[str, bool]]:
    if "no use in other files is known" in text:
        yield "no use in other files is known", used <= {path}


def _summary_claims(text: str, used: set[str]) -> Iterator[tuple[str, bool]]:
    text = text.lower()
    if "no use of it is known" in text:
        yield "no use of it is known", not used
    if "only tests use it" in text:
        yield "only tests use it", all(map(_is_test, used))
    if "no test is known to call it" in text:
        yield "no test is known to call it", not any(map(_is_test, used))
