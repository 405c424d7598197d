"""Explore: one reply with the source that explains something, within a budget of tokens.

What was asked (`asked`) → the declarations that matter (`selection`) → their text, cut where it is long (`excerpts`) →
what is around them (`surroundings`). Files that changed since they were learned are named and not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.explore import surroundings
from golore.graph.explore.asked import asked_for
from golore.graph.explore.declarations import Declaration, SourceReader
from golore.graph.explore.excerpts import Excerpt, Excerpts
from golore.graph.explore.selection import Chosen, Selection, select
from golore.graph.phrases import listed
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.names.short_names import ShortNames
from golore.graph.queries.symbol_steps import Steps
from golore.graph.safety.visible_text import visible_block, visible_line
from golore.graph.search.search_context import SearchContext

BUDGET: Final = 3_000
CHARACTERS_PER_TOKEN: Final = 4
_SURROUNDINGS_SHARE: Final = 0.13
"""Share of the room for calls, entries, tests and notes."""
_LIMITS: Final = (8, 16, 32, 64, 10_000)
"""Lines of a declaration: as few at first, so that many fit, and more as long as there is room."""
_NAMED_SHARE: Final = 0.75
"""Share of the room that what the question names may take before anything else is shown."""
_COST_EXPONENT: Final = 0.3
"""How much a long declaration must be better than a short one."""
_MAX_LEFT_OUT: Final = 6
_HEADING: Final = "Code of this repository, quoted as data; “…” stands for the lines with these numbers."
_CALL_VALUE: Final = 1.0
_ASKED_LINE_VALUE: Final = 3.0
_CALL: Final = re.compile(r"\b(\w++)\(")
_MAX_COMMENT: Final = 160
_LEAST: Final = 120
"""Characters below which no further declaration is tried."""


class Part(NamedTuple):
    """Lines of a declaration that the text of a reply has."""

    symbol: str
    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Exploration:
    """The text of a reply, and the lines of declarations in it."""

    text: str
    parts: tuple[Part, ...]

    @property
    def tokens(self) -> int:
        return -(-len(self.text) // CHARACTERS_PER_TOKEN)

    def _repr_html_(self) -> str:
        from golore.graph.diagrams.html import text_html

        return text_html(f"{self.tokens:,} tokens", self.text)


class _Piece(NamedTuple):
    """A declaration as it is shown with a limit of lines."""

    chosen: Chosen
    comment: str
    excerpt: Excerpt

    @property
    def text(self) -> str:
        one = self.chosen.declaration
        lines = f"{one.line}-{one.end_line}" if one.end_line > one.line else one.line
        return f"// {lines}\n{self.comment}{self.excerpt.text}\n"


def explore(
    sources: SearchContext, names: NameResolver, steps: Steps, root: Path, text: str, budget: int = BUDGET
) -> Exploration:
    """The reply to a question in words, names of symbols, places such as `store.go:10-40`, or a stack trace. Raises
    `UsageError` if nothing fits."""
    if not text.strip():
        raise UsageError("Ask a question in words, or give symbols, lines such as store.go:10-40, or a stack trace.")
    store = sources.store
    assert store is not None
    reader = SourceReader(store, sources.view, root)
    selection = select(sources, names, steps, reader, asked_for(text))
    room = budget * CHARACTERS_PER_TOKEN
    reserved = int(room * _SURROUNDINGS_SHARE)
    pieces = _fitting_pieces(selection, reader, room - reserved - len(_HEADING) - 200)
    shown = [piece.chosen.declaration for piece in pieces]
    body = _body(pieces)
    head = [_HEADING, *selection.messages, *_changed_lines(reader)]
    tail = list(_tail(store, selection, shown, room - len(body) - sum(map(len, head)) - 40))
    parts = tuple(
        Part(piece.chosen.declaration.id, piece.chosen.declaration.file, *lines)
        for piece in pieces
        for lines in piece.excerpt.shown
    )
    whole = "\n".join([*map(visible_line, head), visible_block(body), *map(visible_line, tail)])
    return Exploration(whole, parts)


def _fitting_pieces(selection: Selection, reader: SourceReader, room: int) -> list[_Piece]:
    """What is shown, in order of value: first what the question names, then as much else as fits, and then more lines
    of the best."""
    cut = _Cutter(reader, selection)
    named, others = ([one for one in selection.chosen if one.is_named is wanted] for wanted in (True, False))
    shown: list[_Piece] = []
    room = _add(shown, cut, named, room)
    if named:
        kept = int(room * (1 - _NAMED_SHARE))
        room = kept + _enlarge(shown, cut, room - kept)
    room = _add(shown, cut, others, room)
    _enlarge(shown, cut, room)
    return shown


def _add(shown: list[_Piece], cut: _Cutter, chosen: Sequence[Chosen], room: int) -> int:
    """Add what fits at the lowest limit. What is named keeps its order; of the rest, the best for its length comes
    first. Returns the room that is left."""
    files = {piece.chosen.declaration.file for piece in shown}
    for one in sorted(chosen, key=_order):
        if room < _LEAST:
            break
        piece = cut.piece(one, _LIMITS[0])
        if piece is None:
            continue
        file = one.declaration.file
        cost = len(piece.text) + (0 if file in files else len(file) + 12)
        if cost <= room:
            shown.append(piece)
            files.add(file)
            room -= cost
    return room


def _order(one: Chosen) -> float:
    return 0.0 if one.is_named else -one.value / _usual_length(one.declaration) ** _COST_EXPONENT


def _usual_length(one: Declaration) -> float:
    """The characters of an excerpt at the lowest limit, as an estimate: making one takes longer."""
    length, lines = one.end - one.start, one.end_line - one.line + 1
    return length * min(1.0, (_LIMITS[0] + 3) / lines) + 20


def _enlarge(shown: list[_Piece], cut: _Cutter, room: int) -> int:
    for limit in _LIMITS[1:]:
        for at, piece in enumerate(shown):
            larger = cut.piece(piece.chosen, limit)
            if larger is not None and len(larger.text) - len(piece.text) <= room:
                room -= len(larger.text) - len(piece.text)
                shown[at] = larger
    return room


class _Cutter:
    """Cuts declarations to a limit of lines. Lines that call other chosen declarations, and lines with words of the
    question, are kept first."""

    def __init__(self, reader: SourceReader, selection: Selection) -> None:
        self._reader = reader
        self._terms = selection.terms
        self._hits = selection.hits
        self._values = {one.declaration.name: one.value for one in reversed(selection.chosen)}
        self._known: dict[str, tuple[str, Excerpts] | None] = {}

    def piece(self, one: Chosen, limit: int) -> _Piece | None:
        """None if the file has changed since it was learned."""
        id = one.declaration.id
        if id not in self._known:
            text = self._reader.text_of(one.declaration)
            self._known[id] = None if text is None else self._excerpts(one, text)
        known = self._known[id]
        return None if known is None else _Piece(one, known[0], known[1].of(limit))

    def _excerpts(self, one: Chosen, text: str) -> tuple[str, Excerpts]:
        declaration, terms = one.declaration, self._terms
        lines = text.split("\n")
        values = [0.0 if line.strip() else -1.0 for line in lines]
        for at, hits in self._hits.by_line(declaration):
            values[at] += terms.share(hits)
        called = {declaration.name}
        for call in _CALL.finditer(text):
            name = call[1]
            if name in self._values and name not in called:  # the first call of each is enough
                called.add(name)
                values[text.count("\n", 0, call.start())] += _CALL_VALUE * self._values[name]
        for number in one.lines:
            if 0 <= number - declaration.line < len(values):
                values[number - declaration.line] += _ASKED_LINE_VALUE
        sentence = " ".join(declaration.doc.split()).partition(". ")[0]
        comment = f"// {sentence[:_MAX_COMMENT]}\n" if sentence and terms.hits(sentence) else ""
        return comment, Excerpts(text, declaration.line, values)


def _body(pieces: Iterable[_Piece]) -> str:
    """The pieces by file, the file of the best piece first, and in a file by line. Each file is a fenced block that its
    text cannot close."""
    by_file: dict[str, list[_Piece]] = {}
    for piece in pieces:
        by_file.setdefault(piece.chosen.declaration.file, []).append(piece)
    blocks: list[str] = []
    for file, inside in by_file.items():
        code = "".join(piece.text for piece in sorted(inside, key=lambda piece: piece.chosen.declaration.line))
        fence = "```"
        while fence in code:
            fence += "`"
        blocks.append(f"{visible_line(file)}\n{fence}go\n{code}{fence}")
    return "\n".join(blocks)


def _changed_lines(reader: SourceReader) -> Iterator[str]:
    if reader.changed:
        yield f"Changed since they were learned, and therefore not shown: {listed(reader.changed, _MAX_LEFT_OUT)}."


def _tail(store: Store, selection: Selection, shown: Sequence[Declaration], room: int) -> Iterator[str]:
    """Lines about what is around the declarations, as many as fit, the most useful first."""
    calls, names = selection.calls, ShortNames(store)
    known = {one.id for one in shown}
    others = [one.declaration for one in selection.chosen if one.declaration.id not in known]
    left_out = listed([f"{one.local} ({one.file}:{one.line}-{one.end_line})" for one in others], _MAX_LEFT_OUT)
    tests = surroundings.test_line(calls.steps, shown)
    for title, lines in (
        ("Notes, as written by people and agents:", surroundings.note_lines(store, shown)),
        ("Calls among them (⇢ may run):", tuple(surroundings.call_lines(calls, shown, names))),
        ("Entered from:", tuple(surroundings.entry_lines(calls, shown, names))),
        ("Tests:", (tests,) if tests else ()),
        ("Left out:", (left_out,) if left_out else ()),
    ):
        fitting: list[str] = []
        for line in lines:
            cost = len(line) + 3 + (0 if fitting else len(title) + 1)
            if cost <= room:
                fitting.append(f"  {line}")
                room -= cost
        if fitting:
            yield title
            yield from fitting
