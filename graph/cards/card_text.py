"""The text of a card: facts about a file that the file itself does not show, most useful first, in few words.

A card states facts and nothing else. A possible call through an interface is called a candidate, and unresolved uses
are reported as such. Each section shows the lines that fit and says how many were left out. `queries.file_facts`
collects the facts; `card_builder` decides which cards are built.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Final, NamedTuple

from golore.graph.cards.annotations import NO_ANNOTATIONS, Annotations
from golore.graph.history.co_change import FileHistory, directory_of
from golore.graph.history.co_change_edges import MIN_SHARED_COMMITS, MIN_SHARED_FRACTION
from golore.graph.phrases import counted, listed
from golore.graph.queries.file_facts import CardSymbol, FileFacts, UnresolvedName, Use
from golore.graph.safety.visible_text import visible_line

MAX_CARD_CHARACTERS: Final = 2_000
"""Most characters of a card."""
_SYMBOLS: Final = 8
_LOCATIONS: Final = 3
_NAMES: Final = 4
_FEW: Final = 5
_OWN_SHARE: Final = 3
"""Beside a main part, the own part takes at most one part in this many of a card."""
_COMMON: Final = 30
"""With more unresolved uses than this, a name is so common, like `String`, that they say nothing about one method."""

Ranks = Mapping[str, float]


class CardSection(NamedTuple):
    """A title, lines below it, or both. `rest` is the number of further lines that were not passed."""

    title: str
    lines: tuple[str, ...] = ()
    rest: int = 0


class Users:
    """The uses of a file's declarations, by declaration, and a text about each; for its card and its symbol lines."""

    def __init__(self, facts: FileFacts, ranks: Ranks) -> None:
        self.by_symbol: defaultdict[CardSymbol, list[Use]] = defaultdict(list)
        for use in facts.uses:
            self.by_symbol[use.target].append(use)
        self._ranks = ranks
        self._texts: dict[CardSymbol, str] = {}
        self._callers_of: defaultdict[CardSymbol, list[tuple[int, str]]] = defaultdict(list)
        for reach in facts.candidate_calls:
            self._callers_of[reach.method].append((reach.callers, reach.through.short))
        self._outside: defaultdict[CardSymbol, list[str]] = defaultdict(list)
        for method, interface in facts.outside_calls:
            self._outside[method].append(interface.short)
        self._unresolved = dict(facts.same_named_unresolved)

    def text(self, symbol: CardSymbol) -> str:
        """The known users; empty if there are none."""
        if symbol not in self._texts:
            uses = self.by_symbol.get(symbol)
            is_all = not self.possible(symbol)
            self._texts[symbol] = _users_text(uses, self._ranks, is_all=is_all) if uses else ""
        return self._texts[symbol]

    def possible(self, symbol: CardSymbol) -> str:
        """The uses that are possible but not known: calls through interfaces, and unresolved uses of its name."""
        parts: list[str] = []
        if symbol in self._callers_of:
            callers, through = max(self._callers_of[symbol])
            more = len(self._callers_of[symbol]) - 1
            others = f" and {counted(more, 'other interface')}" if more else ""
            parts.append(f"may be called through {through} ({counted(callers, 'caller')}){others}")
        if symbol in self._outside:
            parts.append(f"satisfies {listed(sorted(set(self._outside[symbol])), _LOCATIONS)} from outside")
        if symbol.kind in ("method", "imethod", "field") and (number := self._unresolved.get(symbol.name)):
            parts.append(f"{counted(number, 'unresolved use')} of the name {symbol.name}")
        return "; ".join(parts)


def file_texts(
    facts: FileFacts,
    coupled: FileHistory | None,
    users: Users,
    longest: int = MAX_CARD_CHARACTERS,
    annotations: Annotations = NO_ANNOTATIONS,
) -> tuple[str, str]:
    """The card of a file in two parts, `Card.main` and `Card.own`. Both are empty if there is nothing to say."""
    sections = [
        *_role_and_notes(annotations),
        *_used_by(facts, users),
        *_interfaces(facts),
        *_candidate_calls(facts),
        *_tests(facts),
        *_changes_with(coupled),
        *_documents(annotations),
    ]
    # These are shown only beside other facts: alone they do not justify a card.
    if sections:
        sections += [*_last_commit(annotations), *_same_named_uses(facts)]
    exercised = [(target.file, target.local) for _, target in facts.tested]
    own = own_text(exercised, () if facts.test else facts.unresolved, longest, is_alone=not sections)
    return fit_sections(sections, longest - len(own) - 1), own


def own_text(
    exercised: Iterable[tuple[str, str]],
    unresolved: Sequence[UnresolvedName],
    longest: int = MAX_CARD_CHARACTERS,
    *,
    is_alone: bool,
) -> str:
    """The own part of a card: what tests in the file call, as pairs of file and name, and its unresolved uses.

    `is_alone`: the card has no main part. Then unresolved uses alone give no text, and the part may fill the card.
    """
    own = [*_tested_files(exercised)]
    if own or not is_alone:
        own += _unresolved(unresolved)
    return fit_sections(own, longest if is_alone else longest // _OWN_SHARE)


def with_annotations(text: str, annotations: Annotations, longest: int = MAX_CARD_CHARACTERS) -> str:
    """The text of a package or repository card with annotations added. Lines that no longer fit are left out."""
    if annotations == NO_ANNOTATIONS:
        return text
    before = fit_sections([*_role_and_notes(annotations)], longest)
    after = fit_sections([*_documents(annotations)], max(0, longest - len(before)))
    room = longest - len(before) - len(after) - 2
    lines = text.splitlines()
    shown = list(lines)
    while shown and len("\n".join(shown)) + (len(_left_out(lines, shown)) + 1) * (len(shown) < len(lines)) > room:
        shown.pop()
    middle = [*shown, _left_out(lines, shown)] if len(shown) < len(lines) else shown
    return "\n".join(filter(None, (before, *middle, after)))


def _left_out(lines: Sequence[str], shown: Sequence[str]) -> str:
    return f"{counted(len(lines) - len(shown), 'more line')} left out"


def symbol_texts(facts: FileFacts, wanted: Iterable[CardSymbol], users: Users) -> Iterable[tuple[CardSymbol, str]]:
    """A text about each of `wanted`, declarations of the file."""
    tests: defaultdict[CardSymbol, set[str]] = defaultdict(set)
    interfaces: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for test, target in facts.tests:
        tests[target].add(test.name)
    for kind, interface in facts.satisfies:
        interfaces[kind].append(interface)
    types = Counter(interface for interface, _ in facts.satisfied)
    for symbol in wanted:
        parts = [f"{symbol.kind} {symbol.short} ({symbol.file}:{symbol.line})"]
        known_or_possible = [*filter(None, (users.text(symbol), users.possible(symbol)))]
        parts += known_or_possible or ["no use in other files is known"]
        if symbol in tests:
            parts.append(f"tested by {listed(sorted(tests[symbol]), _LOCATIONS)}")
        if symbol in interfaces:
            parts.append(f"satisfies {listed(_interface_names(interfaces[symbol]), _LOCATIONS)}")
        if types[symbol]:
            parts.append(f"satisfied by {counted(types[symbol], 'type')}")
        yield symbol, visible_line("; ".join(parts))


def fit_sections(sections: Sequence[CardSection], longest: int) -> str:
    """The sections as text of at most `longest` characters. While it is too long, the section with the most lines loses
    its last line; once none has more than one, whole sections are dropped from the end. Each title and line stays on
    its line, whatever it contains."""
    titles = [visible_line(section.title) for section in sections]
    kept = [[visible_line(line) for line in section.lines] for section in sections]
    dropped = 0
    while True:
        lines = [
            line
            for section, title, section_lines in zip(sections, titles, kept, strict=False)
            for line in _section_lines(section, title, section_lines)
        ]
        if dropped:
            lines.append(f"{counted(dropped, 'more section')} left out")
        text = "\n".join(lines)
        if len(text) <= longest or not kept:
            return text[:longest]
        widest = max(range(len(kept)), key=lambda index: (len(kept[index]), -index))
        if len(kept[widest]) > 1:
            kept[widest].pop()
        else:
            kept.pop()
            dropped += 1


def _section_lines(section: CardSection, title: str, lines: Sequence[str]) -> Iterable[str]:
    if title:
        yield title
    yield from (f"- {line}" for line in lines)
    rest = section.rest + len(section.lines) - len(lines)
    if rest:
        yield f"- {rest:,} more left out"


def _role_and_notes(annotations: Annotations) -> Iterable[CardSection]:
    if annotations.role:
        yield CardSection(annotations.role)
    if annotations.notes:
        yield CardSection("Notes:", annotations.notes, annotations.more_notes)


def _documents(annotations: Annotations) -> Iterable[CardSection]:
    if annotations.documents:
        yield CardSection("Documents:", annotations.documents)


def _last_commit(annotations: Annotations) -> Iterable[CardSection]:
    if annotations.recent:
        yield CardSection(annotations.recent)


def _used_by(facts: FileFacts, users: Users) -> Iterable[CardSection]:
    """Who uses the file's declarations, by symbol. If only tests do, the section about tests is enough."""
    files = {use.source.file for use in facts.uses}
    tests = sum(1 for file in files if file.endswith("_test.go"))
    if facts.uses and tests == len(files) and not facts.test:
        is_all = not any(users.possible(symbol) for symbol in facts.symbols)
        yield CardSection(
            "No use outside of tests is known." if is_all else "Its known users in other files are tests."
        )
        if facts.tests:
            return
    elif facts.uses:
        directories = {directory_of(file) for file in files if not file.endswith("_test.go")}
        title = f"Used from {counted(len(files), 'other file')}"
        title += f" ({counted(tests, 'test')} among them)" if tests and not facts.test else ""
        is_own = not directories or directories == {directory_of(facts.path)}
        title += ", all of its own package" if is_own else f" in {counted(len(directories), 'package')}"
        yield CardSection(f"{title}:")
    ordered = sorted(
        users.by_symbol.items(), key=lambda item: (-_user_score(item[0], item[1]), item[0].line, item[0].name)
    )
    shown = [item for item in ordered if not all(use.source.file.endswith("_test.go") for use in item[1])] or ordered
    most = 1 if facts.generated else _SYMBOLS
    lines = tuple(f"{symbol.local}: {users.text(symbol)}" for symbol, _ in shown[:most])
    if lines:
        yield CardSection("", lines, len(ordered) - len(lines))


def _user_score(symbol: CardSymbol, uses: Sequence[Use]) -> float:
    """How much the users of a symbol matter. Test files count less than others, and so do fields and constants."""
    files = {use.source.file for use in uses}
    tests = sum(1 for file in files if file.endswith("_test.go"))
    # Files are counted first: a sum of floats depends on their order, and a set has none.
    value = 0.3 * tests + (len(files) - tests) + len(uses) / 100
    return value * (0.4 if symbol.kind in ("field", "const") else 1.0)


def _users_text(uses: Sequence[Use], ranks: Ranks, *, is_all: bool) -> str:
    """The users of a declaration. `is_all`: no others are possible."""
    sources: dict[CardSymbol, Use] = {}
    for use in uses:
        # A symbol may use a type in several ways; the first known line says most.
        known = sources.get(use.source)
        if known is None or (not use.sites, use.line) < (not known.sites, known.line):
            sources[use.source] = use
    noun = "caller" if all(use.label == "CALLS" for use in uses) else "user"
    by_file: dict[str, list[Use]] = {}
    for source, use in sources.items():
        by_file.setdefault(source.file, []).append(use)
    tests = sum(len(users) for file, users in by_file.items() if file.endswith("_test.go"))
    # Tests have their own section, and one user from each file says more than several from one file.
    shown = [file for file in by_file if tests == len(sources) or not file.endswith("_test.go")]
    best = nsmallest(_LOCATIONS, shown, key=lambda file: (-ranks.get(file, 0.0), file))
    first = [min(by_file[file], key=_by_declaration) for file in best]
    if len(first) < _LOCATIONS:
        first += [use for file in best for use in sorted(by_file[file], key=_by_declaration)[1 : _LOCATIONS + 1]]
    locations = ", ".join(f"{use.source.short} ({use.source.file}:{use.line})" for use in first[:_LOCATIONS])
    text = counted(len(sources), noun)
    if len(by_file) > 1:
        text += f" in {len(by_file):,} files"
    if tests:
        text += f", {tests:,} in tests" if tests < len(sources) else ", tests only" if is_all else ", in tests"
    return f"{text}: {locations}"


def _by_declaration(use: Use) -> tuple[int, str]:
    return use.source.line, use.source.name


def _interfaces(facts: FileFacts) -> Iterable[CardSection]:
    lines: list[str] = []
    by_interface: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for interface, kind in facts.satisfied:
        by_interface[interface].append(kind)
    for interface, kinds in sorted(by_interface.items(), key=lambda item: (-len(item[1]), item[0].line)):
        kinds.sort(key=lambda kind: (kind.test, *_distance(interface, kind), kind.file, kind.line))
        names = [f"{kind.short} ({kind.file}:{kind.line})" for kind in kinds]
        lines.append(f"{interface.local} is satisfied by {listed(names, _LOCATIONS)}")
    by_type: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for kind, interface in facts.satisfies:
        if kind.kind != "interface" and interface.short != "error" and (kind.test or not interface.test):
            by_type[kind].append(interface)
    # Types that satisfy the same interfaces share a line.
    by_interfaces: defaultdict[tuple[str, ...], list[CardSymbol]] = defaultdict(list)
    for kind, interfaces in by_type.items():
        by_interfaces[tuple(_interface_names(interfaces))].append(kind)
    for interface_names, kinds in sorted(by_interfaces.items(), key=lambda item: (-len(item[1]), item[1][0].line)):
        subject = listed([kind.local for kind in sorted(kinds, key=lambda kind: kind.line)], _NAMES)
        lines.append(f"{subject} {'satisfies' if len(kinds) == 1 else 'satisfy'} {listed(interface_names, _NAMES)}")
    if lines:
        yield CardSection("Interfaces:", tuple(lines[:_FEW]), max(0, len(lines) - _FEW))


def _distance(one: CardSymbol, other: CardSymbol) -> tuple[bool, bool]:
    """Sort key: declarations of the same file first, then those of the same directory."""
    return other.file != one.file, directory_of(other.file) != directory_of(one.file)


def _interface_names(interfaces: Iterable[CardSymbol]) -> list[str]:
    """The names of interfaces: those of the repository first, with their locations."""
    ordered = sorted(
        set(interfaces), key=lambda interface: (not interface.file, interface.test, interface.short, interface.file)
    )
    return [
        f"{interface.short} ({interface.file}:{interface.line})" if interface.file else interface.short
        for interface in ordered
    ]


def _candidate_calls(facts: FileFacts) -> Iterable[CardSection]:
    best: dict[CardSymbol, tuple[int, CardSymbol]] = {}
    for reach in facts.candidate_calls:
        if reach.method.test or not reach.through.test:
            best[reach.method] = max(best.get(reach.method, (0, reach.through)), (reach.callers, reach.through))
    by_most_called: defaultdict[tuple[int, CardSymbol], list[CardSymbol]] = defaultdict(list)
    for method, most_called in best.items():
        by_most_called[most_called].append(method)
    ordered = sorted(by_most_called.items(), key=lambda item: (-item[0][0], item[1][0].line))
    texts = [
        f"{listed([one.local for one in methods], _LOCATIONS)} behind {through.short} ({counted(callers, 'caller')})"
        for (callers, through), methods in ordered
    ]
    if texts:
        yield CardSection(f"May be called through interfaces (candidates): {listed(texts, _NAMES)}")


def _tests(facts: FileFacts) -> Iterable[CardSection]:
    if facts.test or facts.generated:
        return
    if not facts.tests:
        is_used = facts.uses and not any(use.source.test for use in facts.uses)
        is_certain = not facts.candidate_calls and not facts.outside_calls
        if is_used and is_certain and any(symbol.kind in ("func", "method") for symbol in facts.symbols):
            yield CardSection("No test calls it directly.")
        return
    by_file: defaultdict[str, set[str]] = defaultdict(set)
    for test, _ in facts.tests:
        by_file[test.file].add(test.name)
    number = sum(map(len, by_file.values()))
    ordered = sorted(by_file.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = tuple(f"{file}: {listed(sorted(names), _NAMES)}" for file, names in ordered[:_LOCATIONS])
    title = f"{counted(number, 'test')} in {counted(len(by_file), 'file')} {'reaches' if number == 1 else 'reach'} it:"
    yield CardSection(title, lines, len(ordered) - len(lines))


def _tested_files(exercised: Iterable[tuple[str, str]]) -> Iterable[CardSection]:
    """For a test file: the files that declare the code it tests."""
    by_file: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file, name in exercised:
        by_file[file][name] += 1
    if by_file:
        ordered = sorted(by_file.items(), key=lambda item: (-item[1].total(), item[0]))
        lines = tuple(
            f"{file}: {listed([name for name, _ in sorted(names.items(), key=_most_first)], _NAMES)}"
            for file, names in ordered[:_FEW]
        )
        yield CardSection("What its tests call is declared in:", lines, len(ordered) - len(lines))


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return (-item[1], item[0])


def _changes_with(coupled: FileHistory | None) -> Iterable[CardSection]:
    if coupled is None:
        return
    least = max(MIN_SHARED_COMMITS, coupled.commits * MIN_SHARED_FRACTION)
    often = [partner for partner in coupled.partners if partner.commits >= least][:_FEW]
    if often:
        often.sort(key=lambda partner: (-partner.commits, partner.path))
        names = ", ".join(f"{partner.path} ({partner.commits:,})" for partner in often)
        yield CardSection(f"Changes along with (commits out of {coupled.commits:,}): {names}")


def _same_named_uses(facts: FileFacts) -> Iterable[CardSection]:
    methods = {symbol.name for symbol in facts.symbols if symbol.kind in ("method", "imethod")}
    uses = [(name, number) for name, number in facts.same_named_unresolved if name in methods and number <= _COMMON]
    if uses:
        names = [f"{name} ({number:,})" for name, number in sorted(uses, key=_most_first)]
        yield CardSection(f"Unresolved uses elsewhere bear names of its methods: {listed(names, _LOCATIONS)}")


def _unresolved(unresolved: Sequence[UnresolvedName]) -> Iterable[CardSection]:
    sites = sum(name.sites for name in unresolved)
    if sites:
        reasons: Counter[str] = Counter()
        for name in unresolved:
            reasons[name.reason] += name.sites
        reason, number = max(reasons.items(), key=lambda item: (item[1], item[0]))
        why = f"({reason})" if number == sites else f"({number:,} of them: {reason})"
        yield CardSection(f"Unresolved in it: {counted(sites, 'use')} {why}")
